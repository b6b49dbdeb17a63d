import { Data, Effect, Redacted } from "effect"
import { RedisClient, type RedisClientOptions } from "redis"

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

/** Error replies of a Redis that cannot write now, or does not know this client: a new connection may reach another one. */
const reconnectCodes = "CLUSTERDOWN LOADING MASTERDOWN MISCONF NOAUTH NOREPLICAS OOM READONLY WRONGPASS".split(" ")

/** Those that a new connection would also get: the node tries again later. Other errors are treated as `ERR`. */
const waitCodes = "BUSY EXECABORT NOPERM TRYAGAIN UNKILLABLE".split(" ")

// ERR last: older versions wrap the error of a command into that of its script.
const codePatterns = [...reconnectCodes, ...waitCodes, "ERR"].map(
  (code) => [code, new RegExp(`(?:^|[\\s-])${code} `)] as const
)

/** The code of an error reply; `undefined` for an error of the connection. */
const errorCodeOf = (reason: string) => codePatterns.find(([, pattern]) => pattern.test(reason))?.[0]

/** True for an error reply after which all connections are replaced. */
export const needsReconnect = (reason: string): boolean => reconnectCodes.includes(errorCodeOf(reason) ?? "")

/** Milliseconds after which a rejected command, which nothing repeats, does not keep up an outage. */
const rejectionMemory = 60_000

/**
 * Logs the start of an outage with its reason, each further kind of reason once, and its end. Redis may reject one command
 * and accept others: such an outage lasts until it accepts each rejected one.
 */
export const makeOutageLog = (node: string, run: (effect: Effect.Effect<void>) => void) => {
  const codes = new Set<string | undefined>()
  /** The rejected commands, and when Redis rejected them. */
  const rejections = new Map<string, number>()
  return {
    onFailure: (reason: string, command?: string) => {
      const code = errorCodeOf(reason)
      const isLost = code === undefined || needsReconnect(reason)
      if (!isLost && command !== undefined) rejections.set(command, Date.now())
      if (codes.has(code)) return
      codes.add(code)
      const message = isLost ? "Redis connection lost" : "Redis rejects commands"
      // The rest names the script, which varies.
      run(Effect.logWarning(message, { connection: "registry", node, reason: reason.replace(/\.? script: .*$/s, "") }))
    },
    onAccepted: (command: string) => void rejections.delete(command),
    onRecovered: () => {
      const now = Date.now()
      if ([...rejections.values()].some((rejected) => now - rejected < rejectionMemory)) return
      rejections.clear()
      if (codes.size > 0) run(Effect.logInfo("Redis reconnected", { connection: "registry", node }))
      codes.clear()
    }
  }
}

/** Where Redis is, and how to log in: options of the client. */
export type RedisAddress = Pick<RedisClientOptions, "credentialsProvider" | "database" | "password" | "username"> & {
  readonly socket: NonNullable<RedisClientOptions["socket"]>
  readonly isSecure: boolean
}

export const parseRedisUrl = (url: Redacted.Redacted<string>): Effect.Effect<RedisAddress, RedisUrlInvalid> =>
  Effect.try({
    try: () => {
      // Without slashes or a host, the client would connect to this machine.
      if (!URL.parse(Redacted.value(url))?.hostname) throw new RedisUrlInvalid()
      const { socket, ...options } = RedisClient.parseURL(Redacted.value(url))
      const { database = 0 } = options
      if (!Number.isSafeInteger(database) || database < 0) throw new RedisUrlInvalid()
      // The client looks up a host in brackets as a name.
      const host = socket !== undefined && "host" in socket ? { host: socket.host?.replace(/^\[(.*)\]$/, "$1") } : {}
      return {
        ...options,
        socket: { ...socket, ...host },
        isSecure: socket !== undefined && "tls" in socket && socket.tls === true
      }
    },
    catch: () => new RedisUrlInvalid()
  })
