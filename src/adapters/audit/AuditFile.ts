import { createHash } from "node:crypto"
import { constants, write } from "node:fs"
import { open, realpath, rename, stat } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { Clock, Data, Duration, Effect, Latch, Layer, Result, Stream } from "effect"
import { AuditLog, type AuditEvent } from "../../application/ports/AuditLog.ts"
import { errorMessage, orUndefinedIfMissing, systemErrorCode } from "../../domain/errorMessage.ts"
import { canonicalJson, isJsonObject } from "../../domain/json.ts"
import { descriptorOf, descriptorProblem } from "../process/fileContents.ts"

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
  /** Each element opens the file by its name again: another program has renamed the old one. */
  readonly reopen?: Stream.Stream<unknown>
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

/** Time without a reader of a full pipe, after which a write fails. */
const fullPipeTimeout = Duration.toMillis("2 seconds")

const writeDescriptor = promisify(write)

/** Writes all of a text to a pipe or terminal, which may take a part only. */
const writeWhole = async (fd: number, text: string): Promise<void> => {
  let rest: Uint8Array = Buffer.from(text)
  let remaining = fullPipeTimeout
  while (rest.length > 0) {
    try {
      const { bytesWritten } = await writeDescriptor(fd, rest)
      rest = rest.subarray(bytesWritten)
      remaining = fullPipeTimeout
    } catch (error) {
      if (systemErrorCode(error) !== "EAGAIN" || remaining <= 0) throw error
      remaining -= 20
      await sleep(20)
    }
  }
}

/** Where lines go. Only a regular file has a size, and is rotated. */
interface AuditTarget {
  /** The size now: other programs may truncate the file. */
  readonly size: () => Promise<number>
  torn: boolean
  readonly write: (text: string) => Promise<void>
  readonly close: () => Promise<void>
}

const openTarget = async (file: string): Promise<AuditTarget> => {
  const stream = { size: async () => 0, torn: false }
  const descriptor = descriptorOf(file)
  // A socket cannot be opened again, and what this process writes to belongs to the process that started it.
  if (descriptor !== undefined) {
    const problem = descriptorProblem(descriptor)
    if (problem !== undefined) throw new Error(problem)
    return { ...stream, write: (text) => writeWhole(descriptor, text), close: async () => undefined }
  }
  const found = await stat(file).catch(() => undefined)
  if (found?.isSocket() === true) throw new Error("it is a socket, and must be a file, a pipe or a device")
  const isPipe = found?.isFIFO() === true
  // Opened also for reading, a pipe would fill; opened for writing alone, it waits for a reader.
  const flags = isPipe ? constants.O_WRONLY | constants.O_NONBLOCK : "a+"
  const handle = await open(file, flags, 0o600).catch((error: unknown) => {
    if (systemErrorCode(error) !== "ENXIO") throw error
    throw isPipe
      ? new Error("no process reads the pipe", { cause: error })
      : new Error("no device is behind it; /dev/tty needs a terminal")
  })
  try {
    const close = () => handle.close()
    const stats = await handle.stat()
    if (!stats.isFile()) return { ...stream, write: (text) => writeWhole(handle.fd, text), close }
    await handle.chmod(0o600)
    const last = Buffer.alloc(1)
    if (stats.size > 0) await handle.read(last, 0, 1, stats.size - 1)
    const torn = stats.size > 0 && last.toString() !== "\n"
    const size = async () => (await handle.stat()).size
    return { size, torn, write: (text) => handle.appendFile(text), close }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const renameIfExists = (from: string, to: string): Promise<void> => rename(from, to).catch(orUndefinedIfMissing)

/** A file that rotates when it is full. Its methods must not run concurrently. */
const rotatingFile = async (file: string, { keep, maxBytes }: AuditRotation) => {
  let current: AuditTarget | undefined = await openTarget(file).catch((error: unknown) => {
    // The process that reads the pipe may start later.
    if (error instanceof Error && systemErrorCode(error.cause) === "ENXIO") return undefined
    throw error
  })
  const close = async () => {
    const closing = current
    current = undefined
    await closing?.close()
  }
  const rotate = async (): Promise<string | undefined> => {
    await close()
    try {
      // A link stays; the file behind it is renamed.
      const path = await realpath(file).catch(() => file)
      for (let at = keep - 1; at >= 1; at--) await renameIfExists(`${path}.${at}`, `${path}.${at + 1}`)
      await renameIfExists(path, `${path}.1`)
      return undefined
    } catch (error) {
      return `the full file cannot be renamed: ${errorMessage(error)}`
    }
  }
  /**
   * Writes complete lines, after `mustReopen` to the file that now has the name. Gives the problem of a failed rotation, after
   * which the lines are written all the same.
   */
  const append = async (text: string, mustReopen: boolean): Promise<string | undefined> => {
    if (mustReopen) await close()
    const size = (await current?.size()) ?? 0
    const full = size > 0 && size + Buffer.byteLength(text) > maxBytes
    const problem = full ? await rotate() : undefined
    current ??= await openTarget(file)
    const target = current
    const line = target.torn ? `\n${text}` : text
    // Torn until the write succeeds: a failed write may leave half a line.
    target.torn = true
    try {
      await target.write(line)
    } catch (error) {
      // The next reader of a pipe gets a new one.
      if (systemErrorCode(error) === "EPIPE") await close()
      throw error
    }
    target.torn = false
    return problem
  }
  return { append, close }
}

/** Events that wait for a write. Those beyond the bounds are lost, and counted. */
const makeAuditQueue = (maxQueued: number) => {
  const events: Array<AuditEvent> = []
  let bytes = 0
  let lost = 0
  return {
    /** Adds an event; false when it is lost. */
    add: (event: AuditEvent): boolean => {
      const size = queuedBytesOf(event)
      const isLost = events.length >= maxQueued || bytes + size > maxQueuedBytes
      lost += isLost ? 1 : 0
      if (isLost) return false
      bytes += size
      events.push(event)
      return true
    },
    /** Removes the events of the next write. */
    takeBatch: (): ReadonlyArray<AuditEvent> => {
      let taken = 0
      const end = events.findIndex((event, index) => {
        if (index === batch.events || taken > batch.bytes) return true
        taken += queuedBytesOf(event)
        return false
      })
      bytes -= taken
      return events.splice(0, end < 0 ? events.length : end)
    },
    lose: (count: number): void => void (lost += count),
    length: () => events.length,
    lostCount: () => lost
  }
}

/** Makes the warning of lost events and failed rotations, which is logged once in {@link warningInterval}. */
const makeLossWarning = (file: string) => {
  let lastWarningAt = Number.NEGATIVE_INFINITY
  return Effect.fnUntraced(function* (now: number, dropped: number, reason: string) {
    // The clock may have been set back.
    if (Math.abs(now - lastWarningAt) < warningInterval) return
    lastWarningAt = now
    yield* Effect.logWarning(dropped > 0 ? "audit events dropped" : "audit write problem", { file, dropped, reason })
  })
}

const make = Effect.fnUntraced(function* ({
  file,
  maxQueued = defaultMaxQueued,
  reopen = Stream.never,
  ...rotation
}: AuditFileOptions) {
  const target = yield* Effect.tryPromise({
    try: () => rotatingFile(file, { ...defaultAuditRotation, ...rotation }),
    catch: (error) => new AuditFileError({ message: `The audit ${file} cannot be written: ${errorMessage(error)}` })
  })
  const hasEvents = yield* Latch.make()
  const queue = makeAuditQueue(maxQueued)
  const warnLoss = makeLossWarning(file)
  let lostReported = 0
  let mustReopen = false

  const writeBatch = Effect.fnUntraced(function* () {
    const now = yield* Clock.currentTimeMillis
    const events = queue.takeBatch()
    const total = queue.lostCount()
    const missing = total - lostReported
    const gap = missing === 0 ? "" : formatLine({ time: now, fields: { type: "lost", count: missing, total } })
    const isReopening = mustReopen
    mustReopen = false
    const written = yield* Effect.result(
      Effect.tryPromise({
        try: () => target.append(gap + events.map(formatLine).join(""), isReopening),
        catch: errorMessage
      })
    )
    if (Result.isFailure(written)) {
      queue.lose(events.length)
      yield* warnLoss(now, queue.lostCount(), written.failure)
      return false
    }
    lostReported += missing
    const problem = written.success ?? (missing > 0 ? "the queue was full" : undefined)
    if (problem !== undefined) yield* warnLoss(now, queue.lostCount(), problem)
    return true
  }, Effect.uninterruptible)

  const writeAll = Effect.fnUntraced(function* () {
    while (queue.length() > 0 || queue.lostCount() > lostReported || mustReopen) {
      if (!(yield* writeBatch())) return false
    }
    return true
  })

  yield* Effect.addFinalizer(
    Effect.fnUntraced(function* () {
      if (!(yield* writeAll())) {
        queue.lose(queue.length())
        yield* Effect.logError("audit closed with dropped events", { file, dropped: queue.lostCount() })
      }
      yield* Effect.ignore(Effect.tryPromise(() => target.close()))
    })
  )
  const requestReopen = Effect.suspend(() => {
    mustReopen = true
    return hasEvents.open
  })
  yield* Effect.forkScoped(Stream.runForEach(reopen, () => requestReopen))
  yield* hasEvents.await.pipe(
    Effect.andThen(Effect.sleep(flushDelay)),
    Effect.andThen(hasEvents.close),
    Effect.andThen(writeAll()),
    Effect.tap((written) => (written ? Effect.void : Effect.andThen(Effect.sleep(retryDelay), hasEvents.open))),
    Effect.forever,
    Effect.forkScoped
  )
  return AuditLog.of({
    record: (event) => {
      if (queue.add(event)) hasEvents.openUnsafe()
    },
    lostCount: queue.lostCount
  })
})

/** Writes the audit in batches to a file that only its owner may read, and flushes it when the layer closes. */
export const layer = (options: AuditFileOptions): Layer.Layer<AuditLog, AuditFileError> =>
  Layer.effect(AuditLog, make(options))
