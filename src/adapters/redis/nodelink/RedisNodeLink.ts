import { Deferred, Effect, Exit, FiberSet, Layer } from "effect"
import { NodeLink } from "../../../application/ports/NodeLink.ts"
import { parseRedisUrl, type RedisNodeOptions, type RedisUrlInvalid } from "../redisClient.ts"
import { isValidNodeName } from "./messageFormat.ts"
import { NodeMessenger } from "./NodeMessenger.ts"
import { PubSubConnection, tickMillis } from "./PubSubConnection.ts"

/**
 * Connects nodes over Redis pub/sub with one channel for each node. Needs Redis 6 or later and only HELLO, PING,
 * PUBLISH and SUBSCRIBE on channels with the prefix. Redis Cluster is not supported: its nodes do not know each other's
 * subscribers.
 *
 * The layer is ready when the first connection attempt has ended, successful or not. Without Redis requests to other
 * nodes fail until the connection is restored.
 */
export const layer = (options: RedisNodeOptions): Layer.Layer<NodeLink, RedisUrlInvalid> =>
  Layer.effect(
    NodeLink,
    Effect.gen(function* () {
      const { node, prefix } = options
      const url = yield* parseRedisUrl(options.url)
      if (!isValidNodeName(node)) return yield* Effect.die(new RangeError("A node name has 1 to 255 bytes"))
      const run = yield* FiberSet.makeRuntime<never>()
      const broadcastChannel = `${prefix}:all`
      const ownChannel = `${prefix}:to:${node}`
      const messenger: NodeMessenger = new NodeMessenger({
        node,
        tickMillis,
        publish: (to, message, onPublished) => connection.publish(`${prefix}:to:${to}`, message, onPublished),
        warn: (message, fields) => void run(Effect.logWarning(message, { node, ...fields })),
        onDefect: (error) => void run(Effect.logError("node message handler failed", { node }, error))
      })
      const firstAttempt = yield* Deferred.make<void>()
      /** Undefined until the first attempt has ended. */
      let isConnected: boolean | undefined
      const connection: PubSubConnection = yield* Effect.acquireRelease(
        Effect.sync(
          () =>
            new PubSubConnection(url, [ownChannel, broadcastChannel], {
              onConnected: () => {
                connection.publish(broadcastChannel, messenger.onConnected(), () => {})
                if (isConnected === false) run(Effect.logInfo("Redis reconnected", { connection: "node_link", node }))
                isConnected = true
                Deferred.doneUnsafe(firstAttempt, Exit.void)
              },
              onDisconnected: (reason) => {
                if (isConnected !== false)
                  run(Effect.logWarning("Redis connection lost", { connection: "node_link", node, reason }))
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
            Effect.sync(() => messenger.onDisconnected("this node has shut down"))
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
        load: () => messenger.load()
      })
    })
  )
