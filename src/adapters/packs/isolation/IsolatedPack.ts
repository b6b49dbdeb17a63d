import { Deferred, Effect, type Scope } from "effect"
import type { McpProgress } from "../../../application/ports/McpSession.ts"
import { type LoadedPack, PackError, type PackSource } from "../../../application/ports/packs/PackLoader.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import type { PackManifest, PackRoute } from "../../../domain/packs/PackManifest.ts"
import { fileParamsOf } from "../../../domain/schemas/jsonSchema.ts"
import { makePackLog } from "../PackRuntime.ts"
import { withProgress } from "../execution/runPackCode.ts"
import { writeEmbeddedFiles } from "../execution/toolFiles.ts"
import { spawnPackProcess } from "./PackProcess.ts"

interface PendingCall {
  readonly result: Deferred.Deferred<JsonObject, PackError>
  readonly onProgress: (progress: McpProgress) => void
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
  const setReady = (manifest: Effect.Effect<PackManifest, PackError>) => void Deferred.doneUnsafe(ready, manifest)
  const failToLoad = (message: string) => setReady(Effect.fail(new PackError({ reason: "unusable", message })))

  const complete = (id: number, outcome: Effect.Effect<JsonObject, PackError>) => {
    const pending = pendingCalls.get(id)
    if (pending !== undefined) Deferred.doneUnsafe(pending.result, outcome)
  }
  const failCalls = (reason: string) => {
    for (const id of pendingCalls.keys()) complete(id, crashed(reason))
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => failCalls("it was unloaded")))

  const child = yield* spawnPackProcess(source, {
    onLogLine: log,
    onMessage: (report) => {
      switch (report.type) {
        case "ready":
          return setReady(Effect.succeed(report.manifest))
        case "unusable":
          return failToLoad(report.message)
        case "log":
          return log(report.line)
        case "progress":
          return pendingCalls.get(report.id)?.onProgress(report.progress)
        case "result":
          return complete(report.id, Effect.succeed(report.result))
        case "error":
          return complete(report.id, Effect.fail(new PackError(report.failure)))
      }
    },
    onExit: (reason) => {
      failToLoad(reason)
      Deferred.doneUnsafe(exited, Effect.succeed(reason))
      failCalls(reason)
    }
  })

  const runCall: LoadedPack["call"] = Effect.fnUntraced(function* (request, onProgress) {
    if (Deferred.isDoneUnsafe(exited)) return yield* Effect.flatMap(Deferred.await(exited), crashed)
    const id = ++lastId
    const result = yield* Deferred.make<JsonObject, PackError>()
    return yield* withProgress(onProgress, (report) => {
      pendingCalls.set(id, { result, onProgress: report })
      child.send({ type: "call", id, call: request })
      return Deferred.await(result).pipe(
        // The acknowledgement arrives in the background.
        Effect.onInterrupt(() => Effect.forkIn(child.sendAcknowledged({ type: "abort", id }), scope)),
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
