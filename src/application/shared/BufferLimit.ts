import { Clock, Duration, Effect } from "effect"

/** Interval between two samples of the progress of a connection. */
const sampleInterval = Duration.seconds(1)

/** The share of the limit that remains in use after it was exceeded: each pass over all buffers must free some bytes. */
const remainingShare = 15 / 16

/** The buffers of one kind, one for each connection. */
interface Buffers<K> {
  /** Bytes that the buffer of a connection holds. */
  readonly heldBytes: (connection: K) => number
  /** Bytes that have passed the connection in the direction of the buffer. */
  readonly passedBytes: (connection: K) => number
  /** Starts to close a connection. */
  readonly close: (connection: K, detail: string) => void
}

/** The bytes that had passed at a time, in milliseconds. */
interface Sample {
  readonly at: number
  readonly passed: number
}

/** A buffer that is not empty. Two samples of its progress: the older one is at most two intervals old. */
interface Entry {
  held: number
  older: Sample
  newer: Sample
  isClosing: boolean
}

/** No progress during a whole interval. */
const stalled = Number.POSITIVE_INFINITY

/** No progress yet, but there was little time for it. */
const unknown = Number.MAX_VALUE

/** Milliseconds that the bytes of a buffer take at its current rate; see {@link stalled} and {@link unknown}. */
const remainingMillis = ({ held, older }: Entry, now: Sample): number => {
  const passed = now.passed - older.passed
  const elapsed = now.at - older.at
  if (passed > 0) return (held / passed) * elapsed
  return elapsed < Duration.toMillis(sampleInterval) ? unknown : stalled
}

/** The connections that are not being closed. Of equally slow ones the largest comes first: fewer are closed. */
const slowestFirst = <K>(entries: Iterable<readonly [K, Entry]>, sampleOf: (connection: K) => Sample) =>
  Array.from(entries)
    .filter(([, { isClosing }]) => !isClosing)
    .map(([connection, entry]) => ({ connection, entry, millis: remainingMillis(entry, sampleOf(connection)) }))
    // The difference of two that are stalled is NaN.
    .sort((one, other) => other.millis - one.millis || other.entry.held - one.entry.held)

export type BufferLimit<K> = Effect.Success<ReturnType<typeof makeBufferLimit<K>>>

/**
 * Limits the bytes that the buffers of all connections hold together. Above the limit it closes the slowest connections
 * first: those without progress for a second or two, then those without progress at all. Next are those whose bytes take
 * the longest at the rate of the last seconds. The total is the sum of sizes that are read again at every change, sample
 * and decision, so an unreported change is corrected within a second.
 */
export const makeBufferLimit = Effect.fnUntraced(function* <K>(
  maxBytes: number,
  { close, heldBytes, passedBytes }: Buffers<K>
) {
  const clock = yield* Clock.Clock
  const entries = new Map<K, Entry>()
  /** The bytes of the connections that are not being closed. */
  let total = 0

  /** A clock set back would make progress look fast. */
  const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const sampleOf = (connection: K, at = now()): Sample => ({ at, passed: passedBytes(connection) })

  const setHeld = (entry: Entry, held: number): void => {
    if (!entry.isClosing) total += held - entry.held
    entry.held = held
  }

  const remove = (connection: K): void => {
    const entry = entries.get(connection)
    if (entry === undefined) return
    setHeld(entry, 0)
    entries.delete(connection)
  }

  const refresh = (connection: K): void => {
    const held = heldBytes(connection)
    const entry = entries.get(connection)
    if (held === 0) return remove(connection)
    if (entry !== undefined) return setHeld(entry, held)
    total += held
    const newer = sampleOf(connection)
    entries.set(connection, { held, older: newer, newer, isClosing: false })
  }

  const refreshAll = (): void => {
    for (const connection of entries.keys()) refresh(connection)
  }

  const enforce = (): void => {
    refreshAll()
    if (total <= maxBytes) return
    const at = now()
    for (const { connection, entry } of slowestFirst(entries, (one) => sampleOf(one, at))) {
      if (total <= maxBytes * remainingShare) return
      // A close may also have enforced the limit.
      if (entry.isClosing) continue
      entry.isClosing = true
      total -= entry.held
      close(connection, `slowest connection with ${entry.held} bytes, all hold more than ${maxBytes}`)
    }
  }

  const sample = Effect.sync(() => {
    refreshAll()
    const at = now()
    for (const [connection, entry] of entries) {
      entry.older = entry.newer
      entry.newer = sampleOf(connection, at)
    }
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(sampleInterval), sample)))

  return {
    /** Reads the size of a buffer that may have changed, and enforces the limit. */
    update: (connection: K): void => {
      refresh(connection)
      if (total > maxBytes) enforce()
    },
    remove,
    /** Bytes that all buffers hold. */
    totalBytes: (): number => {
      refreshAll()
      return Array.from(entries.values()).reduce((sum, { held }) => sum + held, 0)
    }
  }
})
