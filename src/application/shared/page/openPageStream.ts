import { Clock, Duration, Effect } from "effect"
import { tooManyRequests } from "../../../domain/model/ProtocolError.ts"
import type {
  PageBatch,
  PageCall,
  PageEvent,
  PageMember,
  PageNode,
  PageSnapshot
} from "../../../domain/page/PageEvent.ts"
import { secureRandomHex } from "../secureRandom.ts"
import { makeStreamBuffer, type StreamBuffer } from "./StreamBuffer.ts"

/** Streams that are open at the same time. */
export const maxStreams = 16

/** Shortest time between two batches of a stream. */
export const batchInterval = Duration.millis(100)

/** What an operator sees: a snapshot, and then the changes. */
export interface PageStream {
  readonly snapshot: PageSnapshot
  /** Waits for the next batch, at most about a second; `undefined` when the Server has begun to shut down. */
  readonly next: Effect.Effect<PageBatch | undefined>
}

interface SnapshotParts extends Pick<PageSnapshot, "omittedMembers"> {
  readonly members: ReadonlyArray<PageMember>
  /** Running calls, and the latest ended ones. */
  readonly calls: ReadonlyArray<PageCall>
  readonly nodes: ReadonlyArray<PageNode>
}

/** Opens a stream among those of a page's source, as long as the scope. Fails with 429 when too many are open. */
export const openPageStream = Effect.fnUntraced(function* (
  streams: Map<string, StreamBuffer>,
  describe: () => SnapshotParts
) {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  // In one step: an event between the snapshot and the first batch would be lost.
  const opening = Effect.suspend(() => {
    if (streams.size >= maxStreams)
      return tooManyRequests(`${maxStreams} pages are open and more are not allowed`, "page_streams", maxStreams)
    const { calls, members, nodes, omittedMembers } = describe()
    const events = [
      ...nodes.map((node): PageEvent => ({ _tag: "Node", node })),
      ...members.map((member): PageEvent => ({ _tag: "Entered", member })),
      ...calls.map((call): PageEvent => ({ _tag: "Call", call }))
    ]
    const stream = secureRandomHex(16)
    const buffer = makeStreamBuffer(calls.flatMap(({ endedAt, id }) => (endedAt === undefined ? [id] : [])))
    streams.set(stream, buffer)
    const snapshot: PageSnapshot = { stream, at: now(), events, omittedMembers, omittedCalls: 0, droppedEvents: 0 }
    return Effect.succeed({ snapshot, buffer })
  })
  const { buffer, snapshot } = yield* Effect.acquireRelease(opening, (opened) =>
    Effect.sync(() => streams.delete(opened.snapshot.stream))
  )
  // Polls: an event that woke the reader would run it on the path of a call.
  const nextBatch = (hasEvents: () => boolean): Effect.Effect<PageBatch> =>
    Effect.map(Effect.repeat(Effect.sleep(batchInterval), { until: hasEvents }), () => buffer.take(now()))
  return { snapshot, buffer, nextBatch }
})
