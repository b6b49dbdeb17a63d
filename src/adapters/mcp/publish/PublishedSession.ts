import { Server, type ServerContext } from "@modelcontextprotocol/server"
import { Cause, Effect, Exit, FiberSet, Scope } from "effect"
import type { McpChange, McpSessionError, McpSession } from "../../../application/ports/McpSession.ts"
import { definedOnly } from "../../../domain/definedOnly.ts"
import type { JsonObject } from "../../../domain/json.ts"
import {
  internalError,
  type JsonRpcError,
  makeMethodHandler,
  type McpRequest,
  type ResourceSubscriptions
} from "./methodHandler.ts"
import { type ChangeFeed, makeChangeFeed } from "./ChangeFeed.ts"
import type { SendProgress } from "./progressHeartbeat.ts"
import { makeResourceSubscriptions } from "./resourceSubscriptions.ts"

/** Maximum number of in-flight requests of all clients together. */
const maxInFlightRequests = 1024

const tooManyRequests = internalError("Too many requests in flight; try again later")

export interface PublishedSession {
  readonly changes: ChangeFeed
  /** Runs an effect of a client and rejects with its failure. Closing the scope interrupts it. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  /** Runs an effect in the background until the scope closes. */
  readonly fork: <A>(effect: Effect.Effect<A>) => void
  readonly awaitIdle: Effect.Effect<void>
  /** Makes an SDK server for one request of MCP 2026-07-28. */
  readonly makeRequestServer: () => Server
  /** Makes an SDK server for one client, including notifications. */
  readonly makeClientServer: (era: "legacy" | "modern") => Effect.Effect<Server>
}

const toNotification = (change: McpChange) => {
  switch (change._tag) {
    case "ToolsChanged":
      return { method: "notifications/tools/list_changed" }
    case "ResourcesChanged":
      return { method: "notifications/resources/list_changed" }
    case "ResourceUpdated":
      return { method: "notifications/resources/updated", params: { uri: change.uri } }
  }
}

const toServerCapabilities = ({ resources, subscribe, tools }: McpSession["info"]["capabilities"]) => ({
  ...(tools && { tools: { listChanged: true } }),
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

/** Uses only the fallback handler of the SDK server: others strip unknown members of results. */
export const makePublishedSession = Effect.fnUntraced(function* (
  session: McpSession
): Effect.fn.Return<PublishedSession, McpSessionError, Scope.Scope> {
  const { capabilities, instructions, name, version } = session.info
  const parent = yield* Effect.scope
  const changes = yield* makeChangeFeed(session)
  const requests = yield* FiberSet.make<JsonObject, JsonRpcError>()
  const runRequest = yield* FiberSet.runtimePromise(requests)<never>()
  const backgroundFibers = yield* FiberSet.make()
  const run = yield* FiberSet.runtimePromise(backgroundFibers)<never>()
  const runFork = yield* FiberSet.runtime(backgroundFibers)<never>()
  const fork: PublishedSession["fork"] = (effect) => void runFork(effect)
  const handleRequest = makeMethodHandler(session)

  let inFlight = 0
  const handleWithinLimit = (request: McpRequest): Effect.Effect<JsonObject, JsonRpcError> =>
    Effect.suspend(() => {
      if (inFlight >= maxInFlightRequests) return tooManyRequests
      inFlight++
      return Effect.ensuring(
        handleRequest(request),
        Effect.sync(() => inFlight--)
      )
    })
  /** Logs a defect and hides its details from the client. */
  const concealDefects = (request: McpRequest) =>
    Effect.catchCauseIf(handleWithinLimit(request), Cause.hasDies, (cause) =>
      Effect.andThen(
        Effect.logError("MCP request failed with a defect", { method: request.method }, cause),
        Effect.fail(internalError("Internal error"))
      )
    )

  const makeServer = (era: "legacy" | "modern", subscriptions: ResourceSubscriptions | undefined): Server => {
    const server = new Server(
      { name, version },
      definedOnly({ capabilities: toServerCapabilities(capabilities), instructions })
    )
    server.fallbackRequestHandler = async ({ method, params = {} }, { http, mcpReq }) => {
      const request: McpRequest = {
        method,
        params,
        sendProgress: makeSendProgress(mcpReq),
        subscriptions,
        requiresObjectContent: era === "legacy"
      }
      // Over HTTP the response to a closed connection is lost, so its request is canceled.
      const connectionClosed = http?.req?.signal
      const signal = connectionClosed === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, connectionClosed])
      return { ...(await runRequest(concealDefects(request), { signal })) }
    }
    return server
  }

  const makeClientServer = Effect.fnUntraced(function* (era: "legacy" | "modern") {
    const scope = yield* Scope.fork(parent)
    const subscriptions = yield* Scope.provide(makeResourceSubscriptions(changes), scope)
    const server = makeServer(era, era === "legacy" ? subscriptions : undefined)
    // The SDK filters notifications for modern clients. Legacy clients subscribe to resources only.
    let isListening = era === "modern"
    server.oninitialized = () => {
      isListening = true
    }
    const isWanted = (change: McpChange) =>
      isListening && (era === "modern" || change._tag !== "ResourceUpdated" || subscriptions.has(change.uri))
    yield* Scope.provide(
      changes.subscribe((change) =>
        isWanted(change)
          ? sendNotification(change._tag, () => server.notification(toNotification(change)))
          : Effect.void
      ),
      scope
    )
    server.onclose = () => fork(Scope.close(scope, Exit.void))
    return server
  })

  return {
    changes,
    run,
    fork,
    awaitIdle: FiberSet.awaitEmpty(requests),
    makeRequestServer: () => makeServer("modern", undefined),
    makeClientServer
  }
})
