import { Clock, Effect } from "effect"
import type { McpProgress } from "../../../application/ports/McpSession.ts"

/** Milliseconds without progress until a heartbeat is sent. */
const heartbeatInterval = 5000

/** The smallest visible increase. */
const nextProgress = (progress: number): number => progress + Math.max(1e-6, Math.abs(progress) * 1e-9)

export type SendProgress = (progress: McpProgress) => Effect.Effect<void>

/**
 * Runs a call and forwards its progress. After five seconds without progress the last report is repeated with
 * the elapsed time, so clients do not time out on silent calls. Progress always increases, as MCP requires.
 */
export const withHeartbeat = <A, E>(send: SendProgress, call: (onProgress: SendProgress) => Effect.Effect<A, E>) =>
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
    const onProgress: SendProgress = (next) =>
      Effect.suspend(() => {
        reported = next
        return report(
          lastSent === undefined || next.progress > lastSent ? next : { ...next, progress: nextProgress(lastSent) }
        )
      })
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
