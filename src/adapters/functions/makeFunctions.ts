import { Data, Effect, PubSub, Result, type Scope, Stream } from "effect"
import type { McpCallOptions, McpChange, McpSession } from "../../application/ports/McpSession.ts"
import { PackError } from "../../application/ports/packs/PackLoader.ts"
import { toolNotFoundError, toolsOnlySession, watchHub } from "../../application/shared/toolsOnlySession.ts"
import type { JsonObject } from "../../domain/json.ts"
import { definedOnly } from "../../domain/objects.ts"
import { formatFailedCall } from "../../domain/packs/params/paramsProblems.ts"
import { enterDirectly, invalidParamsError, thrownMessage, toPackError } from "../tools/runPackCode.ts"
import type { ParamsValidator } from "../tools/ParamsValidator.ts"
import type { Functions, FunctionTool } from "./FunctionDefinitions.ts"
import { makeDocument, makeWindow, type OfferedResource } from "./functionResources.ts"
import { runTool } from "../tools/runTool.ts"
import { makeToolLog, makeToolLogger } from "../tools/toolLogger.ts"

/** A tool, window or document cannot be offered. The message names it and says why. */
export class InvalidFunction extends Data.TaggedError("InvalidFunction")<{ readonly message: string }> {}

/** The host of the URIs of windows and documents, and the usual name of the session in an office. */
export const functionsName = "functions"

/** Of tools, and of windows and documents together. */
const maxOffered = 1000

const toolNamePattern = /^[\w.-]{1,128}$/

interface OfferedTool extends Pick<FunctionTool, "run"> {
  readonly definition: JsonObject & { readonly name: string }
  readonly params: ParamsValidator
  readonly output: ParamsValidator | undefined
}

/** Makes the validator of a schema of any kind, or says why it is unsupported. */
type MakeValidator = (schema: unknown) => Result.Result<ParamsValidator, string>

const prepareTool = (tool: FunctionTool, makeValidator: MakeValidator): Result.Result<OfferedTool, string> =>
  Result.gen(function* () {
    const { annotations, description, name, output, params = {}, title } = tool
    if (!toolNamePattern.test(name)) {
      return yield* Result.fail("a name has 1 to 128 letters, digits, '_', '-' and '.'")
    }
    if (typeof Reflect.get(tool, "run") !== "function") return yield* Result.fail("run: expected a function")
    const schemaOf = (what: string, schema: unknown) =>
      Result.mapError(makeValidator(schema), (reason) => `${what}: ${reason}`)
    const validator = yield* schemaOf("params", params)
    const outputs = output === undefined ? undefined : yield* schemaOf("output", output)
    const definition = {
      name,
      inputSchema: validator.schema,
      ...definedOnly({ annotations, description, outputSchema: outputs?.schema, title })
    }
    return { definition, params: validator, output: outputs, run: (args, context) => tool.run(args, context) }
  })

/** Calls a tool; a failure of the tool is a result with `isError`. */
const callTool = Effect.fnUntraced(
  function* ({ output, params, run }: OfferedTool, args: JsonObject, host: Parameters<typeof runTool>[1]) {
    const decoded = yield* Effect.mapError(params.check(args), invalidParamsError)
    const result = yield* runTool((context) => run(Object(decoded), context), host, toPackError)
    const { structuredContent } = result
    if (output === undefined || structuredContent === undefined) return result
    yield* Effect.mapError(output.check(Object(structuredContent)), (problems) => {
      const { message } = invalidParamsError(problems)
      return new PackError({
        reason: "failed",
        message: `The tool's result does not fit its output schema: ${message}`
      })
    })
    return result
  },
  Effect.catch((failure) =>
    Effect.succeed<JsonObject>({ content: [{ type: "text", text: formatFailedCall(failure) }], isError: true })
  )
)

/** The name of a resource with its kind: the rest of the URI of a window may change. */
const keyOf = (uri: string): string => uri.replace(/\?.*/s, "")

/** Announces changes together: those of one task are one change for the office, without what is withdrawn by its end. */
const makeAnnouncer = (hub: PubSub.PubSub<McpChange>, isOffered: (uri: string) => boolean) => {
  const changes = new Map<string, McpChange>()
  const announce = () => {
    for (const change of changes.values()) {
      if (change._tag !== "ResourceUpdated" || isOffered(change.uri)) PubSub.publishUnsafe(hub, change)
    }
    changes.clear()
  }
  return (change: McpChange): void => {
    if (changes.size === 0) queueMicrotask(announce)
    changes.set(JSON.stringify(change), change)
  }
}

/** Values by key, of which each can be withdrawn as long as no other value has replaced it. */
const makeRegistry = <A>(what: string, onRemoved: (value: A) => void) => {
  const values = new Map<string, A>()
  return {
    values,
    checkSpace: (keys: Iterable<string>): void => {
      const size = new Set([...values.keys(), ...keys]).size
      if (size > maxOffered) throw new InvalidFunction({ message: `more than ${maxOffered} ${what} are offered` })
    },
    set: (key: string, value: A): (() => void) => {
      const before = values.get(key)
      values.set(key, value)
      if (before !== undefined) onRemoved(before)
      return () => {
        if (values.get(key) !== value) return
        values.delete(key)
        onRemoved(value)
      }
    },
    clear: () => {
      for (const value of values.values()) onRemoved(value)
      values.clear()
    }
  }
}

const prepare = <A>(what: string, name: string, prepared: Result.Result<A, string>): A => {
  if (Result.isSuccess(prepared)) return prepared.success
  throw new InvalidFunction({ message: `${what} '${name}' cannot be offered: ${prepared.failure}` })
}

type FollowedResource = OfferedResource & { readonly unfollow: () => void }

/** Follows all of some resources, or none when the signal of one throws. */
const followAll = (resources: ReadonlyArray<OfferedResource>, onChange: (uri: string) => void) => {
  const followed: Array<FollowedResource> = []
  for (const resource of resources) {
    const following = Result.try({
      try: () => resource.follow(() => onChange(resource.definition.uri)),
      catch: thrownMessage
    })
    if (Result.isFailure(following)) for (const { unfollow } of followed) unfollow()
    followed.push({ ...resource, unfollow: prepare("window", resource.name, following) })
  }
  return followed
}

export interface FunctionsOptions extends Functions {
  /** The name of the session, and the host of its URIs; `functions` by default. */
  readonly name?: string
  /** Instructions for models that use the tools. */
  readonly instructions?: string
}

/** A session of functions, and what changes it. */
export interface OfferedFunctions {
  /** For `computerLayer({ sessions })`, `publishHttp` and `publishStdio`. */
  readonly session: McpSession
  /**
   * Offers functions, and replaces those with the same names. The result withdraws them, unless others have replaced them.
   * What changes within one task is one change for the office. Throws when one of them cannot be offered.
   */
  readonly offer: (functions: Functions) => () => void
  /** Announces that the window or document with this name has another content. */
  readonly changed: (name: string) => void
}

/** Makes a session of functions until the scope closes. Nothing is offered after that. */
export const makeFunctionsWith = Effect.fnUntraced(function* (
  makeValidator: MakeValidator,
  { instructions, name: host = functionsName, ...initial }: FunctionsOptions
): Effect.fn.Return<OfferedFunctions, InvalidFunction, Scope.Scope> {
  const hub = yield* Effect.acquireRelease(PubSub.unbounded<McpChange>(), PubSub.shutdown)
  // A watcher that is slower than this has more changes than functions, and loses repeated ones only.
  const backlog = { capacity: 2 * maxOffered, strategy: "sliding" } as const
  const announce = makeAnnouncer(hub, (uri) => findResource(uri) !== undefined)
  const logger = makeToolLogger(yield* makeToolLog({ session: host }))
  const tools = makeRegistry<OfferedTool>("tools", () => announce({ _tag: "ToolsChanged" }))
  const resources = makeRegistry<FollowedResource>("windows and documents", ({ definition: { uri }, unfollow }) => {
    unfollow()
    announce({ _tag: "ResourcesChanged" })
    // Another one may replace it under the same URI.
    announce({ _tag: "ResourceUpdated", uri })
  })
  const findResource = (uri: string) => {
    const resource = resources.values.get(keyOf(uri))
    return resource?.definition.uri === uri ? resource : undefined
  }
  let isClosed = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      resources.clear()
    })
  )

  const offer: OfferedFunctions["offer"] = ({ documents = [], tools: added = [], windows = [] }) => {
    if (isClosed) return () => undefined
    const preparedTools = added.map((tool) => prepare("tool", tool.name, prepareTool(tool, makeValidator)))
    const preparedResources = [
      ...windows.map((window) => prepare("window", window.name, makeWindow(host, window))),
      ...documents.map((document) => makeDocument(host, document))
    ]
    tools.checkSpace(preparedTools.map(({ definition }) => definition.name))
    resources.checkSpace(preparedResources.map(({ definition }) => keyOf(definition.uri)))
    const followed = followAll(preparedResources, (uri) => announce({ _tag: "ResourceUpdated", uri }))
    const withdrawals = [
      ...preparedTools.map((tool) => tools.set(tool.definition.name, tool)),
      ...followed.map((resource) => resources.set(keyOf(resource.definition.uri), resource))
    ]
    if (preparedTools.length > 0) announce({ _tag: "ToolsChanged" })
    if (preparedResources.length > 0) announce({ _tag: "ResourcesChanged" })
    return () => {
      for (const withdraw of withdrawals) withdraw()
    }
  }
  yield* Effect.try({ try: () => offer(initial), catch: (error) => error as InvalidFunction })

  const call = (name: string, args: JsonObject, options: McpCallOptions) => {
    const tool = tools.values.get(name)
    return tool === undefined
      ? Effect.fail(toolNotFoundError(name))
      : callTool(tool, args, { ...options, config: {}, enter: enterDirectly, logger })
  }
  const base = toolsOnlySession(host, instructions)
  const list = (offered: ReadonlyMap<string, { readonly definition: JsonObject }>) => () =>
    Effect.sync(() => ({ items: Array.from(offered.values(), ({ definition }) => definition), nextCursor: undefined }))
  return {
    session: {
      ...base,
      info: { ...base.info, capabilities: { tools: true, resources: true, subscribe: true } },
      listTools: list(tools.values),
      listResources: list(resources.values),
      readResource: (uri) => Effect.suspend(() => findResource(uri)?.read ?? base.readResource(uri)),
      callTool: (name, args, options = {}) => Effect.suspend(() => call(name, args, options)),
      watch: (wanted) => Effect.map(watchHub(hub)(wanted), Stream.buffer(backlog))
    },
    offer,
    changed: (name) => {
      for (const resource of resources.values.values()) {
        if (resource.name === name) announce({ _tag: "ResourceUpdated", uri: resource.definition.uri })
      }
    }
  }
})
