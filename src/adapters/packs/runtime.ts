import { type Cause, Effect, Queue, Result, type Scope, Stream } from "effect"
import type { McpProgress } from "../../application/ports/McpSession.ts"
import {
  type LoadedPack,
  type PackCall,
  PackFailure,
  type PackSource
} from "../../application/ports/PackLoader.ts"
import type { ParamsProblem } from "../../domain/packs/offer.ts"
import { readForm } from "../../domain/packs/params.ts"
import type { LogFields, ToolContext, ToolLogger, ToolProgress } from "./author/BaseMcpTool.ts"
import { placeFiles } from "./embeddedFiles.ts"
import { misplacedFiles, openFiles } from "./files.ts"
import { locate, methodsOf, type PackMethods } from "./locate.ts"
import type { Compile } from "./parameters.ts"
import { toCallResult } from "./results.ts"
import { type Enter, settle } from "./settle.ts"
import { surfaceOf, type ToolParameters } from "./surface.ts"
import { failureOf, wordsOf } from "./thrown.ts"

/** Something that a pack logged. */
export interface PackLine {
  readonly level: "Debug" | "Info" | "Warn" | "Error"
  readonly message: string
  /** Plain data. */
  readonly fields: LogFields
}

/** What runs the code of a pack. */
export interface Surroundings {
  readonly enter: Enter
  readonly compile: Compile
  readonly log: (line: PackLine) => void
}

/** So many reports of one call wait to be told; older ones are dropped, since only the last says how far it is. */
export const mostReports = 64

/** How long a pack may take to clean up. */
const farewell = "5 seconds"

/** How much of a logged message is kept, in characters. */
const longestLine = 16_384

const unusable = (message: string): PackFailure => new PackFailure({ kind: "unusable", message })

/** Fields as plain data; what cannot be that is left out. */
const plainFields = (fields: unknown): LogFields => {
  const text = Result.try(() => JSON.stringify(fields ?? {}) ?? "{}")
  const value: unknown = Result.isSuccess(text) ? JSON.parse(text.success) : {}
  return typeof value === "object" && value !== null ? { ...value } : {}
}

const loggerOf = (log: Surroundings["log"]): ToolLogger => {
  const write = (level: PackLine["level"]) => (message: unknown, fields?: LogFields) =>
    log({ level, message: String(message).slice(0, longestLine), fields: plainFields(fields) })
  return { debug: write("Debug"), info: write("Info"), warn: write("Warn"), error: write("Error") }
}

const isFinite = (value: unknown): value is number => Number.isFinite(value)

/** A report as MCP takes it, or nothing when it is none. */
const reportOf = ({ message, progress, total }: ToolProgress): McpProgress | undefined =>
  isFinite(progress)
    ? { progress, ...(isFinite(total) && { total }), ...(typeof message === "string" && { message }) }
    : undefined

const wrong = (problems: ReadonlyArray<ParamsProblem>): PackFailure => {
  const words = problems.map(({ loc, msg }) => (loc.length < 2 ? msg : `${loc.slice(1).join(".")}: ${msg}`))
  return new PackFailure({
    kind: "params",
    message: words.join("; ") || "the parameters are wrong",
    problems
  })
}

/** What a tool gets for what was sent. */
const readArguments = Effect.fnUntraced(function* (tool: ToolParameters, { args, files, form }: PackCall) {
  const misplaced = misplacedFiles(tool.files, args, files)
  if (misplaced.length > 0) return yield* wrong(misplaced)
  const opened = yield* Effect.mapError(
    openFiles(tool.files, files),
    ({ message }) => new PackFailure({ kind: "failed", message })
  )
  const given = form ? readForm(tool.schema, args) : args
  return yield* Effect.mapError(tool.check({ ...given, ...opened }), wrong)
})

/** What one call knows of its surroundings, and how to tell it that it is given up. */
const contextOf = (
  { config }: PackSource,
  { enter, log }: Surroundings,
  reports: Queue.Queue<McpProgress, Cause.Done>
) => {
  const controller = new AbortController()
  const context: ToolContext = {
    signal: controller.signal,
    logger: loggerOf(log),
    progress: (progress) => {
      const report = reportOf(progress)
      if (report !== undefined) Queue.offerUnsafe(reports, report)
    },
    config
  }
  return { context, abort: Effect.sync(() => enter(() => controller.abort())) }
}

/** Calls a pack: what it reports on the way is told in order, all of it before its result. */
const callTool = Effect.fnUntraced(function* (
  methods: PackMethods,
  source: PackSource,
  surroundings: Surroundings,
  tool: string,
  args: unknown,
  onProgress: (progress: McpProgress) => Effect.Effect<void>
) {
  const reports = yield* Queue.sliding<McpProgress, Cause.Done>(mostReports)
  const { abort, context } = contextOf(source, surroundings, reports)
  const telling = Stream.runForEach(Stream.fromQueue(reports), onProgress)
  const working = settle(surroundings.enter, () => methods.callTool(tool, args, context)).pipe(
    Effect.onInterrupt(() => abort),
    Effect.ensuring(Queue.end(reports)),
    Effect.mapError(({ value }) => failureOf(value))
  )
  const [value] = yield* Effect.all([working, telling], { concurrency: 2 })
  return yield* Effect.mapError(
    Effect.fromResult(toCallResult(value)),
    (reason) => new PackFailure({ kind: "failed", message: `the result of ${tool} is not JSON: ${reason}` })
  )
})

/** Asks a pack for something when it is loaded. */
const ask = (what: string, enter: Enter, code: () => unknown): Effect.Effect<unknown, PackFailure> =>
  Effect.mapError(settle(enter, code), ({ value }) => unusable(`${what} failed: ${wordsOf(value)}`))

/** Looks at what a pack has given: reading members of a stranger's object may throw. */
const look = <A>(read: () => Result.Result<A, string>): Effect.Effect<A, PackFailure> =>
  Effect.mapError(
    Effect.flatMap(
      Effect.try({ try: read, catch: (error) => `it cannot be read: ${wordsOf(error)}` }),
      (found) => Effect.fromResult(found)
    ),
    unusable
  )

/** The instance of a pack. Whatever becomes of it, it is disposed of with the scope. */
const construct = Effect.fnUntraced(function* (
  module: object,
  { className }: PackSource,
  { enter, log }: Surroundings
): Effect.fn.Return<PackMethods, PackFailure, Scope.Scope> {
  const located = yield* look(() => locate(module, className))
  // A constructor gives an instance, even when that has a method `then`.
  const instance =
    located._tag === "Instance"
      ? located.instance
      : yield* Effect.try({
          try: () => enter(located.construct),
          catch: (error) => unusable(`the constructor of ${located.name} failed: ${wordsOf(error)}`)
        })
  const methods = yield* look(() => methodsOf(instance, located.name))
  const { dispose } = methods
  if (dispose === undefined) return methods
  const warn = (message: string) => Effect.sync(() => log({ level: "Warn", message, fields: {} }))
  yield* Effect.addFinalizer(() =>
    Effect.interruptible(settle(enter, dispose)).pipe(
      Effect.timeoutOrElse({
        duration: farewell,
        orElse: () => warn(`dispose() is not done within ${farewell}`)
      }),
      Effect.catch(({ value }) => warn(`dispose() failed: ${wordsOf(value)}`))
    )
  )
  return methods
})

/**
 * Starts a pack from its module. It is disposed of with the scope, which has to outlive its calls. What the pack throws
 * becomes a failure; only code that never gives the thread back cannot be helped from here.
 */
export const start = Effect.fnUntraced(function* (
  module: object,
  source: PackSource,
  surroundings: Surroundings
): Effect.fn.Return<Pick<LoadedPack, "offer" | "call">, PackFailure, Scope.Scope> {
  const { compile, enter } = surroundings
  const methods = yield* construct(module, source, surroundings)
  const declaredRoutes = yield* ask("getRouteConfig()", enter, methods.getRouteConfig)
  const declaredTools = yield* ask("listTools()", enter, methods.listTools)
  const { offer, tools } = yield* surfaceOf(source, declaredRoutes, declaredTools, compile)

  const call: LoadedPack["call"] = Effect.fnUntraced(function* (request, onProgress) {
    const tool = tools.get(request.tool)
    if (tool === undefined) {
      return yield* new PackFailure({ kind: "unknown", message: `there is no tool '${request.tool}'` })
    }
    const args = yield* readArguments(tool, yield* placeFiles(tool.files, request))
    return yield* callTool(methods, source, surroundings, request.tool, args, onProgress)
  }, Effect.scoped)
  return { offer, call }
})
