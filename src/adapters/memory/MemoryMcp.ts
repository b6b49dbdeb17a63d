import { Deferred, Effect, Exit, Layer, PubSub, Ref, type Scope, Stream } from "effect"
import {
  type McpCallOptions,
  type McpChange,
  McpConnector,
  type McpSessionError,
  type McpInfo,
  type McpMethod,
  type McpProgress,
  type McpSession,
  type McpWatchOptions,
  protocolFailure,
  sessionError
} from "../../application/ports/McpSession.ts"
import { askResponder } from "../../application/shared/questions/askUntilValid.ts"
import { pageOfListing, watchHub } from "../../application/shared/toolsOnlySession.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"

/** A tool of a server in memory. */
export interface MemoryTool {
  /** The tool as `tools/list` returns it. */
  readonly definition: JsonObject & { readonly name: string }
  /** Runs a call and gives its MCP result; a failed tool sets `isError`. Interruption cancels the call. */
  readonly run: (
    params: JsonObject,
    context: {
      readonly progress: (progress: McpProgress) => Effect.Effect<void>
      /** Asks the user of the call. Declined where no responder can answer. */
      readonly ask: (request: InputRequest) => Effect.Effect<InputAnswer>
    }
  ) => Effect.Effect<JsonObject, McpSessionError>
}

const toToolContext = ({
  onProgress = () => Effect.void,
  responder
}: McpCallOptions): Parameters<MemoryTool["run"]>[1] => ({
  progress: onProgress,
  ask: (request) => askResponder(responder, request)
})

export interface MemoryResource {
  /** The resource as `resources/list` returns it. */
  readonly definition: JsonObject & { readonly uri: string }
  readonly read: Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
}

export interface MemoryMcpServerOptions {
  readonly name?: string
  readonly capabilities?: Partial<McpInfo["capabilities"]>
  readonly tools?: ReadonlyArray<MemoryTool>
  readonly resources?: ReadonlyArray<MemoryResource>
  /** Answers the requests of `McpSession.request`; its capabilities must announce them. */
  readonly answer?: (method: McpMethod, params: JsonObject) => Effect.Effect<JsonObject, McpSessionError>
  /** Items per page of a listing; unlimited by default. */
  readonly pageSize?: number
}

/** An MCP server in this process, with functions to control it. */
export interface MemoryMcpServer {
  /** Opens a session that ends with the scope. */
  readonly connect: Effect.Effect<McpSession, never, Scope.Scope>
  /** Replaces the tools and notifies watchers. */
  readonly setTools: (tools: ReadonlyArray<MemoryTool>) => Effect.Effect<void>
  /** Replaces the resources and notifies watchers. */
  readonly setResources: (resources: ReadonlyArray<MemoryResource>) => Effect.Effect<void>
  readonly notify: (change: McpChange) => Effect.Effect<void>
  /** Ends all sessions, as a crash does. */
  readonly crash: (reason: string) => Effect.Effect<void>
  /** The URIs with a subscription. */
  readonly subscriptions: () => ReadonlyArray<string>
}

/** Changes that wait for a slow watcher. */
const maxQueuedChanges = 1024

type Listed = Effect.Effect<ReadonlyArray<{ readonly definition: JsonObject }>>

/** Makes the changes of a server, and the subscriptions to them. */
const makeChanges = Effect.fnUntraced(function* (isSupported: boolean) {
  const hub = yield* PubSub.sliding<McpChange>(maxQueuedChanges)
  const subscribed: Array<string> = []
  return {
    subscribed,
    notify: (change: McpChange) => Effect.asVoid(PubSub.publish(hub, change)),
    /** Watches until the session has ended. */
    watch: Effect.fnUntraced(function* (wanted: McpWatchOptions, ended: Deferred.Deferred<McpSessionError>) {
      const { uris } = wanted
      if (uris.length > 0 && !isSupported) {
        return yield* sessionError("unsupported", "subscriptions are not supported")
      }
      const changes = yield* watchHub(hub)(wanted)
      yield* Effect.acquireRelease(
        Effect.sync(() => void subscribed.push(...uris)),
        () =>
          Effect.sync(() => {
            for (const uri of uris) subscribed.splice(subscribed.indexOf(uri), 1)
          })
      )
      return Stream.interruptWhen(changes, Deferred.await(ended))
    })
  }
})

/** Makes a server in memory, for tests and for hosts. Behaves like a server in a process. */
export const makeMemoryMcpServer = Effect.fnUntraced(function* ({
  answer,
  capabilities,
  name = "memory",
  pageSize = Number.POSITIVE_INFINITY,
  resources: initialResources = [],
  tools: initialTools = []
}: MemoryMcpServerOptions = {}): Effect.fn.Return<MemoryMcpServer> {
  const tools = yield* Ref.make(initialTools)
  const resources = yield* Ref.make(initialResources)
  const sessions = new Set<Deferred.Deferred<McpSessionError>>()
  const info: McpInfo = {
    name,
    version: "1.0.0",
    protocolVersion: "2025-11-25",
    capabilities: { tools: true, resources: true, subscribe: true, ...capabilities },
    instructions: undefined
  }
  const { notify, subscribed, watch } = yield* makeChanges(info.capabilities.subscribe)

  const call = Effect.fnUntraced(function* (tool: string, params: JsonObject, options: McpCallOptions) {
    const found = (yield* Ref.get(tools)).find(({ definition }) => definition.name === tool)
    if (found === undefined) return { content: [{ type: "text", text: `Unknown tool: ${tool}` }], isError: true }
    return yield* found.run(params, toToolContext(options))
  })

  const connect = Effect.gen(function* () {
    const ended = yield* Deferred.make<McpSessionError>()
    sessions.add(ended)
    yield* Effect.addFinalizer(() => {
      sessions.delete(ended)
      return Deferred.succeed(ended, sessionError("closed", "the session was closed"))
    })
    /** Fails a request when the session ends. */
    const whileOpen = <A>(request: Effect.Effect<A, McpSessionError>): Effect.Effect<A, McpSessionError> =>
      Effect.raceFirst(Effect.flatMap(Deferred.await(ended), Effect.fail), request)
    const list = (items: Listed, isSupported: boolean, cursor: string | undefined) => {
      const definitions = Effect.map(items, (all) => all.map(({ definition }) => definition))
      return isSupported
        ? whileOpen(Effect.flatMap(definitions, (all) => pageOfListing(all, pageSize, cursor)))
        : whileOpen(Effect.fail(sessionError("unsupported", "not supported")))
    }
    const session: McpSession = {
      info,
      listTools: (cursor) => list(Ref.get(tools), info.capabilities.tools, cursor),
      listResources: (cursor) => list(Ref.get(resources), info.capabilities.resources, cursor),
      readResource: (uri) =>
        whileOpen(
          Effect.flatMap(Ref.get(resources), (all) => {
            const found = all.find(({ definition }) => definition.uri === uri)
            return found?.read ?? Effect.fail(protocolFailure(-32002, `Resource ${uri} not found`))
          })
        ),
      callTool: (tool, params, options = {}) => whileOpen(call(tool, params, options)),
      request: (method, params) =>
        whileOpen(answer?.(method, params) ?? Effect.fail(sessionError("unsupported", `${method} is not supported`))),
      watch: (wanted) => watch(wanted, ended),
      ping: whileOpen(Effect.void),
      closed: Deferred.await(ended)
    }
    return session
  })

  return {
    connect,
    notify,
    setTools: (next) => Effect.andThen(Ref.set(tools, next), notify({ _tag: "ToolsChanged" })),
    setResources: (next) => Effect.andThen(Ref.set(resources, next), notify({ _tag: "ResourcesChanged" })),
    crash: (message) =>
      Effect.sync(() => {
        const exit = Exit.succeed(sessionError("closed", message))
        for (const ended of sessions) Deferred.doneUnsafe(ended, exit)
      }),
    subscriptions: () => subscribed
  }
})

/** Connects to servers in memory by their configured name. */
export const layer = (servers: ReadonlyMap<string, Pick<MemoryMcpServer, "connect">>): Layer.Layer<McpConnector> =>
  Layer.succeed(
    McpConnector,
    McpConnector.of({
      connect: (name) =>
        servers.get(name)?.connect ?? Effect.fail(sessionError("unavailable", `no server '${name}' in memory`))
    })
  )
