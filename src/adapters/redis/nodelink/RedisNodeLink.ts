import { Deferred, Effect, Exit, FiberSet, Layer } from "effect"
import { NodeLink } from "../../../application/ports/NodeLink.ts"
import { Limits } from "../../../application/server/Limits.ts"
import { ListenError } from "../../../application/ports/Transport.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { listen } from "../../http/httpServer.ts"
import { DirectConnections } from "./direct/DirectConnections.ts"
import { makeOutageLog, parseRedisUrl, type RedisNodeOptions, type RedisUrlInvalid } from "../redisClient.ts"
import { isValidNodeName } from "./messageFormat.ts"
import { NodeMessenger } from "./NodeMessenger.ts"
import { openPubSubConnection, type PubSubConnection, tickMillis } from "./PubSubConnection.ts"

/** The port of a node whose owner runs its messenger. */
export const makeNodeLink = (node: string, messenger: NodeMessenger): NodeLink["Service"] =>
  NodeLink.of({
    node,
    serve: (handler) =>
      Effect.acquireRelease(
        Effect.sync(() => messenger.setHandler(handler)),
        () => Effect.sync(() => messenger.setHandler(undefined))
      ),
    startRequest: messenger.startRequest,
    notify: messenger.notify,
    onNodeLost: messenger.onNodeLost,
    load: messenger.load
  })

export interface RedisNodeLinkOptions extends RedisNodeOptions {
  /**
   * The host and the port where this node listens for direct connections of the others, which carry messages faster than
   * Redis; with port 0, any free port. They are encrypted when the connection to Redis is. Without an address all messages
   * pass through Redis, as do those to nodes that cannot be reached directly.
   */
  readonly address?: { readonly host: string; readonly port: number }
  /** Gets the function that replaces the connection when another Redis may have taken over. */
  readonly onOpened?: (reconnect: () => void) => void
}

/** The reason of a reconnect that is no outage. */
const replacedReason = "another Redis may have taken over"

const listenDirectly = Effect.fnUntraced(function* (
  { address: { host, port } = { host: "127.0.0.1", port: 0 }, node }: RedisNodeLinkOptions,
  secure: boolean,
  onMessage: (message: Buffer) => void
) {
  const connections = yield* Effect.acquireRelease(
    Effect.sync(() => new DirectConnections({ node, secure, onMessage })),
    (opened) => Effect.sync(() => opened.close())
  )
  const bound = yield* listen(
    connections.server,
    { host, port },
    (reason) => new ListenError({ message: `Cannot listen for other nodes on ${host}:${port}: ${reason}` })
  )
  return { connections, address: connections.addressAt(host, bound.port) }
})

/**
 * Connects nodes over Redis pub/sub with one channel for each node. Needs Redis 6 or later and only HELLO, PING,
 * PUBLISH and SUBSCRIBE on channels with the prefix. Redis Cluster is not supported: its nodes do not know each other's
 * subscribers.
 *
 * What is queued for all nodes, and what has arrived in part from them, is limited as for the clients of the Server.
 *
 * The layer is ready when the first connection attempt has ended, successful or not. Without Redis requests to other
 * nodes fail until the connection is restored.
 */
export const layer = (options: RedisNodeLinkOptions): Layer.Layer<NodeLink, RedisUrlInvalid | ListenError> =>
  Layer.effect(
    NodeLink,
    Effect.gen(function* () {
      const { node, prefix } = options
      const { totalBacklogBytes, totalIncompleteBytes } = yield* Limits
      const redis = yield* parseRedisUrl(options.url)
      if (!isValidNodeName(node)) return yield* Effect.die(new RangeError("A node name has 1 to 255 bytes"))
      const run = yield* FiberSet.makeRuntime<never>()
      const broadcastChannel = `${prefix}:all`
      const ownChannel = `${prefix}:to:${node}`
      const outage = makeOutageLog("node_link", node, run)
      const direct =
        options.address && (yield* listenDirectly(options, redis.isSecure, (message) => messenger.onMessage(message)))
      const messenger: NodeMessenger = new NodeMessenger({
        node,
        maxAllQueuedBytes: totalBacklogBytes,
        maxAllIncompleteBytes: totalIncompleteBytes,
        tickMillis,
        ...definedOnly({ direct }),
        publish: (to, message, onPublished) => connection.publish(`${prefix}:to:${to}`, message, onPublished),
        warn: (message, fields) => void run(Effect.logWarning(message, { node, ...fields })),
        onDefect: (error) => void run(Effect.logError("node message handler failed", { node }, error))
      })
      const firstAttempt = yield* Deferred.make<void>()
      const open = () =>
        openPubSubConnection(redis, [ownChannel, broadcastChannel], {
          onConnected: () => {
            connection.publish(broadcastChannel, messenger.onConnected(), (outcome) => {
              if (typeof outcome === "number") outage.onRecovered()
              else outage.onFailure(outcome)
            })
            Deferred.doneUnsafe(firstAttempt, Exit.void)
          },
          onDisconnected: (reason) => {
            if (reason !== replacedReason) outage.onFailure(reason)
            messenger.onDisconnected(`no connection to Redis (${reason})`)
            Deferred.doneUnsafe(firstAttempt, Exit.void)
          },
          onMessage: (channel, message) =>
            channel === ownChannel ? messenger.onMessage(message) : messenger.onBroadcast(message),
          onTick: () => messenger.tick()
        })
      const connection: PubSubConnection = yield* Effect.acquireRelease(Effect.sync(open), ({ close }) =>
        Effect.andThen(
          Effect.promise(() => close(broadcastChannel, messenger.leavingNotice())),
          Effect.sync(() => messenger.onDisconnected("this node has shut down"))
        )
      )
      options.onOpened?.(() => connection.reconnect(replacedReason))
      yield* Deferred.await(firstAttempt)
      return makeNodeLink(node, messenger)
    })
  )
