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

/** How many requests may be under way at once, of all clients together: each costs the session behind it something. */
const maxInFlightRequests = 1024

const tooManyRequests = internalError("Too many requests in flight; try again later")

/** A session in the shape in which the SDK serves it. */
export interface PublishedSession {
  readonly changes: ChangeFeed
  /** Runs something of a client's, and rejects with what it fails with. All is interrupted when the scope closes. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  /** The same, for what nobody waits for. */
  readonly fork: <A>(effect: Effect.Effect<A>) => void
  /** Waits until no request is under way. */
  readonly awaitIdle: Effect.Effect<void>
  /** A server for one request of revision 2026-07-28. */
  readonly makeRequestServer: () => Server
  /** A server for one client, which is told changes; it ends when the SDK closes it, or with the scope. */
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

/** A client that cannot be told something is gone, or will be soon; then its requests end by themselves. */
const sendNotification = (notification: string, notify: () => Promise<void>): Effect.Effect<void> =>
  Effect.tryPromise(notify).pipe(
    Effect.catch(({ cause }) =>
      Effect.logDebug("MCP notification failed", { notification, reason: String(cause) })
    )
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

/**
 * Prepares a session for being served. The SDK's low-level server is used with nothing but its handler of last resort:
 * results of all others are checked against closed schemas, which would cost what a session gives its unknown members.
 */
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
  /** A bug of ours, or of a session, is told to the log and not to the client. */
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
      // Over HTTP nobody can fetch the answer to a request whose connection is gone: it is given up, too.
      const connectionClosed = http?.req?.signal
      const signal =
        connectionClosed === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, connectionClosed])
      return { ...(await runRequest(concealDefects(request), { signal })) }
    }
    return server
  }

  const makeClientServer = Effect.fnUntraced(function* (era: "legacy" | "modern") {
    const scope = yield* Scope.fork(parent)
    const subscriptions = yield* Scope.provide(makeResourceSubscriptions(changes), scope)
    const server = makeServer(era, era === "legacy" ? subscriptions : undefined)
    // Of the younger era the SDK picks what the client listens to; in the older one only contents are subscribed to.
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
