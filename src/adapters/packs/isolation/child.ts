/**
 * Entry point of the process of an isolated pack. Loads the pack, runs its calls concurrently, and disposes of it on
 * request; the parent ends the process.
 */
import { Cause, Deferred, Effect, FiberMap } from "effect"
import type { InputResponder, McpProgress } from "../../../application/ports/McpSession.ts"
import { type PackCall, PackError, type PackSource } from "../../../application/ports/packs/PackLoader.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { InputAnswer, InputRequest } from "../../../domain/model/InputRequest.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { PackManifest } from "../../../domain/packs/PackManifest.ts"
import { loadInterpreter } from "../../jsonSchema/JsonSchemaValidator.ts"
import { killWhenOrphaned } from "../../process/orphanWatchdog.ts"
import * as Modules from "../loading/ModuleLoader.ts"
import { startPack } from "../PackRuntime.ts"
import type { ToolLogLine } from "../../tools/toolLogger.ts"
import { enterDirectly, thrownMessage } from "../../tools/runPackCode.ts"

/** Messages of the parent; `id` identifies a call. */
export type ParentMessage =
  | { readonly type: "start"; readonly source: PackSource }
  | {
      readonly type: "call"
      readonly id: number
      readonly call: PackCall
      readonly requester?: string
      /** The kinds of questions that the responder of the call can answer. */
      readonly modes?: InputResponder["modes"]
    }
  | { readonly type: "answer"; readonly question: number; readonly answer: InputAnswer }
  | { readonly type: "abort"; readonly id: number }
  | { readonly type: "dispose" }

export type ChildMessage =
  | { readonly type: "ready"; readonly manifest: PackManifest }
  /** What a Python pack declares: the results of its methods, as JSON. */
  | { readonly type: "declared"; readonly routes: unknown; readonly tools: unknown }
  | { readonly type: "unusable"; readonly message: string }
  | { readonly type: "progress"; readonly id: number; readonly progress: McpProgress }
  /** A question of a call; `question` identifies it among those of all calls. */
  | { readonly type: "ask"; readonly id: number; readonly question: number; readonly request: InputRequest }
  | { readonly type: "result"; readonly id: number; readonly result: JsonObject }
  | { readonly type: "error"; readonly id: number; readonly failure: ConstructorParameters<typeof PackError>[0] }
  | { readonly type: "log"; readonly line: ToolLogLine }
  /** Acknowledges `abort` and `dispose`, in order: the event loop is not blocked. */
  | { readonly type: "ack" }
  | { readonly type: "disposed" }

const send = (report: ChildMessage): void => {
  // A failure means that the parent is gone.
  process.send?.(report, undefined, undefined, () => undefined)
}

const reportUncaught = (error: unknown) =>
  send({ type: "log", line: { level: "Error", message: `uncaught error: ${thrownMessage(error)}`, fields: {} } })

const serve = Effect.fnUntraced(function* (source: PackSource, shutdown: Deferred.Deferred<void>) {
  const modules = yield* Modules.make
  const module = yield* modules.load(source, enterDirectly)
  const { call, manifest } = yield* startPack(module, source, {
    enter: enterDirectly,
    compile: yield* loadInterpreter,
    log: (line) => send({ type: "log", line })
  })
  const run = yield* FiberMap.makeRuntime<never, number>()

  const openQuestions = new Map<number, (answer: InputAnswer) => void>()
  let lastQuestion = 0

  const ask = (id: number, request: InputRequest): Effect.Effect<InputAnswer> =>
    Effect.callback((resume) => {
      const question = ++lastQuestion
      openQuestions.set(question, (answer) => resume(Effect.succeed(answer)))
      send({ type: "ask", id, question, request })
      return Effect.sync(() => openQuestions.delete(question))
    })

  const runCall = ({ call: request, id, modes, requester }: Extract<ParentMessage, { readonly type: "call" }>) =>
    call(request, {
      onProgress: (progress) => Effect.sync(() => send({ type: "progress", id, progress })),
      ...(modes && { responder: { modes, answer: (question) => ask(id, question) } }),
      ...definedOnly({ requester })
    }).pipe(
      Effect.match({
        onSuccess: (result) => send({ type: "result", id, result }),
        onFailure: ({ message, problems, reason }) =>
          send({ type: "error", id, failure: definedOnly({ message, problems, reason }) })
      })
    )

  process.on("message", (order: ParentMessage) => {
    if (order.type === "call") run(order.id, runCall(order))
    if (order.type === "answer") openQuestions.get(order.question)?.(order.answer)
    if (order.type !== "abort") return
    send({ type: "ack" })
    run(order.id, Effect.void) // replaces the fiber of the call, which interrupts it
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
  // A pack that is still loading, or never loads, ends at once.
  const serving = Effect.raceFirst(serve(source, shutdown), Deferred.await(shutdown))
  yield* Effect.catchCause(serving, (cause) => {
    const failure = Cause.squash(cause)
    const message = failure instanceof PackError ? failure.message : thrownMessage(failure)
    return Effect.sync(() => send({ type: "unusable", message }))
  })
  send({ type: "disposed" })
})

process.on("unhandledRejection", reportUncaught)
process.on("uncaughtException", reportUncaught)
// The parent is gone: kills the pack and its descendants.
process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"))
process.once("message", (order: ParentMessage) => {
  if (order.type === "start") Effect.runFork(main(order.source))
})
killWhenOrphaned(-process.pid)
