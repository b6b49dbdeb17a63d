import { createHash } from "node:crypto"
import { Data, Duration, Effect, FiberSet, Schedule, type Scope } from "effect"
import { createClient, ErrorReply } from "redis"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { parseRedisUrl, type RedisNodeOptions, type RedisUrlInvalid } from "../redisClient.ts"
import { type ScriptName, luaScripts } from "./luaScripts.ts"

/** Redis cannot be reached, does not answer in time, or says no. Whether a script ran is unknown. */
export class RedisUnavailable extends Data.TaggedError("RedisAway")<{ readonly reason: string }> {}

/** Two connections to Redis: one runs scripts, one listens. Both come back by themselves. */
export interface ScriptRunner {
  /** True while both connections stand. */
  readonly isReady: () => boolean
  /** Runs a script on the keys behind the prefix. Scripts run in the order in which they were started. */
  readonly run: (
    name: ScriptName,
    args: ReadonlyArray<string>,
    timeout?: Duration.Duration
  ) => Effect.Effect<unknown, RedisUnavailable>
}

export interface ScriptRunnerOptions extends RedisNodeOptions {
  /** Both connections stand, for the first time or again: what was said in between is lost. */
  readonly onReady: () => void
  readonly onMessage: (text: string) => void
}

/** How long Redis may take for a script; one takes a fraction of a millisecond. */
export const scriptTimeout = Duration.seconds(1)

/** Milliseconds after which a connection counts as dead on which nothing came, not even the answer to a ping. */
const socketTimeoutMillis = 5000
const pingInterval = 1000

/**
 * Looks in a row, one with every ping, at which scripts had had no answer at all until their connection counts as dead:
 * the client's own watch begins anew with whatever is written.
 */
const maxSilentChecks = socketTimeoutMillis / pingInterval

/** Milliseconds between attempts to connect: soon, since members wait, and not all nodes at once. */
const maxBackoffMillis = 250
const backoffBefore = (attempt: number): number =>
  Math.min(25 * 2 ** Math.min(attempt, 10), maxBackoffMillis) * (0.75 + Math.random() / 2)

const scriptHashes = new Map(
  Object.values(luaScripts).map((text) => [text, createHash("sha1").update(text).digest("hex")])
)

/** Connects for as long as the scope. Redis need not be there yet. */
export const makeScriptRunner = Effect.fnUntraced(function* (
  options: ScriptRunnerOptions
): Effect.fn.Return<ScriptRunner, RedisUrlInvalid, Scope.Scope> {
  const { node, onMessage, onReady, prefix } = options
  const runFork = yield* FiberSet.makeRuntime<never>()
  let subscribed = false
  let outage: string | undefined
  /** Scripts without an answer, whether one has come since the last look, and looks without one. */
  let pendingScripts = 0
  let hasReply = false
  let silentChecks = 0

  const shared = {
    url: yield* parseRedisUrl(options.url),
    pingInterval,
    commandOptions: { timeout: 0 },
    socket: { reconnectStrategy: backoffBefore, connectTimeout: 1000, socketTimeout: socketTimeoutMillis }
  }
  const openClient = (more: { readonly disableOfflineQueue?: boolean }) =>
    Effect.acquireRelease(
      Effect.sync(() => createClient({ ...shared, ...more })),
      (one) =>
        Effect.sync(() => {
          if (one.isOpen) one.destroy()
        })
    )
  // Members are told at once when Redis is away, rather than made to wait.
  const commands = yield* openClient({ disableOfflineQueue: true })
  const subscriber = yield* openClient({})

  const isReady = () => commands.isReady && subscriber.isReady && subscribed
  const onReadyChange = () => {
    if (!isReady()) return
    if (outage !== undefined) runFork(Effect.logInfo("Redis is back"))
    outage = undefined
    onReady()
  }
  const onError = (cause: unknown) => {
    if (outage === undefined) runFork(Effect.logWarning("Redis is away", { reason: errorMessage(cause) }))
    outage = errorMessage(cause)
  }
  // Before anything else on a new connection, so that scripts run in the order in which they are called.
  commands.on("ready", () => {
    for (const text of scriptHashes.keys()) commands.scriptLoad(text).catch(onError)
  })
  for (const client of [commands, subscriber]) {
    client.on("error", onError)
    client.on("ready", onReadyChange)
    client.connect().catch(onError)
  }
  subscriber
    .subscribe(`${prefix}to:${node}`, (message) => onMessage(message))
    .then(() => {
      subscribed = true
      onReadyChange()
    }, onError)

  const evaluate = async (name: ScriptName, args: ReadonlyArray<string>): Promise<unknown> => {
    const text = luaScripts[name]
    const evalOptions = { keys: [prefix], arguments: [...args] }
    pendingScripts++
    try {
      const reply = await commands.evalSha(scriptHashes.get(text) ?? "", evalOptions)
      hasReply = true
      return reply
    } catch (cause) {
      hasReply ||= cause instanceof ErrorReply
      if (cause instanceof ErrorReply && cause.message.startsWith("NOSCRIPT")) {
        return await commands.eval(text, evalOptions)
      }
      throw cause
    } finally {
      pendingScripts--
    }
  }

  /** Counts looks, not time: whoever stood still itself finds the answers that have come before it looks again. */
  const checkLiveness = Effect.sync(() => {
    silentChecks = pendingScripts > 0 && !hasReply ? silentChecks + 1 : 0
    hasReply = false
    if (silentChecks < maxSilentChecks) return
    silentChecks = 0
    onError("no script is answered")
    if (commands.isOpen) commands.destroy()
    commands.connect().catch(onError)
  })
  yield* Effect.forkScoped(Effect.repeat(checkLiveness, Schedule.spaced(pingInterval)))

  const run: ScriptRunner["run"] = (name, args, timeout = scriptTimeout) =>
    Effect.suspend(() =>
      isReady()
        ? Effect.tryPromise({
            try: () => evaluate(name, args),
            catch: (cause) => new RedisUnavailable({ reason: errorMessage(cause) })
          })
        : Effect.fail(new RedisUnavailable({ reason: outage ?? "not connected" }))
    ).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          Effect.fail(new RedisUnavailable({ reason: `no answer within ${Duration.toMillis(timeout)} ms` }))
      })
    )

  return { isReady, run }
})
