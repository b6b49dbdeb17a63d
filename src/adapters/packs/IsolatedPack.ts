import { type Cause, Deferred, Effect, Queue, type Scope, Stream } from "effect"
import type { McpProgress } from "../../application/ports/McpSession.ts"
import {
  type LoadedPack,
  type PackCall,
  PackFailure,
  type PackSource
} from "../../application/ports/PackLoader.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import type { PackOffer, PackRoute } from "../../domain/packs/offer.ts"
import { fileParams } from "../../domain/packs/schemas.ts"
import { makeLog } from "./logging.ts"
import type { Report } from "./child.ts"
import { placeFiles } from "./embeddedFiles.ts"
import { mostReports } from "./runtime.ts"
import { open } from "./PackProcess.ts"

/** A call that waits for its result. */
interface Waiting {
  readonly answer: Deferred.Deferred<JsonObject, PackFailure>
  readonly reports: Queue.Queue<McpProgress, Cause.Done>
}

/** What the process may say about one call. */
type CallReport = Extract<Report, { readonly id: number }>

const answerTo = ({ answer, reports }: Waiting, report: CallReport): void => {
  switch (report.type) {
    case "progress":
      Queue.offerUnsafe(reports, report.progress)
      return
    case "done":
      Deferred.doneUnsafe(answer, Effect.succeed(report.result))
      return
    case "failed":
      Deferred.doneUnsafe(answer, Effect.fail(new PackFailure(report.failure)))
  }
}

/**
 * Loads a pack into a process of its own, which ends with the scope. Code that never gives its thread back ends the
 * process as soon as one of its calls is given up; too much memory and `process.exit` end it, too, and nothing else.
 */
export const start = Effect.fnUntraced(function* (
  source: PackSource
): Effect.fn.Return<LoadedPack, PackFailure, Scope.Scope> {
  const scope = yield* Effect.scope
  const log = yield* makeLog(source.name)
  const ready = yield* Deferred.make<PackOffer, PackFailure>()
  const ended = yield* Deferred.make<string>()
  const calls = new Map<number, Waiting>()
  let lastId = 0

  const crashed = (message: string) => Effect.fail(new PackFailure({ kind: "crashed", message }))
  const unusable = (message: string) => Effect.fail(new PackFailure({ kind: "unusable", message }))

  const failCalls = (reason: string) => {
    for (const { answer } of calls.values()) Deferred.doneUnsafe(answer, crashed(reason))
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => failCalls("it was unloaded")))

  const child = yield* open(source, {
    onLine: log,
    onReport: (report) => {
      switch (report.type) {
        case "ready":
          Deferred.doneUnsafe(ready, Effect.succeed(report.offer))
          return
        case "unusable":
          Deferred.doneUnsafe(ready, unusable(report.message))
          return
        case "log":
          return log(report.line)
        case "progress":
        case "done":
        case "failed": {
          const waiting = calls.get(report.id)
          if (waiting !== undefined) answerTo(waiting, report)
        }
      }
    },
    onFall: (reason) => {
      Deferred.doneUnsafe(ready, unusable(reason))
      Deferred.doneUnsafe(ended, Effect.succeed(reason))
      failCalls(reason)
    }
  })

  /** Tells the process, and waits in the background whether it hears. */
  const giveUp = (id: number) => Effect.forkIn(child.insist({ type: "abort", id }), scope)

  const run = Effect.fnUntraced(function* (
    request: PackCall,
    onProgress: (progress: McpProgress) => Effect.Effect<void>
  ) {
    if (Deferred.isDoneUnsafe(ended)) return yield* Effect.flatMap(Deferred.await(ended), crashed)
    const id = ++lastId
    const answer = yield* Deferred.make<JsonObject, PackFailure>()
    const reports = yield* Queue.sliding<McpProgress, Cause.Done>(mostReports)
    calls.set(id, { answer, reports })
    const telling = Stream.runForEach(Stream.fromQueue(reports), onProgress)
    const working = Deferred.await(answer).pipe(
      Effect.onInterrupt(() => giveUp(id)),
      Effect.ensuring(Queue.end(reports)),
      Effect.ensuring(Effect.sync(() => calls.delete(id)))
    )
    child.tell({ type: "call", id, call: request })
    const [result] = yield* Effect.all([working, telling], { concurrency: 2 })
    return result
  })

  const offer = yield* Deferred.await(ready)
  /** The parameters of a tool that are files: by its first route, or by its listing where it has none. */
  const filesOf = (tool: string): PackRoute["files"] => {
    const route = offer.routes.find((one) => one.tool === tool)
    const schema = offer.tools.find(({ name }) => name === tool)?.["inputSchema"]
    return route?.files ?? (isJsonObject(schema) ? fileParams(schema) : {})
  }
  // Put on disk here, since a process that is killed takes none of its files along.
  const call: LoadedPack["call"] = (request, onProgress) =>
    placeFiles(filesOf(request.tool), request).pipe(
      Effect.flatMap((placed) => run(placed, onProgress)),
      Effect.scoped
    )
  return { offer, call, ended: Deferred.await(ended) }
})
