import { Data, Effect, Redacted } from "effect"
import { RedisClient } from "redis"

/** A node of a cluster that shares one Redis. */
export interface RedisNodeOptions {
  /** `redis://` or, over TLS, `rediss://`, with a user and a password where Redis requires them. */
  readonly url: Redacted.Redacted<string>
  /** Prefix of all keys and channels. Clusters that share a Redis have different ones. */
  readonly prefix: string
  /** Name of this node, unique in the cluster and for every start of the program: at most 255 bytes. */
  readonly node: string
}

/** The URL is not a Redis URL. The message does not repeat it, since it may hold a password. */
export class RedisUrlInvalid extends Data.TaggedError("RedisUrlInvalid") {
  override get message(): string {
    return "Invalid Redis URL: expected redis://user:password@host:6379"
  }
}

/** Logs the loss of a connection once, and its restoration. */
export const makeOutageLog = (
  connection: "node_link" | "registry",
  node: string,
  run: (effect: Effect.Effect<void>) => void
) => {
  let isLost = false
  return {
    onDisconnected: (reason: string) => {
      if (!isLost) run(Effect.logWarning("Redis connection lost", { connection, node, reason }))
      isLost = true
    },
    onConnected: () => {
      if (isLost) run(Effect.logInfo("Redis reconnected", { connection, node }))
      isLost = false
    }
  }
}

export const parseRedisUrl = (url: Redacted.Redacted<string>): Effect.Effect<string, RedisUrlInvalid> =>
  Effect.try({
    try: () => {
      RedisClient.parseURL(Redacted.value(url))
      return Redacted.value(url)
    },
    catch: () => new RedisUrlInvalid()
  })
