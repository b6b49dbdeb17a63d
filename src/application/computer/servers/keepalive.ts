import { Clock, Duration, Effect, Fiber } from "effect"
import { McpSessionError } from "../../ports/McpSession.ts"

/** The calls of one session. Times are in milliseconds since 1970. */
export interface CallActivity {
  readonly running: Set<{ readonly since: number }>
  lastResponseAt: number
}

/** Pings a session has to miss before it is unresponsive, and how soon a missed ping is repeated. */
const keepalive = { maxMissed: 3, retryInterval: Duration.seconds(5), timeout: Duration.seconds(10) }

/** Records a call and its response; a protocol error is also a response. */
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

/** Gives the reason of a failed ping; any response, even an error, is no failure. */
const findPingFailure = (ping: Effect.Effect<void, McpSessionError>): Effect.Effect<string | undefined> =>
  Effect.match(ping, {
    onSuccess: () => undefined,
    onFailure: ({ reason, message }) => (reason === "protocol" || reason === "unsupported" ? undefined : message)
  })

const timeoutMessage = `no response within ${Duration.toSeconds(keepalive.timeout)} seconds`

/**
 * Pings a session at an interval until it is unresponsive, and resolves with the reason. A server that executes a call
 * may miss pings. Calls that started during the silence do not count: frequent callers would keep a dead server. A response
 * that comes until the end of the next ping also counts.
 */
export const untilUnresponsive = Effect.fnUntraced(function* (
  ping: Effect.Effect<void, McpSessionError>,
  activity: CallActivity,
  interval: Duration.Duration,
  onHealthChange: (reason: string | undefined) => Effect.Effect<void>
): Effect.fn.Return<McpSessionError> {
  let missed = 0
  let unresponsiveSince = 0
  let answers = 0
  let lastAnswers = 0
  let previous: Fiber.Fiber<unknown> | undefined
  while (true) {
    yield* Effect.sleep(missed === 0 ? interval : keepalive.retryInterval)
    const pingedAt = yield* Clock.currentTimeMillis
    const pinging = yield* Effect.forkChild(
      Effect.tap(findPingFailure(ping), (reason) => Effect.sync(() => void (answers += reason === undefined ? 1 : 0)))
    )
    const failure = yield* Effect.timeoutOrElse(Fiber.join(pinging), {
      duration: keepalive.timeout,
      orElse: () => Effect.succeed(timeoutMessage)
    })
    if (previous !== undefined) yield* Fiber.interrupt(previous)
    previous = pinging
    const reason = activity.lastResponseAt >= pingedAt || answers > lastAnswers ? undefined : failure
    lastAnswers = answers
    if (missed === 0) unresponsiveSince = pingedAt
    missed = reason === undefined ? 0 : missed + 1
    yield* onHealthChange(reason)
    const isBusy = [...activity.running].some(({ since }) => since <= unresponsiveSince)
    if (reason !== undefined && missed >= keepalive.maxMissed && !isBusy) {
      return new McpSessionError({ reason: "unavailable", message: reason })
    }
  }
})
