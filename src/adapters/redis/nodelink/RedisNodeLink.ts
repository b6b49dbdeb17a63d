import { Deferred, Effect, Exit, FiberSet, Layer } from "effect"
import { NodeLink } from "../../../application/ports/NodeLink.ts"
import { Limits } from "../../../application/server/connections/Limits.ts"
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
export const layer = (options: RedisNodeOptions): Layer.Layer<NodeLink, RedisUrlInvalid> =>
  Layer.effect(
    NodeLink,
    Effect.gen(function* () {
      const { node, prefix } = options
      const { totalBacklogBytes, totalIncompleteBytes } = yield* Limits
      const url = yield* parseRedisUrl(options.url)
      if (!isValidNodeName(node)) return yield* Effect.die(new RangeError("A node name has 1 to 255 bytes"))
      const run = yield* FiberSet.makeRuntime<never>()
      const broadcastChannel = `${prefix}:all`
      const ownChannel = `${prefix}:to:${node}`
      const outage = makeOutageLog("node_link", node, run)
      const messenger: NodeMessenger = new NodeMessenger({
        node,
        maxAllQueuedBytes: totalBacklogBytes,
        maxAllIncompleteBytes: totalIncompleteBytes,
        tickMillis,
        publish: (to, message, onPublished) => connection.publish(`${prefix}:to:${to}`, message, onPublished),
        warn: (message, fields) => void run(Effect.logWarning(message, { node, ...fields })),
        onDefect: (error) => void run(Effect.logError("node message handler failed", { node }, error))
      })
      const firstAttempt = yield* Deferred.make<void>()
      const open = () =>
        openPubSubConnection(url, [ownChannel, broadcastChannel], {
          onConnected: () => {
            connection.publish(broadcastChannel, messenger.onConnected(), () => {})
            outage.onConnected()
            Deferred.doneUnsafe(firstAttempt, Exit.void)
          },
          onDisconnected: (reason) => {
            outage.onDisconnected(reason)
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
      yield* Deferred.await(firstAttempt)
      return makeNodeLink(node, messenger)
    })
  )
