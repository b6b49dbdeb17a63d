import { CLIENT_CAPABILITIES_META_KEY, Server, type ServerContext } from "@modelcontextprotocol/server"
import { Cause, Effect, Exit, FiberSet, Option, Scope, Semaphore } from "effect"
import type { McpChange, McpSession } from "../../../application/ports/McpSession.ts"
import { publishableSession } from "../../../application/shared/listings/publishableSession.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { readPropagation } from "../../../domain/traceContext.ts"
import { asObject, asString, type JsonObject } from "../../../domain/json.ts"
import { supportsApps } from "../../../domain/tools/appTools.ts"
import type { InputAnswer, InputRequest } from "../../../domain/model/InputRequest.ts"
import { decodeInputAnswer, encodeInputRequest, inputModesOf, makeInputRounds } from "./inputRounds.ts"
import { anyObject, encodeChange, noTimeout } from "../client/mcpMessages.ts"
import { type JsonRpcError, jsonRpcError } from "./jsonRpcErrors.ts"
import { repairMeta } from "../jsonRpcMessages.ts"
import { makeMcpTelemetry, type McpAttributes, measureSession } from "../mcpTelemetry.ts"
import { listLifetime, makeMethodHandler, type MethodRequest } from "./methodHandler.ts"
import { makeChangeFeed, makeResourceSubscriptions } from "./ChangeFeed.ts"
import { type Era, makePublishedTasks, tasksExtension } from "./publishedTasks.ts"
import type { SendProgress } from "./progressHeartbeat.ts"

/** Maximum number of in-flight requests of all clients together. */
const maxInFlightRequests = 1024

const toServerCapabilities = ({
  completions = false,
  prompts = false,
  resources,
  subscribe,
  tools
}: McpSession["info"]["capabilities"]) => ({
  ...(tools && { tools: { listChanged: true } }),
  ...(prompts && { prompts: { listChanged: true } }),
  ...(completions && { completions: {} }),
  ...(resources && { resources: { listChanged: true, ...(subscribe && { subscribe }) } })
})

/** Ignores failures: the client has disconnected or is about to, which ends its requests. */
const sendNotification = (notification: string, notify: () => Promise<void>): Effect.Effect<void> =>
  Effect.tryPromise(notify).pipe(
    Effect.catch(({ cause }) => Effect.logDebug("MCP notification failed", { notification, reason: String(cause) }))
  )

const makeSendProgress = ({ _meta, notify }: ServerContext["mcpReq"]): SendProgress | undefined => {
  const progressToken = _meta?.progressToken
  return progressToken === undefined
    ? undefined
    : (progress) =>
        sendNotification("progress", () =>
          notify({ method: "notifications/progress", params: { progressToken, ...progress } })
        )
}

/** Asks a client of the legacy era. A client that fails to answer has declined. */
const ask = ({ send }: ServerContext["mcpReq"], request: InputRequest): Effect.Effect<InputAnswer> => {
  const asked = { method: "elicitation/create", params: encodeInputRequest(request) }
  return Effect.tryPromise((signal) => send(asked, anyObject, { signal, timeout: noTimeout })).pipe(
    Effect.catch(({ cause }) => Effect.logDebug("MCP client did not answer", { reason: String(cause) })),
    Effect.map((answer) => decodeInputAnswer(answer) ?? { action: "decline" })
  )
}

const taskCapabilities = {
  legacy: { tasks: { cancel: {}, requests: { tools: { call: {} } } } },
  modern: { extensions: { [tasksExtension]: {} } }
}

const supportsTasks = (clientCapabilities: unknown): boolean =>
  asObject(asObject(clientCapabilities)["extensions"])[tasksExtension] !== undefined

/** What a host sends for tracing. SEP-414 prefers `_meta`. A `tracestate` belongs to its `traceparent`. */
const propagationOf = ({ _meta }: JsonObject, headers: Headers | undefined) => {
  const given = asObject(_meta)
  return readPropagation((name) =>
    (name === "baggage" ? given[name] : given["traceparent"]) === undefined ? headers?.get(name) : given[name]
  )
}

/** A request as it is handled, with what its client announces and how it answers questions. */
const toMethodRequest = (
  { mcpReq }: ServerContext,
  { era, ...request }: Pick<MethodRequest, "method" | "params" | "subscriptions"> & { readonly era: Era },
  clientCapabilities: unknown
): MethodRequest => {
  const modes = inputModesOf(clientCapabilities)
  const sendProgress = makeSendProgress(mcpReq)
  const isLegacy = era === "legacy"
  const requestState = isLegacy ? undefined : asString(mcpReq.requestState())
  return {
    ...request,
    sendProgress,
    input: isLegacy
      ? { modes, answer: (question) => ask(mcpReq, question) }
      : { modes, requestState, responses: mcpReq.inputResponses ?? {}, sendProgress },
    supportsTasks: !isLegacy && supportsTasks(clientCapabilities),
    showsApps: supportsApps(clientCapabilities)
  }
}

/** Uses only the fallback handler of the SDK server: others strip unknown members of results. */
export const makePublishedSession = Effect.fnUntraced(function* (session: McpSession, network: McpAttributes) {
  const { capabilities, name, version } = session.info
  const parent = yield* Effect.scope
  const changes = yield* makeChangeFeed(session)
  const requests = yield* FiberSet.make<JsonObject, JsonRpcError>()
  const runRequest = yield* FiberSet.runtimePromise(requests)<never>()
  const backgroundFibers = yield* FiberSet.make()
  const run = yield* FiberSet.runtimePromise(backgroundFibers)<never>()
  const fork = yield* FiberSet.runtime(backgroundFibers)<never>()
  const tasks = session.tasks === undefined ? undefined : yield* makePublishedTasks(session.tasks)
  const methods = makeMethodHandler(publishableSession(session), yield* makeInputRounds, tasks)
  const observe = makeMcpTelemetry("server", network)
  const permits = yield* Semaphore.make(maxInFlightRequests)
  const tooManyRequests = jsonRpcError("internalError", "Too many requests in flight; try again later")

  const handleWithinLimit = (request: MethodRequest): Effect.Effect<JsonObject, JsonRpcError> =>
    methods.handle(request).pipe(
      permits.withPermitsIfAvailable(1),
      Effect.flatMap(Option.match({ onNone: () => tooManyRequests, onSome: Effect.succeed })),
      // Logs a defect and hides its details from the client.
      Effect.catchCauseIf(Cause.hasDies, (cause) =>
        Effect.andThen(
          Effect.logError("MCP request failed with a defect", { method: request.method }, cause),
          jsonRpcError("internalError", "Internal error")
        )
      )
    )

  const makeServer = (era: Era, subscriptions: MethodRequest["subscriptions"], method?: string | null): Server => {
    const server = new Server(
      { name, version },
      definedOnly({
        capabilities: { ...toServerCapabilities(capabilities), ...(tasks !== undefined && taskCapabilities[era]) },
        instructions: session.info.instructions,
        cacheHints: { "server/discover": { ttlMs: listLifetime } }
      })
    )
    const handle = async (
      { method, params = {} }: { readonly method: string; readonly params?: JsonObject | undefined },
      context: ServerContext
    ) => {
      const { http, mcpReq, sessionId } = context
      const clientCapabilities =
        era === "legacy" ? server.getClientCapabilities() : asObject(mcpReq.envelope)[CLIENT_CAPABILITIES_META_KEY]
      const request = toMethodRequest(context, { era, method, params, subscriptions }, clientCapabilities)
      // Over HTTP the response to a closed connection is lost, so its request is canceled.
      const connectionClosed = http?.req?.signal
      const signal = connectionClosed === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, connectionClosed])
      const details = { "jsonrpc.request.id": String(mcpReq.id), "mcp.session.id": sessionId }
      const host = propagationOf(params, http?.req?.headers)
      const operation = { method, params, version: server.getNegotiatedProtocolVersion(), details, host }
      const served = observe(operation, () => handleWithinLimit(request))
      return { ...repairMeta(await runRequest(served, { signal })) }
    }
    // Without a handler the SDK responds to an unknown method with HTTP 404, before it begins a stream.
    if (typeof method !== "string" || methods.knows(method)) server.fallbackRequestHandler = handle
    // The modern era took these methods out of the core: the SDK passes them on to handlers with a schema only.
    if (era === "modern" && tasks !== undefined) {
      for (const method of ["tasks/get", "tasks/cancel"]) {
        server.setRequestHandler(method, { params: anyObject }, (params, context) =>
          handle({ method, params }, context)
        )
      }
    }
    return server
  }

  const openClientServer = Effect.fnUntraced(function* (era: Era, scope: Scope.Closeable) {
    const subscriptions = yield* makeResourceSubscriptions(changes)
    const server = makeServer(era, era === "legacy" ? subscriptions : undefined)
    // The SDK filters notifications for modern clients. Legacy clients subscribe to resources only.
    let isListening = era === "modern"
    server.oninitialized = () => void (isListening = true)
    const isWanted = (change: McpChange) =>
      isListening && (era === "modern" || change._tag !== "ResourceUpdated" || subscriptions.has(change.uri))
    yield* changes.subscribe((change) =>
      isWanted(change) ? sendNotification(change._tag, () => server.notification(encodeChange(change))) : Effect.void
    )
    yield* measureSession("server", network, () => server.getNegotiatedProtocolVersion())
    server.onclose = () => void fork(Scope.close(scope, Exit.void))
    return server
  })

  return {
    changes,
    /** Runs an effect of a client and rejects with its failure. Closing the scope interrupts it. */
    run,
    /** Runs an effect in the background until the scope closes. */
    fork: (effect: Effect.Effect<unknown>) => void fork(effect),
    awaitIdle: FiberSet.awaitEmpty(requests),
    /** Makes an SDK server for one request of MCP 2026-07-28; `method` is that of its headers. */
    makeRequestServer: (method?: string | null) => makeServer("modern", undefined, method),
    /** Makes an SDK server for one client, including notifications. */
    makeClientServer: (era: Era) =>
      Effect.flatMap(Scope.fork(parent), (scope) => Scope.provide(openClientServer(era, scope), scope))
  }
})

export type PublishedSession = Effect.Success<ReturnType<typeof makePublishedSession>>
