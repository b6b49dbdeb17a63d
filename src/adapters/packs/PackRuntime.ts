import { Effect, Result, type Scope } from "effect"
import type { CompileSchema } from "../../application/ports/SchemaValidator.ts"
import { type LoadedPack, type PackCall, PackError, type PackSource } from "../../application/ports/packs/PackLoader.ts"
import type { LogFields, ToolContext, ToolLogger } from "./author/BaseMcpTool.ts"
import { openToolFiles, toParams, writeEmbeddedFiles } from "./execution/toolFiles.ts"
import { withProgress } from "./execution/withProgress.ts"
import { bindMethods, decodeDeclaration, locatePack, type PackMethods } from "./loading/PackDeclaration.ts"
import type { ParamsValidator } from "../tools/ParamsValidator.ts"
import {
  type EnterPackCode,
  invalidParamsError,
  runPackCode,
  thrownMessage,
  toPackError
} from "../tools/runPackCode.ts"
import { isJsonObject, type JsonObject, parseJsonOrThrow } from "../../domain/json.ts"
import { isKnownContentBlock } from "../../domain/model/ToolResult.ts"

const isContentBlockList = (value: unknown): value is ReadonlyArray<unknown> =>
  Array.isArray(value) && value.every(isKnownContentBlock)

const toResult = (value: unknown): JsonObject => {
  if (typeof value === "string") return { content: [{ type: "text", text: value }] }
  if (isKnownContentBlock(value)) return { content: [value] }
  if (isContentBlockList(value)) return { content: value }
  if (isJsonObject(value) && isContentBlockList(value["content"])) return value
  // Structured content must be an object.
  const structuredContent = isJsonObject(value) ? value : { result: value }
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent }
}

/**
 * Converts the return value of a tool to an MCP tool result. A text, a block, a list of blocks and a whole result stay
 * as they are; undefined becomes an empty result; any other JSON value becomes structured content and text. Fails when
 * the value is not JSON.
 */
const toCallToolResult = (value: unknown): Result.Result<JsonObject, string> =>
  Result.try({
    try: () => {
      if (value === undefined) return { content: [] }
      const text: string | undefined = JSON.stringify(value)
      if (text === undefined) throw new TypeError(`a ${typeof value} cannot be written as JSON`)
      return toResult(parseJsonOrThrow(text))
    },
    catch: thrownMessage
  })

export interface PackLogLine {
  readonly level: "Debug" | "Info" | "Warn" | "Error"
  readonly message: string
  /** Plain JSON data. */
  readonly fields: LogFields
}

/** Writes log lines of a pack to the host's log, with the name of the pack. */
export const makePackLog = (name: string): Effect.Effect<(line: PackLogLine) => void> =>
  Effect.map(Effect.context<never>(), (context) => ({ fields, level, message }) => {
    const line = Effect.logWithLevel(level)(message)
    Effect.runSyncWith(context)(Effect.annotateLogs(line, { ...fields, pack: name }))
  })

export interface PackRuntime {
  readonly enter: EnterPackCode
  readonly compile: CompileSchema
  readonly log: (line: PackLogLine) => void
}

const disposeTimeout = "5 seconds"

/** In characters. */
const maxMessageLength = 16_384

const unusable = (message: string): PackError => new PackError({ reason: "unusable", message })

/** Converts fields to plain data and omits what JSON cannot represent. */
const serializeFields = (fields: unknown): LogFields => {
  const value = Result.getOrUndefined(Result.try(() => parseJsonOrThrow(JSON.stringify(fields))))
  return typeof value === "object" && value !== null ? { ...value } : {}
}

const makeToolLogger = (log: PackRuntime["log"]): ToolLogger => {
  const write = (level: PackLogLine["level"]) => (message: unknown, fields?: LogFields) =>
    log({ level, message: String(message).slice(0, maxMessageLength), fields: serializeFields(fields) })
  return { debug: write("Debug"), info: write("Info"), warn: write("Warn"), error: write("Error") }
}

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
export const startPack = Effect.fnUntraced(function* (
  module: object,
  source: PackSource,
  runtime: PackRuntime
): Effect.fn.Return<Pick<LoadedPack, "manifest" | "call">, PackError, Scope.Scope> {
  const { compile, enter, log } = runtime
  const methods = yield* instantiatePack(module, source, runtime)
  const declaredRoutes = yield* callPackMethod("getRouteConfig()", enter, methods.getRouteConfig)
  const declaredTools = yield* callPackMethod("listTools()", enter, methods.listTools)
  const { manifest, tools } = yield* decodeDeclaration(source, declaredRoutes, declaredTools, compile)

  const call: LoadedPack["call"] = Effect.fnUntraced(function* (request, onProgress) {
    const tool = tools.get(request.tool)
    if (tool === undefined) {
      return yield* new PackError({ reason: "unknown_tool", message: `unknown tool '${request.tool}'` })
    }
    const params = yield* prepareArguments(tool, yield* writeEmbeddedFiles(tool.files, request))
    const value = yield* withProgress(onProgress, (onReport) => {
      const controller = new AbortController()
      const context: ToolContext = {
        signal: controller.signal,
        logger: makeToolLogger(log),
        progress: ({ message, progress, total }) => {
          if (!Number.isFinite(progress)) return
          const isText = typeof message === "string"
          onReport({ progress, ...(Number.isFinite(total) && { total }), ...(isText && { message }) })
        },
        config: source.config
      }
      return runPackCode(enter, () => methods.callTool(request.tool, params, context)).pipe(
        Effect.onInterrupt(() => Effect.sync(() => enter(() => controller.abort()))),
        Effect.mapError((thrown) => toPackError(thrown.value))
      )
    })
    return yield* Effect.mapError(
      Effect.fromResult(toCallToolResult(value)),
      (reason) => new PackError({ reason: "failed", message: `the result of ${request.tool} is not JSON: ${reason}` })
    )
  }, Effect.scoped)
  return { manifest, call }
})
