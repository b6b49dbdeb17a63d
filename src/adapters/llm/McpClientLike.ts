import { Cause, type Context, Effect, Exit } from "effect"
import { listAllPages } from "../../application/shared/paging.ts"
import type { McpSessionError, McpPage, McpProgress, McpSession } from "../../application/ports/McpSession.ts"
import type { JsonObject } from "../../domain/json.ts"
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

/** What one request may be told. */
export interface RequestOptions {
  /** Gives the request up: it fails with the signal's reason, and a running tool is stopped where it runs. */
  signal?: AbortSignal | undefined
  /** Milliseconds until the request is given up; as long as its session allows unless given. */
  timeout?: number | undefined
}

/** What one call of a tool may be told. */
export interface CallOptions extends RequestOptions {
  /** Hears how far the tool is, if it says so. */
  onprogress?: ((progress: McpProgress) => void) | undefined
}

/** Where in a listing to go on. */
export interface ListParams {
  cursor?: string | undefined
}

/** Which tool to call, and with what. */
export interface CallParams {
  name: string
  arguments?: Record<string, unknown> | undefined
}

/**
 * An MCP client by its shape, as agent frameworks take one: promises, abort signals, and the objects of MCP as the
 * peer sent them. A request without a result rejects with a {@link McpClientError}, or with the reason of its signal.
 */
export interface McpClientLike {
  /** One page of the tools. What is listed but no tool is left out, with a line in the log. */
  listTools(
    params?: ListParams,
    options?: RequestOptions
  ): Promise<{ tools: Array<McpTool>; nextCursor?: string }>
  /** The tools of all pages. */
  allTools(options?: RequestOptions): Promise<Array<McpTool>>
  /** Calls a tool. The second argument is where MCP's own client takes a schema; results are not checked here. */
  callTool(params: CallParams, resultSchema?: unknown, options?: CallOptions): Promise<McpToolResult>
  /** One page of the resources. */
  listResources(
    params?: ListParams,
    options?: RequestOptions
  ): Promise<{ resources: Array<McpResource>; nextCursor?: string }>
  readResource(params: { uri: string }, options?: RequestOptions): Promise<{ contents: Array<McpContents> }>
  ping(options?: RequestOptions): Promise<Record<string, never>>
  getServerCapabilities(): { tools?: Record<string, never>; resources?: { subscribe?: boolean } }
  getServerVersion(): { name: string; version: string }
  getInstructions(): string | undefined
  /** Ends what runs and refuses what comes. The session stays with whoever opened it. */
  close(): Promise<void>
}

const nextCursorOf = ({ nextCursor }: McpPage) => (nextCursor === undefined ? {} : { nextCursor })

/** What can be read of what a peer gave; what cannot is no reason to lose the rest. */
const decodeItems = <A>(
  what: string,
  items: ReadonlyArray<JsonObject>,
  decodeItem: (item: JsonObject) => A | undefined
): Effect.Effect<Array<A>> =>
  Effect.gen(function* () {
    const found: Array<A> = []
    for (const item of items) {
      const known = decodeItem(item)
      if (known !== undefined) found.push(known)
      else yield* Effect.logWarning(`left out: no ${what} of MCP`, { name: item["name"], uri: item["uri"] })
    }
    return found
  })

const decodeContents = (items: ReadonlyArray<JsonObject>) =>
  decodeItems("contents", items, (item) => (isContents(item) ? item : undefined))

const decodeTools = (items: ReadonlyArray<JsonObject>) => decodeItems("tool", items, decodeTool)

const decodeResources = (items: ReadonlyArray<JsonObject>) =>
  decodeItems("resource", items, (item) => (isResource(item) ? item : undefined))

/** Progress for a listener outside of Effect, whose own mistakes are not the tool's. */
const toProgressHandler =
  (onprogress: (progress: McpProgress) => void) =>
  (progress: McpProgress): Effect.Effect<void> =>
    Effect.sync(() => onprogress(progress)).pipe(
      Effect.catchCause((cause) => Effect.logWarning("a listener of progress failed", cause))
    )

/** What a request without result is rejected with. */
const rejectionOf = (cause: Cause.Cause<McpClientError>): unknown =>
  Cause.hasInterruptsOnly(cause) ? McpClientError.closed("the request was interrupted") : Cause.squash(cause)

const makeClient = (session: McpSession, context: Context.Context<never>): McpClientLike => {
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
    const limited =
      timeout === undefined
        ? known
        : Effect.timeoutOrElse(known, {
            duration: timeout,
            orElse: () => Effect.fail(McpClientError.timedOut(timeout))
          })
    const exit = await Effect.runPromiseExitWith(context)(limited, { signal: abortSignal })
    if (Exit.isSuccess(exit)) return exit.value
    if (abortSignal.aborted) throw abortReasonOf(abortSignal)
    throw rejectionOf(exit.cause)
  }

  const { capabilities, instructions, name, version } = session.info
  return {
    listTools: ({ cursor } = {}, options) =>
      run(
        Effect.flatMap(session.listTools(cursor), (page) =>
          Effect.map(decodeTools(page.items), (tools) => ({ tools, ...nextCursorOf(page) }))
        ),
        options
      ),
    allTools: (options) => run(Effect.flatMap(listAllPages(session.listTools), decodeTools), options),
    callTool: (params, _resultSchema, { onprogress, ...options } = {}) =>
      run(
        Effect.flatMap(
          session.callTool(
            params.name,
            params.arguments ?? {},
            onprogress === undefined ? {} : { onProgress: toProgressHandler(onprogress) }
          ),
          (raw) => {
            const result = decodeToolResult(raw)
            return result === undefined
              ? Effect.fail(
                  McpClientError.invalidResponse(`what tool '${params.name}' answered is no MCP result`)
                )
              : Effect.succeed(result)
          }
        ),
        options
      ),
    listResources: ({ cursor } = {}, options) =>
      run(
        Effect.flatMap(session.listResources(cursor), (page) =>
          Effect.map(decodeResources(page.items), (resources) => ({ resources, ...nextCursorOf(page) }))
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
      ...(capabilities.resources && {
        resources: { ...(capabilities.subscribe && { subscribe: true }) }
      })
    }),
    getServerVersion: () => ({ name, version }),
    getInstructions: () => instructions,
    close: async () => closing.abort(McpClientError.closed("this MCP client is closed"))
  }
}

/**
 * A session as an MCP client for programs without Effect. Requests run in the context of this effect; the client works
 * as long as the session does.
 */
export const makeMcpClient = (session: McpSession): Effect.Effect<McpClientLike> =>
  Effect.map(Effect.context<never>(), (context) => makeClient(session, context))

/**
 * The same client, all of whose requests end with the signal: for frameworks that call tools without passing one on.
 */
export const withSignal = (client: McpClientLike, signal: AbortSignal): McpClientLike => {
  const combineSignals = <O extends RequestOptions>(options: O | undefined) => ({
    ...options,
    signal: options?.signal === undefined ? signal : AbortSignal.any([signal, options.signal])
  })
  return {
    ...client,
    listTools: (params, options) => client.listTools(params, combineSignals(options)),
    allTools: (options) => client.allTools(combineSignals(options)),
    callTool: (params, resultSchema, options) =>
      client.callTool(params, resultSchema, combineSignals(options)),
    listResources: (params, options) => client.listResources(params, combineSignals(options)),
    readResource: (params, options) => client.readResource(params, combineSignals(options)),
    ping: (options) => client.ping(combineSignals(options))
  }
}
