/**
 * The process in which one pack runs apart. It is told which, loads it and says what it offers, then runs calls side by
 * side until it is told to clean up; whoever started it ends it.
 */
import { Worker } from "node:worker_threads"
import { Cause, Deferred, Effect, FiberMap } from "effect"
import type { McpProgress } from "../../../application/ports/McpSession.ts"
import { type PackCall, PackError, type PackSource } from "../../../application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { PackManifest } from "../../../domain/packs/PackManifest.ts"
import { makeCompiler } from "../../ajv/schemaCompiler.ts"
import * as Modules from "../loading/ModuleLoader.ts"
import { type PackLogLine, startPack } from "../execution/PackRuntime.ts"
import { thrownMessage } from "../execution/thrown.ts"

/** What the process is told: its pack, then calls and giving them up by a number for each, and in the end to clean up. */
export type ParentMessage =
  | { readonly type: "start"; readonly source: PackSource }
  | { readonly type: "call"; readonly id: number; readonly call: PackCall }
  | { readonly type: "abort"; readonly id: number }
  | { readonly type: "dispose" }

/** A {@link PackError} as plain data. */
type SerializedFailure = Pick<PackError, "reason" | "message" | "problems">

/** What the process says. */
export type ChildMessage =
  | { readonly type: "ready"; readonly manifest: PackManifest }
  | { readonly type: "unusable"; readonly message: string }
  | { readonly type: "progress"; readonly id: number; readonly progress: McpProgress }
  | { readonly type: "result"; readonly id: number; readonly result: JsonObject }
  | { readonly type: "error"; readonly id: number; readonly failure: SerializedFailure }
  | { readonly type: "log"; readonly line: PackLogLine }
  /** It has heard an `abort` or a `dispose`, one for each in order: its code gives the thread back. */
  | { readonly type: "ack" }
  | { readonly type: "disposed" }

/** Who started us may be gone without a word, while our code never ends: this thread sees that we are orphans. */
const orphanWatchdog = `
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) process.kill(-process.pid, "SIGKILL")
  }, 1000)`

const send = (report: ChildMessage): void => {
  // Nobody is left to hear of it when this fails.
  process.send?.(report, undefined, undefined, () => undefined)
}

const reportUncaught = (error: unknown) =>
  send({
    type: "log",
    line: { level: "Error", message: `uncaught error: ${thrownMessage(error)}`, fields: {} }
  })

const serializeFailure = ({ reason, message, problems }: PackError): SerializedFailure => ({
  reason,
  message,
  ...(problems && { problems })
})

const serve = Effect.fnUntraced(function* (source: PackSource, shutdown: Deferred.Deferred<void>) {
  const modules = yield* Modules.make
  const enter = <A>(code: () => A): A => code()
  const module = yield* modules.load(source, enter)
  const { call, manifest } = yield* startPack(module, source, {
    enter,
    compile: makeCompiler(),
    log: (line) => send({ type: "log", line })
  })
  const run = yield* FiberMap.makeRuntime<never, number>()

  const runCall = (id: number, request: PackCall) =>
    call(request, (progress) => Effect.sync(() => send({ type: "progress", id, progress }))).pipe(
      Effect.match({
        onSuccess: (result) => send({ type: "result", id, result }),
        onFailure: (failure) => send({ type: "error", id, failure: serializeFailure(failure) })
      })
    )

  process.on("message", (order: ParentMessage) => {
    if (order.type === "call") run(order.id, runCall(order.id, order.call))
    if (order.type !== "abort") return
    send({ type: "ack" })
    run(order.id, Effect.void) // takes the place of the call, which is interrupted
  })
  send({ type: "ready", manifest })
  yield* Deferred.await(shutdown)
}, Effect.scoped)

const main = Effect.fnUntraced(function* (source: PackSource) {
  const shutdown = yield* Deferred.make<void>()
  process.on("message", (order: ParentMessage) => {
    if (order.type !== "dispose") return
    send({ type: "ack" })
    Deferred.doneUnsafe(shutdown, Effect.void)
  })
  yield* Effect.catchCause(serve(source, shutdown), (cause) => {
    const failure = Cause.squash(cause)
    const message = failure instanceof PackError ? failure.message : thrownMessage(failure)
    return Effect.sync(() => send({ type: "unusable", message }))
  })
  send({ type: "disposed" })
})

process.on("unhandledRejection", reportUncaught)
process.on("uncaughtException", reportUncaught)
// Who started us is gone. What the pack has started goes with us.
process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"))
process.once("message", (order: ParentMessage) => {
  if (order.type === "start") Effect.runFork(main(order.source))
})
new Worker(orphanWatchdog, {
  eval: true,
  execArgv: [],
  resourceLimits: { maxOldGenerationSizeMb: 8 }
}).unref()
