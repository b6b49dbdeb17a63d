import { setTimeout as sleep } from "node:timers/promises"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import { Deferred, Effect, Exit, Queue, type Scope } from "effect"
import { type McpSessionError, sessionError } from "../../../../application/ports/McpSession.ts"
import type { SseParameters, StreamableParameters } from "../../../../domain/config/endpointParameters.ts"
import type { WrapFetch } from "../../oauth/Authorizer.ts"
import { httpNetwork } from "../../mcpTelemetry.ts"
import { decodeMessages, recordSent, withRequestId } from "../../jsonRpcMessages.ts"
import { isConnectionLost } from "./connectionFailures.ts"
import { isCredentialStatus, makeHttpFetch, requestInit } from "./HttpFetch.ts"
import { detectSessionRefusals, namesSession, type SessionRefusals } from "./sessionRefusals.ts"
import type { LegacySessionOptions } from "../openLegacySession.ts"
import { attemptBriefly } from "../mcpMessages.ts"

/** About 25 seconds in total, enough for a proxy restart. After that the session is lost. */
const reconnectionDefaults = {
  initialReconnectionDelay: 1000,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: 5000,
  maxRetries: 7
}

/** Minimum interval between stream requests in milliseconds: a server may request a retry delay of 0. */
const minStreamInterval = 100

const noNotificationStream = "server offers no notification stream; resources are polled"

/** Throttles GET requests: the SDK reconnects as fast as the server asks. Other requests pass. */
const throttleStreamRequests = (fetch: FetchLike): FetchLike => {
  let next = 0
  return async (url, init) => {
    if (init?.method === "GET") {
      const now = performance.now()
      const wait = next - now
      next = Math.max(next, now) + minStreamInterval
      if (wait > 0) await sleep(wait, undefined, init.signal ? { signal: init.signal } : {})
    }
    return fetch(url, init)
  }
}

/**
 * Takes every answer to a notification for its receipt. Some servers know no notifications, and the SDK opens its stream
 * only after the status 202.
 */
const acceptNotifications =
  (fetch: FetchLike): FetchLike =>
  async (url, init) => {
    const response = await fetch(url, init)
    const { status } = response
    const isNotification = typeof init?.body === "string" && init.body.startsWith('{"method":"notifications/')
    const isReceipt = response.ok || (status >= 400 && !isCredentialStatus(status))
    if (!isNotification || !isReceipt) return response
    await response.body?.cancel()
    return new Response(null, { status: 202, headers: response.headers })
  }

const noEndpointMessage = "the server named no endpoint for messages (HTTP with SSE)"

const sessionExpiredMessage = (status: number) => `MCP session expired (HTTP ${status})`

/**
 * Drops responses to unknown requests, which the SDK reports as errors: streams end with a synthetic one. Delivers other
 * responses one microtask later. The SDK handles notifications that late, so a response in the same chunk would overtake
 * the progress of its call. An error that blames the session waits for a check of it.
 */
const filterResponses = (inner: Transport, onConnectionLost: (reason: string) => void, { check }: SessionRefusals) => {
  const pendingIds = new Set<unknown>()
  const outer: Transport = {
    start: () => inner.start(),
    send: (message, options) => {
      recordSent(pendingIds, message)
      return inner.send(message, options)
    },
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version)
  }
  inner.onmessage = (received, extra) => {
    const message = withRequestId(received, pendingIds)
    if ("method" in message) return outer.onmessage?.(message, extra)
    if (message.id !== undefined && !pendingIds.delete(message.id)) return undefined
    if ("error" in message && isConnectionLost(message.error)) onConnectionLost(message.error.message)
    const deliver = () => {
      try {
        outer.onmessage?.(message, extra)
      } catch (error) {
        outer.onerror?.(new Error("the response cannot be handled", { cause: error }))
      }
    }
    const blamesSession = "error" in message && namesSession(message.error.message)
    return blamesSession ? void check().then(deliver) : queueMicrotask(deliver)
  }
  inner.onclose = () => {
    pendingIds.clear()
    outer.onclose?.()
  }
  inner.onerror = (error) => outer.onerror?.(error)
  return outer
}

const closedExit = (message: string) => Exit.succeed(sessionError("closed", message))

/**
 * Makes a transport that also reports what the SDK hides: an expired session, a refused connection, a stream that
 * cannot be resumed, and a missing notification stream. All but the last close the session.
 */
export const makeStreamableHttpTransport = Effect.fnUntraced(function* (
  url: URL,
  { headers, sseReadTimeout, terminateOnClose, timeout }: StreamableParameters,
  wrap: WrapFetch
): Effect.fn.Return<LegacySessionOptions, never, Scope.Scope> {
  const lost = yield* Deferred.make<McpSessionError>()
  const notificationsUnavailable = yield* Deferred.make<string>()
  const streamOpened = yield* Deferred.make<void>()
  const missedNotifications = yield* Queue.sliding<void>(1)
  const reconnectionOptions = { ...reconnectionDefaults }

  const markLost = (message: string): void => {
    // Reconnects that are already scheduled become the last ones.
    reconnectionOptions.maxRetries = 0
    Deferred.doneUnsafe(lost, closedExit(message))
  }
  const markUnavailable = () => Deferred.doneUnsafe(notificationsUnavailable, Exit.succeed(noNotificationStream))
  /** Handles the response to a GET for the notification stream or for a resumed stream. */
  const onStreamResponse = (status: number, isResumed: boolean): void => {
    const reopened = Deferred.isDoneUnsafe(streamOpened)
    if (status === 200) {
      if (reopened && !isResumed) Queue.offerUnsafe(missedNotifications, undefined)
      Deferred.doneUnsafe(streamOpened, Exit.void)
    } else if (!reopened && !isResumed) markUnavailable()
    else if (status === 404) markLost(sessionExpiredMessage(status))
    // The SDK gives up silently on 405 and retries on other statuses.
    else if (status === 405) markLost("MCP server does not resume streams")
    else if (status < 500) void refusals.check()
  }
  const onFailure = (method: string, refused: string | undefined): void => {
    if (refused !== undefined) markLost(refused)
    else if (method === "GET" && !Deferred.isDoneUnsafe(streamOpened)) markUnavailable()
  }
  /** Some servers answer on the notification stream. A ping without a response is answered by its status. */
  const mayAnswerLater = (method: unknown, status: number): boolean =>
    status === 202 && method !== "initialize" && method !== "ping" && !Deferred.isDoneUnsafe(notificationsUnavailable)
  const refusals = detectSessionRefusals(
    yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: true, onStreamResponse, onFailure, mayAnswerLater }),
    (sent) => sent.has("mcp-session-id"),
    (status) => markLost(sessionExpiredMessage(status))
  )
  const fetch = acceptNotifications(throttleStreamRequests(wrap(refusals.fetch)))
  const inner = new StreamableHTTPClientTransport(url, { ...requestInit(headers), reconnectionOptions, fetch })
  // The SDK's class does not match its interface under exactOptionalPropertyTypes.
  const transport = filterResponses(
    inner as Transport,
    (reason) => markLost(`call failed, connection lost: ${reason}`),
    refusals
  )
  transport.onerror = ({ message }) => {
    if (message.startsWith("Maximum reconnection attempts")) {
      markLost("notification stream lost: reconnect attempts exhausted")
    }
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => void (reconnectionOptions.maxRetries = 0)))
  const terminateSession = attemptBriefly(Effect.tryPromise(() => inner.terminateSession()))
  return {
    transport,
    network: httpNetwork(url),
    sessionId: () => inner.sessionId,
    lost,
    notificationsUnavailable,
    notificationsReady: Deferred.await(streamOpened),
    notificationsMissed: Queue.take(missedNotifications),
    beforeClose: terminateOnClose ? terminateSession : Effect.void
  }
})

/**
 * The session closes with its event stream, because the SDK would reconnect without initializing. `endpointTimeout` in
 * milliseconds bounds the wait for the endpoint of messages.
 */
export const makeSseTransport = Effect.fnUntraced(function* (
  url: URL,
  { headers, sseReadTimeout, timeout }: SseParameters,
  wrap: WrapFetch,
  endpointTimeout: number
): Effect.fn.Return<LegacySessionOptions, never, Scope.Scope> {
  const lost = yield* Deferred.make<McpSessionError>()
  let hasEndpoint = false
  const markLost = (message: string): void => void Deferred.doneUnsafe(lost, closedExit(message))
  const refusals = detectSessionRefusals(
    yield* makeHttpFetch({
      timeout,
      sseReadTimeout,
      resumable: false,
      onFailure: (_method, refused) => refused !== undefined && markLost(refused),
      onStreamEnd: (reason) =>
        markLost(hasEndpoint ? `MCP event stream closed: ${reason}` : `${noEndpointMessage}: ${reason}`),
      mayAnswerLater: () => true
    }),
    // The URL of the messages has it.
    () => true,
    (status) => markLost(sessionExpiredMessage(status))
  )
  /** Some servers answer in the body of the POST. */
  const readAnswer: FetchLike = async (target, init) => {
    const response = await acceptNotifications(wrap(refusals.fetch))(target, init)
    if (init?.method !== "POST" || response.headers.get("content-type") !== "application/json") return response
    const text = await response.clone().text()
    const messages = text.includes('"jsonrpc"') ? decodeMessages(text)?.messages : undefined
    for (const message of messages ?? []) inner.onmessage?.(message as JSONRPCMessage)
    return response
  }
  const inner = new SSEClientTransport(url, { ...requestInit(headers), fetch: readAnswer })
  const start = inner.start.bind(inner)
  inner.start = async () => {
    const late = sleep(endpointTimeout, undefined, { ref: false }).then(() => {
      throw new Error(`${noEndpointMessage} within ${endpointTimeout / 1000} seconds`)
    })
    await Promise.race([start(), late])
    hasEndpoint = true
  }
  return { transport: filterResponses(inner as Transport, markLost, refusals), network: httpNetwork(url), lost }
})
