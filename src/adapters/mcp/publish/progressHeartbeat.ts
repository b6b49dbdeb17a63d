import { Clock, Effect } from "effect"
import type { McpProgress } from "../../../application/ports/McpSession.ts"

/** How long a call may be silent, in milliseconds, before its client is told that it still runs. */
const heartbeatInterval = 5000

/** The next larger progress when nothing but time has passed: too little more to be seen. */
const nextProgress = (progress: number): number => progress + Math.max(1e-6, Math.abs(progress) * 1e-9)

/** Tells how far a call is; tells are awaited. */
export type SendProgress = (progress: McpProgress) => Effect.Effect<void>

/**
 * Runs a call whose client wants to know how far it is. What the call reports goes on as it is; when it has been silent
 * for five seconds, the last report is told again with how long it has been running, so that clients which give up
 * on silent calls do not. Progress never stands still or goes back, as MCP demands.
 */
export const withHeartbeat = <A, E>(
  send: SendProgress,
  call: (onProgress: SendProgress) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    let reported: McpProgress | undefined
    let lastSent: number | undefined
    let lastSentAt = began

    const report = Effect.fnUntraced(function* (progress: McpProgress) {
      lastSent = progress.progress
      lastSentAt = yield* Clock.currentTimeMillis
      yield* send(progress)
    })
    const onProgress: SendProgress = (next) => {
      reported = next
      return report(
        lastSent === undefined || next.progress > lastSent
          ? next
          : { ...next, progress: nextProgress(lastSent) }
      )
    }
    const heartbeat = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const due = lastSentAt + heartbeatInterval - now
      if (due > 0) return yield* Effect.sleep(due)
      const running = `running for ${Math.round((now - began) / 1000)} s`
      const { message } = reported ?? {}
      return yield* report({
        ...reported,
        progress: nextProgress(lastSent ?? 0),
        message: message === undefined ? running : `${message} (${running})`
      })
    })
    return yield* Effect.raceFirst(call(onProgress), Effect.forever(heartbeat))
  })
