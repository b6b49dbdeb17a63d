/**
 * The process in which one pack runs apart. It is told which, loads it and says what it offers, then runs calls side by
 * side until it is told to clean up; whoever started it ends it.
 */
import { Worker } from "node:worker_threads"
import { Cause, Deferred, Effect, FiberMap } from "effect"
import type { McpProgress } from "../../application/ports/McpSession.ts"
import { type PackCall, PackFailure, type PackSource } from "../../application/ports/PackLoader.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { PackOffer } from "../../domain/packs/offer.ts"
import { makeCompiler } from "../ajv/compiler.ts"
import * as Modules from "./modules.ts"
import { type PackLine, start } from "./runtime.ts"
import { wordsOf } from "./thrown.ts"

/** What the process is told: its pack, then calls and giving them up by a number for each, and in the end to clean up. */
export type Order =
  | { readonly type: "start"; readonly source: PackSource }
  | { readonly type: "call"; readonly id: number; readonly call: PackCall }
  | { readonly type: "abort"; readonly id: number }
  | { readonly type: "dispose" }

/** A {@link PackFailure} as plain data. */
type PlainFailure = Pick<PackFailure, "kind" | "message" | "problems">

/** What the process says. */
export type Report =
  | { readonly type: "ready"; readonly offer: PackOffer }
  | { readonly type: "unusable"; readonly message: string }
  | { readonly type: "progress"; readonly id: number; readonly progress: McpProgress }
  | { readonly type: "done"; readonly id: number; readonly result: JsonObject }
  | { readonly type: "failed"; readonly id: number; readonly failure: PlainFailure }
  | { readonly type: "log"; readonly line: PackLine }
  /** It has heard an `abort` or a `dispose`, one for each in order: its code gives the thread back. */
  | { readonly type: "heard" }
  | { readonly type: "disposed" }

/** Who started us may be gone without a word, while our code never ends: this thread sees that we are orphans. */
const watchdog = `
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) process.kill(-process.pid, "SIGKILL")
  }, 1000)`

const tell = (report: Report): void => {
  // Nobody is left to hear of it when this fails.
  process.send?.(report, undefined, undefined, () => undefined)
}

const stray = (error: unknown) =>
  tell({ type: "log", line: { level: "Error", message: `nobody caught: ${wordsOf(error)}`, fields: {} } })

const plain = ({ kind, message, problems }: PackFailure): PlainFailure => ({
  kind,
  message,
  ...(problems && { problems })
})

const serve = Effect.fnUntraced(function* (source: PackSource, over: Deferred.Deferred<void>) {
  const modules = yield* Modules.make
  const enter = <A>(code: () => A): A => code()
  const module = yield* modules.load(source, enter)
  const { call, offer } = yield* start(module, source, {
    enter,
    compile: makeCompiler(),
    log: (line) => tell({ type: "log", line })
  })
  const run = yield* FiberMap.makeRuntime<never, number>()

  const answer = (id: number, request: PackCall) =>
    call(request, (progress) => Effect.sync(() => tell({ type: "progress", id, progress }))).pipe(
      Effect.match({
        onSuccess: (result) => tell({ type: "done", id, result }),
        onFailure: (failure) => tell({ type: "failed", id, failure: plain(failure) })
      })
    )

  process.on("message", (order: Order) => {
    if (order.type === "call") run(order.id, answer(order.id, order.call))
    if (order.type !== "abort") return
    tell({ type: "heard" })
    run(order.id, Effect.void) // takes the place of the call, which is interrupted
  })
  tell({ type: "ready", offer })
  yield* Deferred.await(over)
}, Effect.scoped)

const program = Effect.fnUntraced(function* (source: PackSource) {
  const over = yield* Deferred.make<void>()
  process.on("message", (order: Order) => {
    if (order.type !== "dispose") return
    tell({ type: "heard" })
    Deferred.doneUnsafe(over, Effect.void)
  })
  yield* Effect.catchCause(serve(source, over), (cause) => {
    const failure = Cause.squash(cause)
    const message = failure instanceof PackFailure ? failure.message : wordsOf(failure)
    return Effect.sync(() => tell({ type: "unusable", message }))
  })
  tell({ type: "disposed" })
})

process.on("unhandledRejection", stray)
process.on("uncaughtException", stray)
// Who started us is gone. What the pack has started goes with us.
process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"))
process.once("message", (order: Order) => {
  if (order.type === "start") Effect.runFork(program(order.source))
})
new Worker(watchdog, { eval: true, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 8 } }).unref()
