import { Deferred, Effect, type Scope } from "effect"
import type { McpProgress } from "../../../application/ports/McpSession.ts"
import {
  type LoadedPack,
  type PackCall,
  PackError,
  type PackSource
} from "../../../application/ports/packs/PackLoader.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import type { PackManifest, PackRoute } from "../../../domain/packs/PackManifest.ts"
import { fileParamsOf } from "../../../domain/packs/params/jsonSchema.ts"
import { makePackLog } from "../loading/packLog.ts"
import type { ChildMessage } from "./child.ts"
import { writeEmbeddedFiles } from "../execution/writeEmbeddedFiles.ts"
import { withProgress } from "../execution/progress.ts"
import { spawnPackProcess } from "./PackProcess.ts"

interface PendingCall {
  readonly result: Deferred.Deferred<JsonObject, PackError>
  readonly onProgress: (progress: McpProgress) => void
}

type CallMessage = Extract<ChildMessage, { readonly id: number }>

const dispatchToCall = ({ onProgress, result }: PendingCall, report: CallMessage): void => {
  switch (report.type) {
    case "progress":
      return onProgress(report.progress)
    case "result":
      Deferred.doneUnsafe(result, Effect.succeed(report.result))
      return
    case "error":
      Deferred.doneUnsafe(result, Effect.fail(new PackError(report.failure)))
  }
}

/**
 * Loads a pack in a separate process until the scope closes. The process dies when it does not acknowledge a cancelled
 * call, exceeds its memory, or calls `process.exit`; the host continues.
 */
export const loadIsolated = Effect.fnUntraced(function* (
  source: PackSource
): Effect.fn.Return<LoadedPack, PackError, Scope.Scope> {
  const scope = yield* Effect.scope
  const log = yield* makePackLog(source.name)
  const ready = yield* Deferred.make<PackManifest, PackError>()
  const exited = yield* Deferred.make<string>()
  const pendingCalls = new Map<number, PendingCall>()
  let lastId = 0

  const crashed = (message: string) => Effect.fail(new PackError({ reason: "crashed", message }))
  const unusable = (message: string) => Effect.fail(new PackError({ reason: "unusable", message }))

  const failCalls = (reason: string) => {
    for (const { result } of pendingCalls.values()) Deferred.doneUnsafe(result, crashed(reason))
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => failCalls("it was unloaded")))

  const child = yield* spawnPackProcess(source, {
    onLogLine: log,
    onMessage: (report) => {
      switch (report.type) {
        case "ready":
          Deferred.doneUnsafe(ready, Effect.succeed(report.manifest))
          return
        case "unusable":
          Deferred.doneUnsafe(ready, unusable(report.message))
          return
        case "log":
          return log(report.line)
        case "progress":
        case "result":
        case "error": {
          const waiting = pendingCalls.get(report.id)
          if (waiting !== undefined) dispatchToCall(waiting, report)
        }
      }
    },
    onExit: (reason) => {
      Deferred.doneUnsafe(ready, unusable(reason))
      Deferred.doneUnsafe(exited, Effect.succeed(reason))
      failCalls(reason)
    }
  })

  /** Sends the abort, and waits for its acknowledgement in the background. */
  const abortCall = (id: number) => Effect.forkIn(child.sendAcknowledged({ type: "abort", id }), scope)

  const runCall = Effect.fnUntraced(function* (
    request: PackCall,
    onProgress: (progress: McpProgress) => Effect.Effect<void>
  ) {
    if (Deferred.isDoneUnsafe(exited)) return yield* Effect.flatMap(Deferred.await(exited), crashed)
    const id = ++lastId
    const result = yield* Deferred.make<JsonObject, PackError>()
    return yield* withProgress(onProgress, (report) => {
      pendingCalls.set(id, { result, onProgress: report })
      child.send({ type: "call", id, call: request })
      return Deferred.await(result).pipe(
        Effect.onInterrupt(() => abortCall(id)),
        Effect.ensuring(Effect.sync(() => pendingCalls.delete(id)))
      )
    })
  })

  const manifest = yield* Deferred.await(ready)
  /** File parameters of a tool: those of its first route, or of its listing. */
  const filesOfTool = (tool: string): PackRoute["files"] => {
    const route = manifest.routes.find((one) => one.tool === tool)
    const schema = manifest.tools.find(({ name }) => name === tool)?.["inputSchema"]
    return route?.files ?? (isJsonObject(schema) ? fileParamsOf(schema) : {})
  }
  // Written by the parent: a killed process does not remove its files.
  const call: LoadedPack["call"] = (request, onProgress) =>
    writeEmbeddedFiles(filesOfTool(request.tool), request).pipe(
      Effect.flatMap((placed) => runCall(placed, onProgress)),
      Effect.scoped
    )
  return { manifest, call, exited: Deferred.await(exited) }
})
