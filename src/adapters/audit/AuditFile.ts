import { createHash } from "node:crypto"
import { type FileHandle, open, rename } from "node:fs/promises"
import { Clock, Data, Duration, Effect, Latch, Layer, Result } from "effect"
import { AuditLog, type AuditEvent } from "../../application/ports/AuditLog.ts"
import { errorMessage, systemErrorCode } from "../../domain/errorMessage.ts"
import { canonicalJson, isJsonObject } from "../../domain/json.ts"

/** Size at which an audit file is rotated, and the number of rotated files. */
export interface AuditRotation {
  readonly maxBytes: number
  readonly keep: number
}

/** About half a million calls per file, and a few million in all files. */
export const defaultAuditRotation: AuditRotation = { maxBytes: 128 * 1024 * 1024, keep: 8 }

export class AuditFileError extends Data.TaggedError("AuditFileError")<{ readonly message: string }> {}

/** Full files are renamed to `FILE.1`, `FILE.2` and so on, the newest first. */
export interface AuditFileOptions extends Partial<AuditRotation> {
  readonly file: string
  /** Capacity of the queue, for tests; further events are dropped. */
  readonly maxQueued?: number
}

/** Events of some seconds of a busy Server. */
const defaultMaxQueued = 20_000

/** Bytes of queued requests, which stay in memory until their digests are made. */
const maxQueuedBytes = 64 * 1024 * 1024

/** Size of one write, small enough to keep the event loop responsive. */
const batch = { events: 500, bytes: 4 * 1024 * 1024 }

/** Time for which events are batched. */
const flushDelay = "50 millis"

/** Delay before a failed write is retried. */
const retryDelay = "1 second"

/** Interval of warnings on the log. The file records every loss. */
const warningInterval = Duration.toMillis("10 seconds")

/** The digest of the arguments of a request: equal arguments have equal digests. */
const digestOf = ({ request }: AuditEvent): string | undefined => {
  const value = request === undefined ? undefined : Result.getOrElse(request.value(), () => undefined)
  return isJsonObject(value) && value["params"] !== undefined
    ? createHash("sha256").update(canonicalJson(value["params"])).digest("hex")
    : undefined
}

const formatLine = (event: AuditEvent): string => {
  const time = new Date(event.time).toISOString()
  return `${JSON.stringify({ time, ...event.fields, args_sha256: digestOf(event) })}\n`
}

/** Memory that a queued event retains, in bytes. */
const queuedBytesOf = ({ request }: AuditEvent): number => request?.byteLength() ?? 0

/**
 * Opens the file with permissions for its owner only, and finds its size and whether its last line is torn. The mode of a
 * device or pipe belongs to the machine, and its size stays 0: it is never rotated.
 */
const openFile = async (file: string) => {
  const handle = await open(file, "a+", 0o600)
  try {
    const stats = await handle.stat()
    const isRegular = stats.isFile()
    if (isRegular) await handle.chmod(0o600)
    const size = isRegular ? stats.size : 0
    const last = Buffer.alloc(1)
    if (size > 0) await handle.read(last, 0, 1, size - 1)
    return { handle, isRegular, size, torn: size > 0 && last.toString() !== "\n" }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const renameIfExists = (from: string, to: string): Promise<void> =>
  rename(from, to).catch((error: unknown) => {
    if (systemErrorCode(error) !== "ENOENT") throw error
  })

/** A file that rotates when it is full. Its methods must not run concurrently. */
const rotatingFile = async (file: string, { keep, maxBytes }: AuditRotation) => {
  let current: { handle: FileHandle; isRegular: boolean; size: number; torn: boolean } | undefined =
    await openFile(file)
  const close = async () => {
    const closing = current
    current = undefined
    await closing?.handle.close()
  }
  const rotate = async (): Promise<string | undefined> => {
    await close()
    try {
      for (let at = keep - 1; at >= 1; at--) await renameIfExists(`${file}.${at}`, `${file}.${at + 1}`)
      await renameIfExists(file, `${file}.1`)
      return undefined
    } catch (error) {
      return `the full file cannot be renamed: ${errorMessage(error)}`
    }
  }
  /** Writes complete lines. Gives the problem of a failed rotation, after which the lines are written all the same. */
  const append = async (text: string): Promise<string | undefined> => {
    const full = current !== undefined && current.size > 0 && current.size + Buffer.byteLength(text) > maxBytes
    const problem = full ? await rotate() : undefined
    current ??= await openFile(file)
    const target = current
    const line = target.torn ? `\n${text}` : text
    // Torn until the write succeeds: a failed write may leave half a line.
    target.torn = true
    await target.handle.appendFile(line)
    target.torn = false
    if (target.isRegular) target.size += Buffer.byteLength(line)
    return problem
  }
  return { append, close }
}

const make = Effect.fnUntraced(function* ({ file, maxQueued = defaultMaxQueued, ...rotation }: AuditFileOptions) {
  const target = yield* Effect.tryPromise({
    try: () => rotatingFile(file, { ...defaultAuditRotation, ...rotation }),
    catch: (error) => new AuditFileError({ message: `The audit ${file} cannot be written: ${errorMessage(error)}` })
  })
  const hasEvents = yield* Latch.make()
  let queue: Array<AuditEvent> = []
  let queuedBytes = 0
  let lost = 0
  let lostReported = 0
  let lastWarningAt = Number.NEGATIVE_INFINITY

  const record = (event: AuditEvent) => {
    const size = queuedBytesOf(event)
    if (queue.length >= maxQueued || queuedBytes + size > maxQueuedBytes) {
      lost += 1
      return
    }
    queuedBytes += size
    queue.push(event)
    hasEvents.openUnsafe()
  }

  const takeBatch = (): ReadonlyArray<AuditEvent> => {
    let count = 0
    let bytes = 0
    for (const event of queue) {
      if (count === batch.events || bytes > batch.bytes) break
      count += 1
      bytes += queuedBytesOf(event)
    }
    queuedBytes -= bytes
    const taken = queue.slice(0, count)
    queue = queue.slice(count)
    return taken
  }

  const warnLoss = Effect.fnUntraced(function* (now: number, reason: string) {
    // The clock may have been set back.
    if (Math.abs(now - lastWarningAt) < warningInterval) return
    lastWarningAt = now
    yield* Effect.logWarning(lost > 0 ? "audit events dropped" : "audit write problem", { file, dropped: lost, reason })
  })

  const writeBatch = Effect.fnUntraced(function* () {
    const now = yield* Clock.currentTimeMillis
    const events = takeBatch()
    const missing = lost - lostReported
    const gap = missing === 0 ? "" : formatLine({ time: now, fields: { type: "lost", count: missing, total: lost } })
    const written = yield* Effect.result(
      Effect.tryPromise({ try: () => target.append(gap + events.map(formatLine).join("")), catch: errorMessage })
    )
    if (Result.isFailure(written)) {
      lost += events.length
      yield* warnLoss(now, written.failure)
      return false
    }
    lostReported += missing
    const problem = written.success ?? (missing > 0 ? "the queue was full" : undefined)
    if (problem !== undefined) yield* warnLoss(now, problem)
    return true
  }, Effect.uninterruptible)

  const writeAll = Effect.fnUntraced(function* () {
    while (queue.length > 0 || lost > lostReported) {
      if (!(yield* writeBatch())) return false
    }
    return true
  })

  yield* Effect.addFinalizer(
    Effect.fnUntraced(function* () {
      if (!(yield* writeAll())) {
        lost += queue.length
        yield* Effect.logError("audit closed with dropped events", { file, dropped: lost })
      }
      yield* Effect.ignore(Effect.tryPromise(() => target.close()))
    })
  )
  yield* hasEvents.await.pipe(
    Effect.andThen(Effect.sleep(flushDelay)),
    Effect.andThen(hasEvents.close),
    Effect.andThen(writeAll()),
    Effect.tap((written) => (written ? Effect.void : Effect.andThen(Effect.sleep(retryDelay), hasEvents.open))),
    Effect.forever,
    Effect.forkScoped
  )
  return AuditLog.of({ record, lostCount: () => lost })
})

/** Writes the audit in batches to a file that only its owner may read, and flushes it when the layer closes. */
export const layer = (options: AuditFileOptions): Layer.Layer<AuditLog, AuditFileError> =>
  Layer.effect(AuditLog, make(options))
