import { type Cause, Effect, Queue, Stream } from "effect"
import type { McpProgress } from "../../application/ports/McpSession.ts"

/** Reports of one call that can wait; older ones are dropped, since the last one holds the current progress. */
const maxPendingProgress = 64

/** Runs an effect that reports progress, and delivers all of its reports, in order, before its result. */
export const withProgress = Effect.fnUntraced(function* <A, E, R>(
  onProgress: (progress: McpProgress) => Effect.Effect<void>,
  run: (report: (progress: McpProgress) => void) => Effect.Effect<A, E, R>
) {
  const queue = yield* Queue.sliding<McpProgress, Cause.Done>(maxPendingProgress)
  const completion = run((progress) => void Queue.offerUnsafe(queue, progress))
  const [value] = yield* Effect.all(
    [Effect.ensuring(completion, Queue.end(queue)), Stream.runForEach(Stream.fromQueue(queue), onProgress)],
    { concurrency: 2 }
  )
  return value
})
