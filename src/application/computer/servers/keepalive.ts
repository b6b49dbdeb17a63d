import { Clock, Duration, Effect } from "effect"
import { McpSessionError } from "../../ports/McpSession.ts"

/** The calls of one session. Times are in milliseconds since 1970. */
export interface CallActivity {
  readonly running: Set<{ readonly since: number }>
  lastResponseAt: number
}

/** Pings a session has to miss before it is unresponsive, and how soon a missed ping is repeated. */
const keepalive = { maxMissed: 3, retryInterval: Duration.seconds(5), timeout: Duration.seconds(10) }

/** Records a call and its response; a protocol error is a response, too. */
export const trackCall = <A>(
  activity: CallActivity,
  call: Effect.Effect<A, McpSessionError>
): Effect.Effect<A, McpSessionError> => {
  const recordResponse = Effect.map(Clock.currentTimeMillis, (now) => void (activity.lastResponseAt = now))
  return Effect.acquireUseRelease(
    Effect.map(Clock.currentTimeMillis, (since) => {
      const running = { since }
      activity.running.add(running)
      return running
    }),
    () =>
      call.pipe(
        Effect.tap(() => recordResponse),
        Effect.tapError(({ reason }) => (reason === "protocol" ? recordResponse : Effect.void))
      ),
    (running) => Effect.sync(() => void activity.running.delete(running))
  )
}

/** Pings once. Gives the reason of a missed ping; any response, even an error, is no miss. */
const findPingFailure = (ping: Effect.Effect<void, McpSessionError>): Effect.Effect<string | undefined> =>
  ping.pipe(
    Effect.as(undefined),
    Effect.timeoutOrElse({
      duration: keepalive.timeout,
      orElse: () => Effect.succeed(`no response within ${Duration.toSeconds(keepalive.timeout)} seconds`)
    }),
    Effect.catch(({ reason, message }) =>
      Effect.succeed(reason === "protocol" || reason === "unsupported" ? undefined : message)
    )
  )

/**
 * Pings a session at an interval until it is unresponsive, and resolves with the reason. A server that executes a call
 * may miss pings. Calls that started during the silence do not count: frequent callers would keep a dead server.
 */
export const untilUnresponsive = Effect.fnUntraced(function* (
  ping: Effect.Effect<void, McpSessionError>,
  activity: CallActivity,
  interval: Duration.Duration,
  onHealthChange: (reason: string | undefined) => Effect.Effect<void>
): Effect.fn.Return<McpSessionError> {
  let missed = 0
  let unresponsiveSince = 0
  while (true) {
    yield* Effect.sleep(missed === 0 ? interval : keepalive.retryInterval)
    const pingedAt = yield* Clock.currentTimeMillis
    const failure = yield* findPingFailure(ping)
    const reason = activity.lastResponseAt >= pingedAt ? undefined : failure
    if (missed === 0) unresponsiveSince = pingedAt
    missed = reason === undefined ? 0 : missed + 1
    yield* onHealthChange(reason)
    const isBusy = [...activity.running].some(({ since }) => since <= unresponsiveSince)
    if (reason !== undefined && missed >= keepalive.maxMissed && !isBusy) {
      return new McpSessionError({ reason: "unavailable", message: reason })
    }
  }
})
