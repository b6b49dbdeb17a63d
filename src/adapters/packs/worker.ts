/**
 * The thread in which one pack runs apart. It loads the pack and says what it offers, then runs calls side by side until
 * it is told to clean up; whoever started it ends it.
 */
import { parentPort, workerData } from "node:worker_threads"
import { Cause, Deferred, Effect, FiberMap } from "effect"
import { type PackCall, PackFailure } from "../../application/ports/PackLoader.ts"
import { makeCompiler } from "../ajv/compiler.ts"
import type { Order, Report, ThreadStart } from "./messages.ts"
import * as Modules from "./modules.ts"
import { start } from "./runtime.ts"
import { wordsOf } from "./thrown.ts"

const source: ThreadStart = workerData

const tell = (report: Report) => parentPort?.postMessage(report)

const stray = (error: unknown) =>
  tell({
    type: "log",
    line: { level: "Error", message: `nobody caught: ${wordsOf(error)}`, fields: {} }
  })

const program = Effect.gen(function* () {
  const over = yield* Deferred.make<void>()
  const modules = yield* Modules.make
  const enter = <A>(code: () => A): A => code()
  const module = yield* modules.load(source, enter)
  const { call, offer } = yield* start(module, source, {
    enter,
    compile: makeCompiler(),
    log: (line) => tell({ type: "log", line })
  })
  const calls = yield* FiberMap.make<number>()
  const run = yield* FiberMap.runtime(calls)()

  const answer = (id: number, request: PackCall) =>
    call(request, (progress) => Effect.sync(() => tell({ type: "progress", id, progress }))).pipe(
      Effect.map((result) => tell({ type: "done", id, result })),
      Effect.catch(({ kind, message, problems }) =>
        Effect.sync(() =>
          tell({ type: "failed", id, failure: { kind, message, ...(problems && { problems }) } })
        )
      )
    )

  parentPort?.on("message", (order: Order) => {
    switch (order.type) {
      case "call":
        run(order.id, answer(order.id, order.call))
        return
      case "abort":
        tell({ type: "heard" })
        run(order.id, Effect.void) // takes the place of the call, which is interrupted
        return
      case "dispose":
        tell({ type: "heard" })
        Deferred.doneUnsafe(over, Effect.void)
    }
  })
  tell({ type: "ready", offer })
  yield* Deferred.await(over)
}).pipe(
  Effect.scoped,
  Effect.catchCause((cause) => {
    const failure = Cause.squash(cause)
    return Effect.sync(() =>
      tell({
        type: "unusable",
        message: failure instanceof PackFailure ? failure.message : wordsOf(failure)
      })
    )
  }),
  Effect.andThen(Effect.sync(() => tell({ type: "disposed" })))
)

process.on("unhandledRejection", stray)
process.on("uncaughtException", stray)
Effect.runFork(program)
