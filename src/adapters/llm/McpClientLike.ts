import { Cause, type Context, Effect, Exit, Predicate } from "effect"
import { listAllPages } from "../../application/shared/paging.ts"
import type { ModelSession } from "../../application/bridge/officeModelSession.ts"
import type { McpProgress, McpSessionError } from "../../application/ports/McpSession.ts"
import { definedOnly } from "../../domain/objects.ts"
import { asObject, type JsonObject } from "../../domain/json.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import { isAppOnly, isAppResource } from "../../domain/tools/appTools.ts"
import { McpClientError, abortReasonOf } from "./McpClientError.ts"
import {
  isContents,
  isResource,
  type McpContents,
  type McpResource,
  type McpTool,
  type McpToolResult,
  decodeToolResult,
  decodeTool
} from "./mcpTypes.ts"

export interface RequestOptions {
  /** Aborts the request with the signal's reason and cancels a running tool. */
  signal?: AbortSignal | undefined
  /** Timeout in milliseconds; the session's timeout by default. */
  timeout?: number | undefined
}

export interface CallOptions extends RequestOptions {
  onprogress?: ((progress: McpProgress) => void) | undefined
}

export interface ListParams {
  cursor?: string | undefined
}

export interface CallParams {
  name: string
  arguments?: Record<string, unknown> | undefined
}

/**
 * An MCP client in the shape that agent frameworks accept: promises, abort signals, and MCP objects as the peer sent
 * them. Requests reject with {@link McpClientError} or with the reason of their signal.
 */
export interface McpClientLike {
  /** Lists one page. Invalid tools are omitted and logged. */
  listTools(params?: ListParams, options?: RequestOptions): Promise<{ tools: Array<McpTool>; nextCursor?: string }>
  allTools(options?: RequestOptions): Promise<Array<McpTool>>
  /** Calls a tool. The second argument, a result schema in MCP's client, is ignored. */
  callTool(params: CallParams, resultSchema?: unknown, options?: CallOptions): Promise<McpToolResult>
  /** Lists one page. Invalid resources are omitted and logged. */
  listResources(
    params?: ListParams,
    options?: RequestOptions
  ): Promise<{ resources: Array<McpResource>; nextCursor?: string }>
  readResource(params: { uri: string }, options?: RequestOptions): Promise<{ contents: Array<McpContents> }>
  ping(options?: RequestOptions): Promise<Record<string, never>>
  getServerCapabilities(): { tools?: Record<string, never>; resources?: { subscribe?: boolean } }
  getServerVersion(): { name: string; version: string }
  getInstructions(): string | undefined
  /** Aborts running requests and rejects new ones. The session stays open. */
  close(): Promise<void>
}

const decodeItems = <A>(
  type: string,
  decodeItem: (item: JsonObject) => A | undefined,
  isShown: (item: JsonObject) => boolean = () => true
) =>
  Effect.fnUntraced(function* (items: ReadonlyArray<JsonObject>) {
    const found: Array<A> = []
    for (const item of items.filter(isShown)) {
      const known = decodeItem(item)
      if (known !== undefined) found.push(known)
      else yield* Effect.logWarning("invalid item omitted from listing", { type, name: item["name"], uri: item["uri"] })
    }
    return found
  })

const decodeContents = decodeItems("contents", (item) => (isContents(item) ? item : undefined))

/** Models see neither the tools of apps nor the apps. */
const decodeTools = decodeItems("tool", decodeTool, ({ _meta }) => !isAppOnly(asObject(_meta)))
const decodeResources = decodeItems(
  "resource",
  (item) => (isResource(item) ? item : undefined),
  (item) => !isAppResource(item)
)

/** Adapts a progress listener. Its exceptions do not fail the call. */
const toProgressHandler = (onprogress: (progress: McpProgress) => void) => (progress: McpProgress) =>
  Effect.catchCause(
    Effect.sync(() => onprogress(progress)),
    (cause) => Effect.logWarning("progress listener failed", cause)
  )

const makeClient = (session: ModelSession, context: Context.Context<never>): McpClientLike => {
  const closing = new AbortController()

  const run = async <A>(
    request: Effect.Effect<A, McpSessionError | McpClientError>,
    { signal, timeout }: RequestOptions = {}
  ): Promise<A> => {
    const abortSignal = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal])
    if (abortSignal.aborted) throw abortReasonOf(abortSignal)
    const known = Effect.mapError(request, (error) =>
      error instanceof McpClientError ? error : McpClientError.fromFailure(error)
    )
    const late = `request timeout after ${timeout} ms`
    const orElse = () => Effect.fail(new McpClientError(late, jsonRpcCodes.requestTimeout))
    const limited = timeout === undefined ? known : Effect.timeoutOrElse(known, { duration: timeout, orElse })
    const exit = await Effect.runPromiseExitWith(context)(limited, { signal: abortSignal })
    if (Exit.isSuccess(exit)) return exit.value
    if (abortSignal.aborted) throw abortReasonOf(abortSignal)
    if (Cause.hasInterruptsOnly(exit.cause)) throw McpClientError.closed("the request was interrupted")
    throw Cause.squash(exit.cause)
  }

  const { capabilities, instructions, name, version } = session.info
  return {
    listTools: ({ cursor } = {}, options) =>
      run(
        Effect.flatMap(session.listTools(cursor), ({ items, nextCursor }) =>
          Effect.map(decodeTools(items), (tools) => definedOnly({ tools, nextCursor }))
        ),
        options
      ),
    allTools: (options) => run(Effect.flatMap(listAllPages(session.listTools), decodeTools), options),
    callTool: ({ name: tool, arguments: args = {} }, _resultSchema, { onprogress, ...options } = {}) => {
      const hooks = onprogress === undefined ? {} : { onProgress: toProgressHandler(onprogress) }
      const problem = `tool '${tool}' returned an invalid MCP result`
      const invalid = () => new McpClientError(problem, jsonRpcCodes.internalError)
      const called = Effect.map(session.callTool(tool, args, hooks), decodeToolResult)
      return run(Effect.filterOrFail(called, Predicate.isNotUndefined, invalid), options)
    },
    listResources: ({ cursor } = {}, options) =>
      run(
        Effect.flatMap(session.listResources(cursor), ({ items, nextCursor }) =>
          Effect.map(decodeResources(items), (resources) => definedOnly({ resources, nextCursor }))
        ),
        options
      ),
    readResource: ({ uri }, options) =>
      run(
        Effect.map(Effect.flatMap(session.readResource(uri), decodeContents), (contents) => ({ contents })),
        options
      ),
    ping: (options) => run(Effect.as(session.ping, {}), options),
    getServerCapabilities: () => ({
      ...(capabilities.tools && { tools: {} }),
      ...(capabilities.resources && { resources: { ...(capabilities.subscribe && { subscribe: true }) } })
    }),
    getServerVersion: () => ({ name, version }),
    getInstructions: () => instructions,
    close: async () => closing.abort(McpClientError.closed("this MCP client is closed"))
  }
}

/** Makes an MCP client from a session, for programs without Effect. It works until the session closes. */
export const makeMcpClient = (session: ModelSession): Effect.Effect<McpClientLike> =>
  Effect.map(Effect.context<never>(), (context) => makeClient(session, context))

/** Adds a signal to all requests of a client, for frameworks that call tools without one. */
export const withSignal = (client: McpClientLike, signal: AbortSignal): McpClientLike => {
  const combineSignals = <O extends RequestOptions>(options: O | undefined) => ({
    ...options,
    signal: options?.signal === undefined ? signal : AbortSignal.any([signal, options.signal])
  })
  return {
    ...client,
    listTools: (params, options) => client.listTools(params, combineSignals(options)),
    allTools: (options) => client.allTools(combineSignals(options)),
    callTool: (params, resultSchema, options) => client.callTool(params, resultSchema, combineSignals(options)),
    listResources: (params, options) => client.listResources(params, combineSignals(options)),
    readResource: (params, options) => client.readResource(params, combineSignals(options)),
    ping: (options) => client.ping(combineSignals(options))
  }
}
