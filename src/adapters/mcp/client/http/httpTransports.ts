import { setTimeout as sleep } from "node:timers/promises"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type RequestId
} from "@modelcontextprotocol/sdk/types.js"
import { Deferred, Effect, Exit, Queue, type Scope } from "effect"
import type { McpSessionError } from "../../../../application/ports/McpSession.ts"
import type { SseParameters, StreamableParameters } from "../../../../domain/config/endpointParameters.ts"
import type { WrapFetch } from "../../oauth/Authorizer.ts"
import { sessionError } from "../../sessionError.ts"
import { isConnectionLost } from "./connectionFailures.ts"
import { type HttpEvent, makeHttpFetch } from "./HttpFetch.ts"
import type { LegacySessionOptions } from "../openLegacySession.ts"

/** How long taking leave of an HTTP server may take. */
const terminateTimeout = "1 second"

/**
 * How often and how fast a stream that was cut is taken up again: for some 25 seconds, which a proxy or a network needs
 * to come back. After that the session is given up, and whoever supervises it begins a new one.
 */
const reconnectionDefaults = {
  initialReconnectionDelay: 1000,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: 5000,
  maxRetries: 7
}

/** Streams are asked for no more often than this, in milliseconds: a server may want no pause between them at all. */
const minStreamInterval = 100

/** What a session says of itself when its server gives it no stream to hear notifications on. */
const noNotificationStream = "server offers no notification stream; resources are polled"

/** Keeps the questions for streams apart, which the SDK asks as fast as the server says; others are asked at once. */
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

/** The headers of a configuration, for every request. */
const requestInit = (headers: { readonly [name: string]: string } | null) =>
  headers === null ? {} : { requestInit: { headers: { ...headers } } }

const connectionRefusedMessage = "MCP server refused the connection"

const sessionExpiredMessage = "MCP session expired (HTTP 404)"

/**
 * Lets the first answer to a request pass and no other: the SDK complains of answers it does not wait for, and every
 * stream that carries answers ends with one more. Tells when that one is all the answer there is.
 */
const dropDuplicateResponses = (inner: Transport, onConnectionLost: (reason: string) => void): Transport => {
  const pendingIds = new Set<RequestId>()
  const outer: Transport = {
    start: () => inner.start(),
    send: (message, options) => {
      if (isJSONRPCRequest(message)) pendingIds.add(message.id)
      if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
        const id = message.params?.["requestId"]
        if (typeof id === "string" || typeof id === "number") pendingIds.delete(id)
      }
      return inner.send(message, options)
    },
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version)
  }
  inner.onmessage = (message, extra) => {
    const isResponse = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)
    if (isResponse && message.id !== undefined && !pendingIds.delete(message.id)) return
    if (isJSONRPCErrorResponse(message) && isConnectionLost(message.error))
      onConnectionLost(message.error.message)
    outer.onmessage?.(message, extra)
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
 * A transport for a server that speaks Streamable HTTP. It says what the SDK's keeps to itself: that the server has
 * forgotten the session or is gone, that the stream of a call or of notifications was cut for good, that there is none
 * to hear notifications on. All but the last end the session.
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
    // Attempts that are already planned are the last.
    reconnectionOptions.maxRetries = 0
    Deferred.doneUnsafe(lost, closedExit(message))
  }
  /** What an answer to GET says of the stream of notifications, or of one that is taken up again. */
  const onStreamResponse = (status: number, isResumed: boolean): void => {
    const reopened = Deferred.isDoneUnsafe(streamOpened)
    if (status === 200) {
      if (reopened && !isResumed) Queue.offerUnsafe(missedNotifications, undefined)
      Deferred.doneUnsafe(streamOpened, Exit.void)
    } else if (!reopened && !isResumed)
      Deferred.doneUnsafe(notificationsUnavailable, Exit.succeed(noNotificationStream))
    else if (status === 404) markLost(sessionExpiredMessage)
    // Here the SDK gives up without a word; any other answer makes it try again.
    else if (status === 405) markLost("MCP server does not resume streams")
  }
  const onEvent = (event: HttpEvent): void => {
    const { hasSessionId, method, isResume } = event.sent
    if (event._tag === "RequestFailed") {
      if (event.connectionRefused) markLost(connectionRefusedMessage)
      else if (method === "GET" && !Deferred.isDoneUnsafe(streamOpened)) {
        Deferred.doneUnsafe(notificationsUnavailable, Exit.succeed(noNotificationStream))
      }
    }
    if (event._tag !== "ResponseReceived") return
    if (method === "GET") onStreamResponse(event.status, isResume)
    if (method === "POST" && event.status === 404 && hasSessionId) markLost(sessionExpiredMessage)
  }
  const fetch = throttleStreamRequests(
    wrap(yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: true, onEvent }))
  )
  const inner = new StreamableHTTPClientTransport(url, {
    ...requestInit(headers),
    reconnectionOptions,
    fetch
  })
  // The SDK's class and its own interface disagree under exactOptionalPropertyTypes.
  const transport = dropDuplicateResponses(inner as Transport, (reason) =>
    markLost(`call failed, connection lost: ${reason}`)
  )
  const onerror = inner.onerror
  inner.onerror = (error) => {
    if (error.message.startsWith("Maximum reconnection attempts")) {
      markLost("notification stream lost: reconnect attempts exhausted")
    }
    onerror?.(error)
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => void (reconnectionOptions.maxRetries = 0)))
  const beforeClose = terminateOnClose
    ? Effect.tryPromise(() => inner.terminateSession()).pipe(
        Effect.interruptible,
        Effect.timeoutOption(terminateTimeout),
        Effect.ignore
      )
    : Effect.void
  const notificationsReady = Effect.raceFirst(
    Deferred.await(streamOpened),
    Effect.asVoid(Deferred.await(notificationsUnavailable))
  )
  return {
    transport,
    lost,
    notificationsUnavailable,
    notificationsReady,
    notificationsMissed: Queue.take(missedNotifications),
    beforeClose
  }
})

/**
 * A transport for a server that speaks HTTP with SSE. The session lives as long as its stream of events: the SDK would
 * open another one by itself, but that is a session nobody has initialized.
 */
export const makeSseTransport = Effect.fnUntraced(function* (
  url: URL,
  { headers, sseReadTimeout, timeout }: SseParameters,
  wrap: WrapFetch
): Effect.fn.Return<LegacySessionOptions, never, Scope.Scope> {
  const lost = yield* Deferred.make<McpSessionError>()
  const onEvent = (event: HttpEvent): void => {
    if (event._tag === "StreamEnded") {
      Deferred.doneUnsafe(lost, closedExit(`MCP event stream closed: ${event.reason}`))
    }
    if (event._tag === "RequestFailed" && event.connectionRefused)
      Deferred.doneUnsafe(lost, closedExit(connectionRefusedMessage))
    if (event._tag === "ResponseReceived" && event.sent.method === "POST" && event.status === 404) {
      Deferred.doneUnsafe(lost, closedExit(sessionExpiredMessage))
    }
  }
  const fetch = wrap(yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: false, onEvent }))
  const transport = new SSEClientTransport(url, { ...requestInit(headers), fetch })
  return { transport: transport as Transport, lost }
})
