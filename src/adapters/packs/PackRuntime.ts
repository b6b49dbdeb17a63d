import { Effect, type Result, type Scope } from "effect"
import type { CompileSchema } from "../../application/ports/SchemaValidator.ts"
import { type LoadedPack, type PackCall, PackError, type PackSource } from "../../application/ports/packs/PackLoader.ts"
import { openToolFiles, toParams, writeEmbeddedFiles } from "./execution/toolFiles.ts"
import { bindMethods, decodeDeclaration, locatePack, type PackMethods } from "./loading/PackDeclaration.ts"
import type { ParamsValidator } from "../tools/ParamsValidator.ts"
import {
  type EnterPackCode,
  invalidParamsError,
  runPackCode,
  thrownMessage,
  toPackError
} from "../tools/runPackCode.ts"
import { runTool } from "../tools/runTool.ts"
import { makeToolLogger, type ToolLog } from "../tools/toolLogger.ts"

export interface PackRuntime {
  readonly enter: EnterPackCode
  readonly compile: CompileSchema
  readonly log: ToolLog
}

const disposeTimeout = "5 seconds"

const unusable = (message: string): PackError => new PackError({ reason: "unusable", message })

const prepareArguments = Effect.fnUntraced(function* ({ check, files, schema }: ParamsValidator, call: PackCall) {
  const params = { ...(yield* toParams(schema, files, call)), ...(yield* openToolFiles(files, call)) }
  return yield* Effect.mapError(check(params), invalidParamsError)
})

/** Calls a method while the pack loads. */
const callPackMethod = (method: string, enter: EnterPackCode, code: () => unknown): Effect.Effect<unknown, PackError> =>
  Effect.mapError(runPackCode(enter, code), ({ value }) => unusable(`${method} failed: ${thrownMessage(value)}`))

/** Getters of foreign objects can throw. */
const inspectPack = <A>(read: () => Result.Result<A, string>): Effect.Effect<A, PackError> =>
  Effect.try({ try: read, catch: (error) => `it cannot be read: ${thrownMessage(error)}` }).pipe(
    Effect.flatMap((found) => Effect.fromResult(found)),
    Effect.mapError(unusable)
  )

/** Makes the instance of a pack, and disposes of it with the scope. */
const instantiatePack = Effect.fnUntraced(function* (
  module: object,
  { className }: PackSource,
  { enter, log }: PackRuntime
): Effect.fn.Return<PackMethods, PackError, Scope.Scope> {
  const getInstance = yield* inspectPack(() => locatePack(module, className))
  // An instance can have a method `then`, so the constructor's result is not awaited.
  const instance = yield* Effect.try({
    try: () => enter(getInstance),
    catch: (error) => unusable(`the constructor of ${className} failed: ${thrownMessage(error)}`)
  })
  const methods = yield* inspectPack(() => bindMethods(instance, className))
  const { dispose } = methods
  if (dispose === undefined) return methods
  const logWarning = (message: string) => Effect.sync(() => log({ level: "Warn", message, fields: {} }))
  yield* Effect.addFinalizer(() =>
    Effect.interruptible(runPackCode(enter, dispose)).pipe(
      Effect.timeoutOrElse({
        duration: disposeTimeout,
        orElse: () => logWarning(`dispose() timed out after ${disposeTimeout}`)
      }),
      Effect.catch(({ value }) => logWarning(`dispose() failed: ${thrownMessage(value)}`))
    )
  )
  return methods
})

/**
 * Starts a pack from its module; the scope disposes of it and must outlive its calls. Errors of the pack become
 * failures. Code that blocks the thread cannot be stopped.
 */
export const startPack = Effect.fnUntraced(function* (module: object, source: PackSource, runtime: PackRuntime) {
  const { compile, enter, log } = runtime
  const logger = makeToolLogger(log)
  const methods = yield* instantiatePack(module, source, runtime)
  const declaredRoutes = yield* callPackMethod("getRouteConfig()", enter, methods.getRouteConfig)
  const declaredTools = yield* callPackMethod("listTools()", enter, methods.listTools)
  const { manifest, tools } = yield* decodeDeclaration(source, declaredRoutes, declaredTools, compile)

  const call: LoadedPack["call"] = Effect.fnUntraced(function* (request, options = {}) {
    const tool = tools.get(request.tool)
    if (tool === undefined) {
      return yield* new PackError({ reason: "unknown_tool", message: `unknown tool '${request.tool}'` })
    }
    const params = yield* prepareArguments(tool, yield* writeEmbeddedFiles(tool.files, request))
    return yield* runTool(
      (context) => methods.callTool(request.tool, params, context),
      { ...options, enter, logger, config: source.config },
      toPackError
    )
  }, Effect.scoped)
  return { manifest, call }
})
