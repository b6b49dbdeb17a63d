import { createHash } from "node:crypto"
import { Data, Duration, Effect, Redacted, Schedule, type Scope } from "effect"
import { createClient, ErrorReply } from "redis"
import { type ScriptName, scripts } from "./scripts.ts"

/** Redis cannot be reached, does not answer in time, or says no. Whether a script ran is unknown. */
export class RedisAway extends Data.TaggedError("RedisAway")<{ readonly reason: string }> {}

/** The URL is none that Redis has. It is not repeated, since it may hold a password. */
export class RedisUrlInvalid extends Data.TaggedError("RedisUrlInvalid") {
  override get message(): string {
    return "The URL of Redis cannot be read: it looks like redis://user:password@host:6379"
  }
}

/** Two connections to Redis: one runs scripts, one listens. Both come back by themselves. */
export interface RedisScripts {
  /** True while both connections stand. */
  readonly ready: () => boolean
  /** Runs a script on the keys behind the prefix. Scripts run in the order in which they were started. */
  readonly run: (
    name: ScriptName,
    args: ReadonlyArray<string>,
    patience?: Duration.Duration
  ) => Effect.Effect<unknown, RedisAway>
}

export interface RedisScriptsOptions {
  readonly url: Redacted.Redacted<string>
  readonly prefix: string
  readonly channel: string
  /** Both connections stand, for the first time or again: what was said in between is lost. */
  readonly onReady: () => void
  readonly onMessage: (text: string) => void
}

/** How long Redis may take for a script; one takes a fraction of a millisecond. */
export const scriptPatience = Duration.seconds(1)

/** Milliseconds after which a connection counts as dead on which nothing came, not even the answer to a ping. */
const silence = 5000
const pingInterval = 1000

/**
 * Looks in a row, one with every ping, at which scripts had had no answer at all until their connection counts as dead:
 * the client's own watch begins anew with whatever is written.
 */
const mostSilentLooks = silence / pingInterval

/** Milliseconds between attempts to connect: soon, since members wait, and not all nodes at once. */
const longestPause = 250
const pauseBefore = (attempt: number): number =>
  Math.min(25 * 2 ** Math.min(attempt, 10), longestPause) * (0.75 + Math.random() / 2)

const shas = new Map(
  Object.values(scripts).map((text) => [text, createHash("sha1").update(text).digest("hex")])
)

const reasonOf = (cause: unknown): string => {
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join(", ")
  return cause instanceof Error ? cause.message : String(cause)
}

/** Connects for as long as the scope. Redis need not be there yet. */
export const connectScripts = Effect.fnUntraced(function* (
  options: RedisScriptsOptions
): Effect.fn.Return<RedisScripts, RedisUrlInvalid, Scope.Scope> {
  const { channel, onMessage, onReady, prefix, url } = options
  const log = Effect.runForkWith(yield* Effect.context<never>())
  let subscribed = false
  let outage: string | undefined
  /** Scripts without an answer, whether one has come since the last look, and looks without one. */
  let unanswered = 0
  let answered = false
  let silentLooks = 0

  const shared = {
    url: Redacted.value(url),
    pingInterval,
    commandOptions: { timeout: 0 },
    socket: { reconnectStrategy: pauseBefore, connectTimeout: 1000, socketTimeout: silence }
  }
  const open = (more: { readonly disableOfflineQueue?: boolean }) =>
    Effect.acquireRelease(
      Effect.try({
        try: () => createClient({ ...shared, ...more }),
        catch: () => new RedisUrlInvalid()
      }),
      (one) =>
        Effect.sync(() => {
          if (one.isOpen) one.destroy()
        })
    )
  // Members are told at once when Redis is away, rather than made to wait.
  const commands = yield* open({ disableOfflineQueue: true })
  const listening = yield* open({})

  const ready = () => commands.isReady && listening.isReady && subscribed
  const stood = () => {
    if (!ready()) return
    if (outage !== undefined) log(Effect.logInfo("Redis is back"))
    outage = undefined
    onReady()
  }
  const failed = (cause: unknown) => {
    if (outage === undefined) log(Effect.logWarning("Redis is away", { reason: reasonOf(cause) }))
    outage = reasonOf(cause)
  }
  // Before anything else on a new connection, so that scripts run in the order in which they are called.
  commands.on("ready", () => {
    for (const text of shas.keys()) commands.scriptLoad(text).catch(failed)
  })
  for (const client of [commands, listening]) {
    client.on("error", failed)
    client.on("ready", stood)
    client.connect().catch(failed)
  }
  listening
    .subscribe(channel, (message) => onMessage(message))
    .then(() => {
      subscribed = true
      stood()
    }, failed)

  const call = async (name: ScriptName, args: ReadonlyArray<string>): Promise<unknown> => {
    const text = scripts[name]
    const given = { keys: [prefix], arguments: [...args] }
    unanswered++
    try {
      const answer = await commands.evalSha(shas.get(text) ?? "", given)
      answered = true
      return answer
    } catch (cause) {
      answered ||= cause instanceof ErrorReply
      if (cause instanceof ErrorReply && cause.message.startsWith("NOSCRIPT")) {
        return await commands.eval(text, given)
      }
      throw cause
    } finally {
      unanswered--
    }
  }

  /** Counts looks, not time: whoever stood still itself finds the answers that have come before it looks again. */
  const look = Effect.sync(() => {
    silentLooks = unanswered > 0 && !answered ? silentLooks + 1 : 0
    answered = false
    if (silentLooks < mostSilentLooks) return
    silentLooks = 0
    failed("no script is answered")
    if (commands.isOpen) commands.destroy()
    commands.connect().catch(failed)
  })
  yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(pingInterval)))

  const run: RedisScripts["run"] = (name, args, patience = scriptPatience) =>
    Effect.suspend(() =>
      ready()
        ? Effect.tryPromise({
            try: () => call(name, args),
            catch: (cause) => new RedisAway({ reason: reasonOf(cause) })
          })
        : Effect.fail(new RedisAway({ reason: outage ?? "not connected" }))
    ).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () =>
          Effect.fail(new RedisAway({ reason: `no answer within ${Duration.toMillis(patience)} ms` }))
      })
    )

  return { ready, run }
})
