import { createHash } from "node:crypto"
import { type FileHandle, open, rename } from "node:fs/promises"
import { Clock, Data, Duration, Effect, Latch, Layer, Result } from "effect"
import { Audit, type AuditFact } from "../../application/ports/Audit.ts"
import { canonicalJson } from "../../domain/canonicalJson.ts"
import { isJsonObject } from "../../domain/json.ts"
import { type Rotation, usualRotation } from "./auditRotation.ts"

/** The file of the audit cannot be opened. */
export class AuditFailed extends Data.TaggedError("AuditFailed")<{ readonly message: string }> {}

/** Where the audit is written. Full files are renamed to `FILE.1`, `FILE.2` and so on, the youngest first. */
export interface AuditFileOptions extends Partial<Rotation> {
  readonly file: string
  /** Facts that may wait to be written, for tests; more are lost. */
  readonly mostWaiting?: number
}

/** Facts that may wait: some seconds of a busy Server. */
const usualWaiting = 20_000

/** Bytes of requests that may wait for their digests: they are kept alive as long. */
const mostBytesWaiting = 64 * 1024 * 1024

/** What one write takes: so much at a time that others come to run between. */
const batch = { facts: 500, bytes: 4 * 1024 * 1024 }

/** How long facts are gathered before they are written. */
const gathering = "50 millis"

/** How long to wait before a disk that has failed is tried again. */
const pauseAfterFailure = "1 second"

/** How often it is said on the log that facts are lost; the file says it every time. */
const complaintInterval = Duration.toMillis("10 seconds")

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The digest of the arguments of a request, where it has any: equal arguments have equal digests. */
const digestOf = ({ request }: AuditFact): string | undefined => {
  const value = request === undefined ? undefined : Result.getOrElse(request.whole(), () => undefined)
  return isJsonObject(value) && value["params"] !== undefined
    ? createHash("sha256").update(canonicalJson(value["params"])).digest("hex")
    : undefined
}

const lineOf = (fact: AuditFact): string => {
  const { facts, time } = fact
  return `${JSON.stringify({ time: new Date(time).toISOString(), ...facts, args_sha256: digestOf(fact) })}\n`
}

/** What a fact holds on to while it waits. */
const weigh = ({ request }: AuditFact): number => request?.bytes() ?? 0

const newline = "\n".charCodeAt(0)

/** Opens the file for its owner alone, and says how much it holds and whether its last line is whole. */
const openFile = async (file: string) => {
  const handle = await open(file, "a+", 0o600)
  try {
    await handle.chmod(0o600)
    const { size } = await handle.stat()
    const last = Buffer.alloc(1)
    if (size > 0) await handle.read(last, 0, 1, size - 1)
    return { handle, size, torn: size > 0 && last[0] !== newline }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const absent = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT"

const move = async (from: string, to: string): Promise<void> => {
  try {
    await rename(from, to)
  } catch (error) {
    if (!absent(error)) throw error
  }
}

/** A file that is begun anew when it is full. Its methods are never called while another one runs. */
const rotatingFile = async (file: string, { keep, maxBytes }: Rotation) => {
  let current: { handle: FileHandle; size: number; torn: boolean } | undefined = await openFile(file)
  const close = async () => {
    const closing = current
    current = undefined
    await closing?.handle.close()
  }
  const rotate = async (): Promise<string | undefined> => {
    await close()
    try {
      for (let at = keep - 1; at >= 1; at--) await move(`${file}.${at}`, `${file}.${at + 1}`)
      await move(file, `${file}.1`)
      return undefined
    } catch (error) {
      return `it is full and cannot be renamed: ${reasonOf(error)}`
    }
  }
  /** Writes whole lines; gives what is wrong although they were written. */
  const append = async (text: string): Promise<string | undefined> => {
    const full =
      current !== undefined && current.size > 0 && current.size + Buffer.byteLength(text) > maxBytes
    const trouble = full ? await rotate() : undefined
    current ??= await openFile(file)
    const target = current
    const whole = target.torn ? `\n${text}` : text
    // Until it is certain that all of it was written, the end of the file may be half a line.
    target.torn = true
    await target.handle.appendFile(whole)
    target.torn = false
    target.size += Buffer.byteLength(whole)
    return trouble
  }
  return { append, close }
}

const make = Effect.fnUntraced(function* ({
  file,
  mostWaiting = usualWaiting,
  ...rotation
}: AuditFileOptions) {
  const target = yield* Effect.tryPromise({
    try: () => rotatingFile(file, { ...usualRotation, ...rotation }),
    catch: (error) => new AuditFailed({ message: `The audit ${file} cannot be written: ${reasonOf(error)}` })
  })
  const arrived = yield* Latch.make()
  let waiting: Array<AuditFact> = []
  let bytesWaiting = 0
  let lost = 0
  let lostInFile = 0
  let quietUntil = 0

  const note = (fact: AuditFact) => {
    const weight = weigh(fact)
    if (waiting.length >= mostWaiting || bytesWaiting + weight > mostBytesWaiting) {
      lost += 1
      return
    }
    bytesWaiting += weight
    waiting.push(fact)
    arrived.openUnsafe()
  }

  const take = (): ReadonlyArray<AuditFact> => {
    let facts = 0
    let bytes = 0
    for (const fact of waiting) {
      if (facts === batch.facts || bytes > batch.bytes) break
      facts += 1
      bytes += weigh(fact)
    }
    bytesWaiting -= bytes
    const taken = waiting.slice(0, facts)
    waiting = waiting.slice(facts)
    return taken
  }

  const complain = Effect.fnUntraced(function* (now: number, reason: string) {
    if (now < quietUntil) return
    quietUntil = now + complaintInterval
    yield* Effect.logWarning(lost > 0 ? "the audit is incomplete" : "the audit has trouble", {
      file,
      lost,
      reason
    })
  })

  const writeSome = Effect.fnUntraced(function* () {
    const now = yield* Clock.currentTimeMillis
    const facts = take()
    const missing = lost - lostInFile
    const gap =
      missing === 0 ? "" : lineOf({ time: now, facts: { type: "lost", count: missing, total: lost } })
    const written = yield* Effect.result(
      Effect.tryPromise({
        try: () => target.append(gap + facts.map(lineOf).join("")),
        catch: reasonOf
      })
    )
    if (Result.isFailure(written)) {
      lost += facts.length
      yield* complain(now, written.failure)
      return false
    }
    lostInFile += missing
    const trouble = written.success ?? (missing > 0 ? "more comes than can be written" : undefined)
    if (trouble !== undefined) yield* complain(now, trouble)
    return true
  }, Effect.uninterruptible)

  const writeAll = Effect.fnUntraced(function* () {
    while (waiting.length > 0 || lost > lostInFile) {
      if (!(yield* writeSome())) return false
    }
    return true
  })

  const finish = Effect.fnUntraced(function* () {
    if (!(yield* writeAll())) {
      lost += waiting.length
      yield* Effect.logError("the audit ends incomplete", { file, lost })
    }
    yield* Effect.ignore(Effect.tryPromise(() => target.close()))
  })

  yield* Effect.addFinalizer(finish)
  yield* arrived.await.pipe(
    Effect.andThen(Effect.sleep(gathering)),
    Effect.andThen(arrived.close),
    Effect.andThen(writeAll()),
    Effect.tap((written) => (written ? Effect.void : Effect.sleep(pauseAfterFailure))),
    Effect.forever,
    Effect.forkScoped
  )
  return Audit.of({ note, lost: () => lost })
})

/** An audit in a file that only its owner may read. It is written in batches, and completely when the layer closes. */
export const layer = (options: AuditFileOptions): Layer.Layer<Audit, AuditFailed> =>
  Layer.effect(Audit, make(options))
