import { Worker } from "node:worker_threads"
import { Cause, Duration, Effect, Layer, Option, Queue, RcRef, Semaphore } from "effect"
import { VrlEngine, VrlError } from "../../application/ports/VrlEngine.ts"
import { type JsonObject, parseJsonOrThrow } from "../../domain/json.ts"
import type { VrlWorkerResponse, VrlWorkerRequest, VrlWorkerData } from "./worker.ts"

export interface VerelOptions {
  /** Timeout of one script without its time in the queue; 2 seconds by default. */
  readonly timeout?: Duration.Input
  /** @internal Replaces the package. */
  readonly module?: string
}

/** Largest event before and after a script, in bytes of JSON. Parsing it takes up to 0.2 s. */
const maxEventBytes = 8 * 1024 * 1024

/** Maximum number of queued and running scripts. Each holds a tool result in memory. */
const maxPendingScripts = 128

/** A hundred times the load time on an idle machine. */
const startTimeout: Duration.Input = "30 seconds"

/** Twice what the largest event needs in its worst shape, nested empty arrays. */
const maxHeapMegabytes = 512

/** The version that is tested. It is an optional peer dependency: few configurations have scripts. */
const verelVersion = "0.2.0"

const scriptFailure = (message: string) => new VrlError({ reason: "failed", message })

/** Takes the next response. Fails after a timeout, when the engine crashes, and when the thread ends. */
const nextResponse = (responses: Queue.Queue<VrlWorkerResponse, VrlError>, what: string, limit: Duration.Input) =>
  Queue.take(responses).pipe(
    Effect.timeoutOrElse({
      duration: limit,
      orElse: () => {
        const time = Duration.format(Duration.fromInputUnsafe(limit))
        return Effect.fail(new VrlError({ reason: "timeout", message: `${what} timed out after ${time}` }))
      }
    }),
    Effect.filterOrFail(
      ({ outcome }) => outcome !== "engine_failed",
      ({ text }) => scriptFailure(`the VRL engine crashed: ${text}`)
    )
  )

const startThread = Effect.fnUntraced(function* (module: string) {
  const responses = yield* Queue.unbounded<VrlWorkerResponse, VrlError>() // holds at most one: requests are sequential
  const workerData: VrlWorkerData = { module, maxEventBytes }
  const worker = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Worker(new URL(`./worker${import.meta.url.slice(-3)}`, import.meta.url), {
          workerData,
          execArgv: [], // host flags such as --input-type would prevent the start
          stdout: true, // discards the output of the engine
          stderr: true,
          resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes }
        })
    ),
    (thread) => Effect.promise(() => thread.terminate())
  )
  const end = (reason: string) => Queue.failCauseUnsafe(responses, Cause.fail(scriptFailure(reason)))
  worker.on("message", (response: VrlWorkerResponse) => Queue.offerUnsafe(responses, response))
  worker.on("error", (error) => end(`the VRL engine crashed: ${String(error)}`))
  worker.on("exit", () => end("the VRL engine was stopped"))
  worker.unref() // last, because a listener keeps the process alive
  const { outcome } = yield* nextResponse(responses, "the start of the VRL engine", startTimeout)
  if (outcome !== "not_installed") return { worker, responses }
  return yield* new VrlError({
    reason: "missing",
    message: `VRL scripts need the package ${module}, which is not installed: npm install ${module}@${verelVersion}, with -g beside a global a2c`
  })
})

/** Encodes an event as JSON. Bigints become numbers: the engine does not support them. */
const encodeEvent = (event: JsonObject): Effect.Effect<string, VrlError> =>
  Effect.try({
    try: () => JSON.stringify(event, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value)),
    catch: (cause) => scriptFailure(`the event cannot be encoded as JSON: ${String(cause)}`)
  }).pipe(
    Effect.filterOrFail(
      (json) => Buffer.byteLength(json) <= maxEventBytes,
      () => scriptFailure(`the event exceeds ${maxEventBytes} bytes`)
    )
  )

const makeEngine = Effect.fnUntraced(function* ({ module = "@bpinternal/verel", timeout = "2 seconds" }: VerelOptions) {
  const slots = yield* Semaphore.make(maxPendingScripts)
  const lock = yield* Semaphore.make(1)
  const current = yield* RcRef.make({ acquire: startThread(module), idleTimeToLive: Duration.infinity })

  /** Sends a request to the thread, which starts on demand. A failure terminates the thread. */
  const runInThread = Effect.fnUntraced(function* (workerRequest: VrlWorkerRequest) {
    const { responses, worker } = yield* RcRef.get(current)
    worker.postMessage(workerRequest)
    return yield* Effect.onError(nextResponse(responses, "the script", timeout), () => RcRef.invalidate(current))
  }, Effect.scoped)

  /** Queues a request. The event is encoded when its turn comes, which saves memory while it waits. */
  const request = Effect.fnUntraced(function* (workerRequest: Effect.Effect<VrlWorkerRequest, VrlError>) {
    const response = yield* slots.withPermitsIfAvailable(1)(lock.withPermit(Effect.flatMap(workerRequest, runInThread)))
    if (Option.isNone(response)) return yield* scriptFailure(`the script queue is full (${maxPendingScripts})`)
    const { outcome, text } = response.value
    return outcome === "done" ? text : yield* scriptFailure(text)
  })

  return VrlEngine.of({
    check: (script) =>
      Effect.map(request(Effect.succeed({ script })), (diagnostics) => (diagnostics === "" ? undefined : diagnostics)),
    run: (script, event) => {
      const workerRequest = Effect.map(encodeEvent(event), (text) => ({ script, event: text }))
      return Effect.map(request(workerRequest), parseJsonOrThrow)
    }
  })
})

/**
 * Runs scripts with `@bpinternal/verel`, VRL 0.25 in WebAssembly. Its time zone is UTC, it has no access to
 * environment, files or network, and integers beyond 2⁵³ lose precision.
 *
 * The package is loaded with the first script and takes about 100 MB. Scripts run sequentially in one worker
 * thread, which ends with the layer and does not keep the process alive. A timeout, a crash or an
 * interruption terminates the thread; the next script starts another one.
 */
export const layer = (options: VerelOptions = {}): Layer.Layer<VrlEngine> =>
  Layer.effect(VrlEngine, makeEngine(options))
