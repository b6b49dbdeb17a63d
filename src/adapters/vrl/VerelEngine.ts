import { Worker } from "node:worker_threads"
import { Cause, Duration, Effect, Layer, Option, Queue, RcRef, Result, type Scope, Semaphore } from "effect"
import { VrlEngine, VrlError } from "../../application/ports/VrlEngine.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { WorkerResponse, WorkerRequest, WorkerData } from "./worker.ts"

/** How scripts are run. */
export interface VerelOptions {
  /** How long one script may take, counted from its turn; two seconds unless given. */
  readonly timeout?: Duration.Input
  /** @internal Another package than the real one. */
  readonly module?: string
}

/** Largest event, before and after its script, in bytes of JSON; one of mostly text takes a fifth of a second. */
const maxEventBytes = 8 * 1024 * 1024

/** How many scripts may wait for their turn or run; each holds a tool's result in memory. */
const maxPendingScripts = 128

/** How long the engine may take to load: a hundred times what it takes on an idle machine. */
const startTimeout: Duration.Input = "30 seconds"

/** Heap of the thread, in megabytes: twice what the largest event needs in its worst shape, of empty arrays. */
const maxHeapMegabytes = 512

/** The thread in which scripts run, and what it says. */
interface WorkerThread {
  readonly worker: Worker
  readonly responses: Queue.Queue<WorkerResponse, VrlError>
}

const scriptFailure = (message: string) => new VrlError({ reason: "failed", message })

/** The next thing a thread says. Fails when it takes too long, breaks down or ends. */
const nextResponse = (
  { responses }: Pick<WorkerThread, "responses">,
  what: string,
  limit: Duration.Input
): Effect.Effect<WorkerResponse, VrlError> =>
  Queue.take(responses).pipe(
    Effect.timeoutOrElse({
      duration: limit,
      orElse: () => {
        const time = Duration.format(Duration.fromInputUnsafe(limit))
        return Effect.fail(new VrlError({ reason: "timeout", message: `${what} takes longer than ${time}` }))
      }
    }),
    Effect.filterOrFail(
      ({ outcome }) => outcome !== "broken",
      ({ text }) => scriptFailure(`the VRL engine broke down: ${text}`)
    )
  )

/** Starts a thread and loads the engine there. */
const startThread = Effect.fnUntraced(function* (
  module: string
): Effect.fn.Return<WorkerThread, VrlError, Scope.Scope> {
  const responses = yield* Queue.unbounded<WorkerResponse, VrlError>() // holds one at most: questions wait for answers
  const workerData: WorkerData = { module, maxEventBytes }
  const worker = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Worker(new URL(`./worker${import.meta.url.slice(-3)}`, import.meta.url), {
          workerData,
          execArgv: [], // some flags of the host program, like --input-type, would keep a thread from starting
          stdout: true, // what the engine prints is nobody's: it stays unread in the thread, and ends with it
          stderr: true,
          resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes }
        })
    ),
    (thread) => Effect.promise(() => thread.terminate())
  )
  const end = (reason: string) => Queue.failCauseUnsafe(responses, Cause.fail(scriptFailure(reason)))
  worker.on("message", (response: WorkerResponse) => Queue.offerUnsafe(responses, response))
  worker.on("error", (error) => end(`the VRL engine broke down: ${String(error)}`))
  worker.on("exit", () => end("the VRL engine was stopped"))
  worker.unref() // last, since listening to a thread keeps the process alive
  const { outcome } = yield* nextResponse({ responses }, "loading the VRL engine", startTimeout)
  if (outcome !== "missing") return { worker, responses }
  return yield* new VrlError({
    reason: "missing",
    message: `VRL scripts need the package ${module}, which is not installed: npm install ${module}`
  })
})

/** An event as the engine takes it. It knows no bigints, and its numbers have the precision of ours. */
const encodeEvent = (event: JsonObject): Result.Result<string, VrlError> => {
  const text = Result.try({
    try: () =>
      JSON.stringify(event, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value)),
    catch: (cause) => scriptFailure(`the event cannot be written as JSON: ${String(cause)}`)
  })
  return Result.filterOrFail(
    text,
    (json) => Buffer.byteLength(json) <= maxEventBytes,
    () => scriptFailure(`the event is larger than ${maxEventBytes} bytes`)
  )
}

const makeEngine = Effect.fnUntraced(function* ({
  module = "@bpinternal/verel",
  timeout = "2 seconds"
}: VerelOptions): Effect.fn.Return<VrlEngine["Service"], never, Scope.Scope> {
  const slots = yield* Semaphore.make(maxPendingScripts)
  const lock = yield* Semaphore.make(1)
  const current = yield* RcRef.make({ acquire: startThread(module), idleTimeToLive: Duration.infinity })

  /** Asks the thread, starting one when there is none. Whoever gets no answer leaves no thread behind. */
  const runInThread = Effect.fnUntraced(function* (workerRequest: WorkerRequest) {
    const thread = yield* RcRef.get(current)
    thread.worker.postMessage(workerRequest)
    return yield* Effect.onError(nextResponse(thread, "the script", timeout), () => RcRef.invalidate(current))
  }, Effect.scoped)

  /** Waits for a turn and asks. An event becomes text only then, so that those who wait hold it once. */
  const request = Effect.fnUntraced(function* (workerRequest: Effect.Effect<WorkerRequest, VrlError>) {
    const response = yield* slots.withPermitsIfAvailable(1)(
      lock.withPermit(Effect.flatMap(workerRequest, runInThread))
    )
    if (Option.isNone(response))
      return yield* scriptFailure(`${maxPendingScripts} scripts are waiting already`)
    const { outcome, text } = response.value
    return outcome === "done" ? text : yield* scriptFailure(text)
  })

  const makeRequest = (script: string, event: JsonObject) =>
    Effect.suspend(() =>
      Effect.fromResult(Result.map(encodeEvent(event), (text) => ({ script, event: text })))
    )

  return VrlEngine.of({
    check: (script) =>
      Effect.map(request(Effect.succeed({ script })), (diagnostics) =>
        diagnostics === "" ? undefined : diagnostics
      ),
    run: (script, event) =>
      Effect.map(request(makeRequest(script, event)), (text): unknown => JSON.parse(text))
  })
})

/**
 * Runs scripts with the package `@bpinternal/verel`, which is VRL 0.25 in WebAssembly: its time zone is UTC, it knows
 * no environment, files or network, and whole numbers beyond 2⁵³ lose digits.
 *
 * The package is looked for when the first script comes, and takes about 100 MB from then on. Scripts run one after
 * the other in a thread of their own, which ends with the layer and keeps no process alive. A script that takes too
 * long, breaks the engine or is given up takes the thread with it; the next one gets a fresh one.
 */
export const layer = (options: VerelOptions = {}): Layer.Layer<VrlEngine> =>
  Layer.effect(VrlEngine, makeEngine(options))
