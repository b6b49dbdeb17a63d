import { parseCursor } from "../../../application/shared/paging.ts"
import { Effect, FiberSet, Result } from "effect"
import {
  type InputResponder,
  type McpSession,
  type McpSessionError,
  sessionError
} from "../../../application/ports/McpSession.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { asObject, asString, checkJsonBody, isJsonObject, type JsonObject, toSafeJson } from "../../../domain/json.ts"
import { readPropagation } from "../../../domain/traceContext.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { parseInputRequest } from "../../../domain/model/InputRequest.ts"
import { callAsTask } from "./clientTasks.ts"
import type { RequestHandlers, SendRequest } from "./mcpMessages.ts"
import { askResponder } from "../../../application/shared/questions/askUntilValid.ts"
import { makeMcpTelemetry, type McpConnection } from "../mcpTelemetry.ts"

/** How often a call is repeated after the pages that its MCP server wants to be opened first. */
const maxUrlRounds = 3

/** Lets the user open the pages that an MCP server (2025-11-25) wants before it runs a call. True when all were opened. */
const openPages = (data: JsonObject | undefined, responder: InputResponder) =>
  Effect.gen(function* () {
    const { elicitations } = data ?? {}
    const pages = Array.isArray(elicitations) ? elicitations.map((page) => parseInputRequest(asObject(page))) : []
    for (const page of pages) {
      if (Result.isFailure(page)) return false
      if ((yield* askResponder(responder, page.success)).action !== "accept") return false
    }
    return pages.length > 0
  })

/** The items of a listing; `undefined` for another value. PHP writes a list with gaps, or with names, as an object. */
const itemsOf = (listed: unknown): ReadonlyArray<unknown> | undefined => {
  if (Array.isArray(listed)) return listed
  const values = isJsonObject(listed) ? Object.values(listed) : undefined
  return values?.every(isJsonObject) ? values : undefined
}

type Connection = McpConnection & { readonly version: string | undefined }

/** Observes requests, and passes on what they carry for tracing. `sendOnce` replaces `send` for one of them. */
const observeRequests = (send: SendRequest, { network, sessionId, version }: Connection) => {
  const observe = makeMcpTelemetry("client", network)
  return (method: string, params: JsonObject, handlers?: RequestHandlers, sendOnce = send) =>
    observe({ method, params, version, details: { "mcp.session.id": sessionId?.() } }, (carried, onSent) => {
      const { _meta } = params
      if (_meta === undefined && Object.keys(carried).length === 0) return sendOnce(method, params, handlers)
      // SEP-414: MCP servers read the trace context here.
      const valid = readPropagation((name) => carried[name] ?? asObject(_meta)[name])
      const sent = { ...params, _meta: definedOnly({ ...asObject(_meta), ...valid }) }
      return sendOnce(method, sent, { ...handlers, onSent })
    })
}

/**
 * Makes the requests that are the same in every MCP revision. `asksForTasks` is true for 2025-11-25: later a server decides
 * itself which calls become tasks.
 */
export const makeSessionRequests = Effect.fnUntraced(function* (
  send: SendRequest,
  asksForTasks: boolean,
  connection: Connection
) {
  const run = yield* FiberSet.makeRuntime()
  const request = observeRequests(send, connection)
  const list = (name: "tools" | "resources") =>
    Effect.fnUntraced(function* (cursor?: string) {
      const { nextCursor, [name]: listed } = yield* request(`${name}/list`, cursor === undefined ? {} : { cursor })
      const given = itemsOf(listed)
      if (given === undefined) yield* Effect.logWarning("listing ignored: not a list", { list: name })
      // One excessively nested item would cost the whole listing.
      const items = (given ?? []).filter(isJsonObject).filter((item) => checkJsonBody({ [name]: [item] }) === undefined)
      const omitted = (given ?? []).length - items.length
      if (omitted > 0) yield* Effect.logWarning("items omitted from listing: not encodable", { list: name, omitted })
      return { items, nextCursor: parseCursor(nextCursor) }
    })
  /** Tools that are called as tasks only (2025-11-25), as last listed. */
  const taskTools = new Set<unknown>()
  const listTools = (cursor?: string) =>
    Effect.tap(list("tools")(cursor), ({ items }) =>
      Effect.sync(() => {
        for (const { execution, name } of items) {
          if (asObject(execution)["taskSupport"] === "required") taskTools.add(name)
          else taskTools.delete(name)
        }
      })
    )
  /** Sends a call, again after the pages that the server wants to be opened before: it has not run it yet. */
  const sendCall = (
    params: JsonObject,
    handlers: RequestHandlers = {},
    rounds = maxUrlRounds
  ): Effect.Effect<JsonObject, McpSessionError> => {
    const { responder } = handlers
    const sent =
      asksForTasks && taskTools.has(params["name"])
        ? callAsTask(send, params, handlers)
        : send("tools/call", params, handlers)
    if (responder === undefined || rounds === 0) return sent
    return Effect.catchIf(
      sent,
      ({ code }) => code === jsonRpcCodes.urlElicitationRequired,
      (failure) =>
        Effect.flatMap(openPages(failure.data, responder), (opened) =>
          opened ? sendCall(params, handlers, rounds - 1) : Effect.fail(failure)
        )
    )
  }
  const callTool: McpSession["callTool"] = (name, params, { responder, onProgress } = {}) =>
    request(
      "tools/call",
      { name, arguments: params },
      {
        responder,
        onProgress:
          onProgress &&
          (({ message, progress, total }) => {
            if (typeof progress !== "number") return
            const known = { total: typeof total === "number" ? total : undefined, message: asString(message) }
            run(onProgress({ progress, ...definedOnly(known) }))
          })
      },
      (_, sent, all) => sendCall(sent, all)
    )
  return {
    listTools,
    listResources: list("resources"),
    readResource: (uri: string) =>
      Effect.flatMap(request("resources/read", { uri }), ({ contents }) =>
        Array.isArray(contents) || isJsonObject(contents)
          ? Effect.succeed([contents].flat().map((item: unknown) => toSafeJson(asObject(item))))
          : Effect.fail(sessionError("protocol", "the response has no contents"))
      ),
    callTool,
    request: (method: string, params: JsonObject) => request(method, params)
  }
})
