import { Clock, Effect } from "effect"
import type { McpProgress } from "../../../application/ports/McpSession.ts"
import { definedOnly } from "../../../domain/objects.ts"

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
    /** The last report, with the progress that was sent. */
    let last: McpProgress | undefined
    let lastSentAt = began

    const report = Effect.fnUntraced(function* (next: McpProgress, message = next.message) {
      last =
        last === undefined || next.progress > last.progress ? next : { ...next, progress: nextProgress(last.progress) }
      lastSentAt = yield* Clock.currentTimeMillis
      yield* send({ ...last, ...definedOnly({ message }) })
    })
    const heartbeat = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const due = lastSentAt + heartbeatInterval - now
      if (due > 0) return yield* Effect.sleep(due)
      const running = `running for ${Math.round((now - began) / 1000)} s`
      const next = last ?? { progress: nextProgress(0) }
      return yield* report(next, next.message === undefined ? running : `${next.message} (${running})`)
    })
    return yield* Effect.raceFirst(call(report), Effect.forever(heartbeat))
  })
