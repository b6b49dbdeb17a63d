import { Duration, type Effect } from "effect"
import type { PageBatch, PageSnapshot } from "../../../domain/page/PageEvent.ts"

/** Shortest time between two batches of a stream. */
export const batchInterval = Duration.millis(100)

/** What an operator sees: a snapshot, and then the changes. */
export interface PageStream {
  readonly snapshot: PageSnapshot
  /** Waits for the next batch, at most about a second; `undefined` when the Server has begun to shut down. */
  readonly next: Effect.Effect<PageBatch | undefined>
}
