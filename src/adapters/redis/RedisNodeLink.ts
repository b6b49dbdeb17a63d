import { Data, Deferred, Effect, Exit, Layer, Redacted } from "effect"
import { NodeLink } from "../../application/ports/NodeLink.ts"
import { Exchange } from "./Exchange.ts"
import { isNodeName } from "./frames.ts"
import { isRedisUrl, pulse, RedisConnection } from "./RedisConnection.ts"

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
export class BadRedisOptions extends Data.TaggedError("BadRedisOptions")<{ readonly message: string }> {}

/**
 * The way to the other nodes over Redis pub/sub, one channel for each node. Needs Redis 6 or later and no more of it
 * than HELLO, PING, PUBLISH and SUBSCRIBE on channels with the prefix; a Redis Cluster does not do, since its nodes do
 * not know of each other's subscribers.
 *
 * It is there once the first attempt to connect has ended, well or not: without Redis nothing goes to other nodes and
 * nothing comes, until it is back.
 */
export const layer = (options: RedisNodeLinkOptions): Layer.Layer<NodeLink, BadRedisOptions> =>
  Layer.effect(
    NodeLink,
    Effect.gen(function* () {
      const { node, prefix = "{a2c}" } = options
      const url = Redacted.value(options.url)
      // Its own message would quote the address, and with it the password.
      if (!isRedisUrl(url)) {
        return yield* new BadRedisOptions({
          message: "The address of Redis must look like redis://host:port or rediss://host:port"
        })
      }
      if (!isNodeName(node)) {
        return yield* new BadRedisOptions({ message: "The name of a node has between 1 and 255 bytes" })
      }
      const log = Effect.runForkWith(yield* Effect.context<never>())
      const everybody = `${prefix}:all`
      const own = `${prefix}:to:${node}`
      const exchange: Exchange = new Exchange({
        node,
        pulseTime: pulse,
        publish: (to, message, done) => connection.publish(`${prefix}:to:${to}`, message, done),
        warn: (message, fields) => void log(Effect.logWarning(message, { node, ...fields })),
        defect: (error) => void log(Effect.logError("a message between nodes failed", { node }, error))
      })
      const tried = yield* Deferred.make<void>()
      /** Whether it was heard of last that the connection stands; nothing has been heard yet. */
      let standing: boolean | undefined
      const connection: RedisConnection = yield* Effect.acquireRelease(
        Effect.sync(
          () =>
            new RedisConnection(url, [own, everybody], {
              up: () => {
                connection.publish(everybody, exchange.up(), () => {})
                if (standing === false) log(Effect.logInfo("connected to Redis again", { node }))
                standing = true
                Deferred.doneUnsafe(tried, Exit.void)
              },
              down: (reason) => {
                if (standing !== false) log(Effect.logWarning("no connection to Redis", { node, reason }))
                standing = false
                exchange.down(`no connection to Redis (${reason})`)
                Deferred.doneUnsafe(tried, Exit.void)
              },
              message: (channel, message) =>
                channel === own ? exchange.take(message) : exchange.heard(message),
              pulse: () => exchange.pulse()
            })
        ),
        (open) =>
          Effect.andThen(
            Effect.promise(() => open.close(everybody, exchange.farewell())),
            Effect.sync(() => exchange.down("this node has ended"))
          )
      )
      yield* Deferred.await(tried)
      return NodeLink.of({
        node,
        serve: (receive) =>
          Effect.acquireRelease(
            Effect.sync(() => exchange.serveWith(receive)),
            () => Effect.sync(() => exchange.serveWith(undefined))
          ),
        request: (...given) => exchange.request(...given),
        tell: (...given) => exchange.tell(...given),
        lost: (other) => exchange.lost(other),
        size: () => exchange.size(),
        load: () => exchange.load()
      })
    })
  )
