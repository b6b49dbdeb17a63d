import { Data, Deferred, Effect, Exit, Layer, Redacted } from "effect"
import { NodeLink } from "../../../application/ports/NodeLink.ts"
import { NodeMessenger } from "./NodeMessenger.ts"
import { isValidNodeName } from "./messageFormat.ts"
import { isRedisUrl, tickMillis, PubSubConnection } from "./PubSubConnection.ts"

/** Where the nodes of a cluster find each other. */
export interface RedisNodeLinkOptions {
  /** `redis://` or, over TLS, `rediss://`, with a user and a password where Redis asks for them. */
  readonly url: Redacted.Redacted<string>
  /** The name of this node, unique in the cluster and for every start of the program: at most 255 bytes. */
  readonly node: string
  /** What the names of all channels begin with; clusters that share a Redis have different ones. `{a2c}` by default. */
  readonly prefix?: string
}

/** The options of a link cannot be used. */
export class RedisOptionsInvalid extends Data.TaggedError("BadRedisOptions")<{ readonly message: string }> {}

/**
 * The way to the other nodes over Redis pub/sub, one channel for each node. Needs Redis 6 or later and no more of it
 * than HELLO, PING, PUBLISH and SUBSCRIBE on channels with the prefix; a Redis Cluster does not do, since its nodes do
 * not know of each other's subscribers.
 *
 * It is there once the first attempt to connect has ended, well or not: without Redis nothing goes to other nodes and
 * nothing comes, until it is back.
 */
export const layer = (options: RedisNodeLinkOptions): Layer.Layer<NodeLink, RedisOptionsInvalid> =>
  Layer.effect(
    NodeLink,
    Effect.gen(function* () {
      const { node, prefix = "{a2c}" } = options
      const url = Redacted.value(options.url)
      // Its own message would quote the address, and with it the password.
      if (!isRedisUrl(url)) {
        return yield* new RedisOptionsInvalid({
          message: "The address of Redis must look like redis://host:port or rediss://host:port"
        })
      }
      if (!isValidNodeName(node)) {
        return yield* new RedisOptionsInvalid({ message: "The name of a node has between 1 and 255 bytes" })
      }
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      const broadcastChannel = `${prefix}:all`
      const ownChannel = `${prefix}:to:${node}`
      const messenger: NodeMessenger = new NodeMessenger({
        node,
        tickMillis,
        publish: (to, message, onPublished) => connection.publish(`${prefix}:to:${to}`, message, onPublished),
        warn: (message, fields) => void runFork(Effect.logWarning(message, { node, ...fields })),
        onDefect: (error) => void runFork(Effect.logError("a message between nodes failed", { node }, error))
      })
      const firstAttempt = yield* Deferred.make<void>()
      /** Whether it was heard of last that the connection stands; nothing has been heard yet. */
      let isConnected: boolean | undefined
      const connection: PubSubConnection = yield* Effect.acquireRelease(
        Effect.sync(
          () =>
            new PubSubConnection(url, [ownChannel, broadcastChannel], {
              onConnected: () => {
                connection.publish(broadcastChannel, messenger.onConnected(), () => {})
                if (isConnected === false) runFork(Effect.logInfo("connected to Redis again", { node }))
                isConnected = true
                Deferred.doneUnsafe(firstAttempt, Exit.void)
              },
              onDisconnected: (reason) => {
                if (isConnected !== false)
                  runFork(Effect.logWarning("no connection to Redis", { node, reason }))
                isConnected = false
                messenger.onDisconnected(`no connection to Redis (${reason})`)
                Deferred.doneUnsafe(firstAttempt, Exit.void)
              },
              onMessage: (channel, message) =>
                channel === ownChannel ? messenger.onMessage(message) : messenger.onBroadcast(message),
              onTick: () => messenger.tick()
            })
        ),
        (open) =>
          Effect.andThen(
            Effect.promise(() => open.close(broadcastChannel, messenger.leavingNotice())),
            Effect.sync(() => messenger.onDisconnected("this node has ended"))
          )
      )
      yield* Deferred.await(firstAttempt)
      return NodeLink.of({
        node,
        serve: (handler) =>
          Effect.acquireRelease(
            Effect.sync(() => messenger.setHandler(handler)),
            () => Effect.sync(() => messenger.setHandler(undefined))
          ),
        startRequest: (...given) => messenger.startRequest(...given),
        notify: (...given) => messenger.notify(...given),
        onNodeLost: (other) => messenger.onNodeLost(other),
        outboundCount: () => messenger.outboundCount(),
        load: () => messenger.load()
      })
    })
  )
