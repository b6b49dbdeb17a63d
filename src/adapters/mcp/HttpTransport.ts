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
import { McpFailure } from "../../application/ports/McpSession.ts"
import type { SseParameters, StreamableParameters } from "../../domain/protocol/v0_2/parameters.ts"
import { type HttpNews, isCut, makeHttpFetch } from "./HttpFetch.ts"
import type { WrapFetch } from "./Authorizer.ts"
import type { SessionOptions } from "./SdkSession.ts"

/** How long taking leave of an HTTP server may take. */
const farewellTimeout = "1 second"

/**
 * How often and how fast a stream that was cut is taken up again: for some 25 seconds, which a proxy or a network needs
 * to come back. After that the session is given up, and whoever supervises it begins a new one.
 */
const reconnection = {
  initialReconnectionDelay: 1000,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: 5000,
  maxRetries: 7
}

/** Streams are asked for no more often than this, in milliseconds: a server may want no pause between them at all. */
const leastPause = 100

/** What a session says of itself when its server gives it no stream to hear notifications on. */
const deaf = "the server offers no stream of notifications; windows are polled"

/** Keeps the questions for streams apart, which the SDK asks as fast as the server says; others are asked at once. */
const paced = (fetch: FetchLike): FetchLike => {
  let next = 0
  return async (url, init) => {
    if (init?.method === "GET") {
      const now = performance.now()
      const wait = next - now
      next = Math.max(next, now) + leastPause
      if (wait > 0) await sleep(wait, undefined, init.signal ? { signal: init.signal } : {})
    }
    return fetch(url, init)
  }
}

/** The headers of a configuration, for every request. */
const requestInit = (headers: { readonly [name: string]: string } | null) =>
  headers === null ? {} : { requestInit: { headers: { ...headers } } }

const gone = "the MCP server is gone: connection refused"

const forgotten = "the MCP server has forgotten this session"

/**
 * Lets the first answer to a request pass and no other: the SDK complains of answers it does not wait for, and every
 * stream that carries answers ends with one more. Tells when that one is all the answer there is.
 */
const answeringOnce = (inner: Transport, onCut: (reason: string) => void): Transport => {
  const open = new Set<RequestId>()
  const outer: Transport = {
    start: () => inner.start(),
    send: (message, options) => {
      if (isJSONRPCRequest(message)) open.add(message.id)
      if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
        const id = message.params?.["requestId"]
        if (typeof id === "string" || typeof id === "number") open.delete(id)
      }
      return inner.send(message, options)
    },
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version)
  }
  inner.onmessage = (message, extra) => {
    const answers = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)
    if (answers && message.id !== undefined && !open.delete(message.id)) return
    if (isJSONRPCErrorResponse(message) && isCut(message.error)) onCut(message.error.message)
    outer.onmessage?.(message, extra)
  }
  inner.onclose = () => {
    open.clear()
    outer.onclose?.()
  }
  inner.onerror = (error) => outer.onerror?.(error)
  return outer
}

const closed = (message: string) => Exit.succeed(new McpFailure({ kind: "closed", message }))

/**
 * A transport for a server that speaks Streamable HTTP. It says what the SDK's keeps to itself: that the server has
 * forgotten the session or is gone, that the stream of a call or of notifications was cut for good, that there is none
 * to hear notifications on. All but the last end the session.
 */
export const makeStreamable = Effect.fnUntraced(function* (
  url: URL,
  { headers, sseReadTimeout, terminateOnClose, timeout }: StreamableParameters,
  wrap: WrapFetch
): Effect.fn.Return<SessionOptions, never, Scope.Scope> {
  const lost = yield* Deferred.make<McpFailure>()
  const unheard = yield* Deferred.make<string>()
  const listening = yield* Deferred.make<void>()
  const missed = yield* Queue.sliding<void>(1)
  const reconnectionOptions = { ...reconnection }

  const lose = (message: string): void => {
    // Attempts that are already planned are the last.
    reconnectionOptions.maxRetries = 0
    Deferred.doneUnsafe(lost, closed(message))
  }
  /** What an answer to GET says of the stream of notifications, or of one that is taken up again. */
  const tellOfStream = (status: number, resumes: boolean): void => {
    const reopened = Deferred.isDoneUnsafe(listening)
    if (status === 200) {
      if (reopened && !resumes) Queue.offerUnsafe(missed, undefined)
      Deferred.doneUnsafe(listening, Exit.void)
    } else if (!reopened && !resumes) Deferred.doneUnsafe(unheard, Exit.succeed(deaf))
    else if (status === 404) lose(forgotten)
    // Here the SDK gives up without a word; any other answer makes it try again.
    else if (status === 405) lose("the MCP server does not resume its streams")
  }
  const tell = (news: HttpNews): void => {
    const { inSession, method, resumes } = news.sent
    if (news._tag === "Unanswered") {
      if (news.refused) lose(gone)
      else if (method === "GET" && !Deferred.isDoneUnsafe(listening)) {
        Deferred.doneUnsafe(unheard, Exit.succeed(deaf))
      }
    }
    if (news._tag !== "Answered") return
    if (method === "GET") tellOfStream(news.status, resumes)
    if (method === "POST" && news.status === 404 && inSession) lose(forgotten)
  }
  const fetch = paced(wrap(yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: true, tell })))
  const inner = new StreamableHTTPClientTransport(url, {
    ...requestInit(headers),
    reconnectionOptions,
    fetch
  })
  // The SDK's class and its own interface disagree under exactOptionalPropertyTypes.
  const transport = answeringOnce(inner as Transport, (reason) => lose(`a call was cut: ${reason}`))
  const onerror = inner.onerror
  inner.onerror = (error) => {
    if (error.message.startsWith("Maximum reconnection attempts")) {
      lose("the stream from the MCP server was cut and could not be taken up again")
    }
    onerror?.(error)
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => void (reconnectionOptions.maxRetries = 0)))
  const farewell = terminateOnClose
    ? Effect.tryPromise(() => inner.terminateSession()).pipe(
        Effect.interruptible,
        Effect.timeoutOption(farewellTimeout),
        Effect.ignore
      )
    : Effect.void
  const hearing = Effect.raceFirst(Deferred.await(listening), Effect.asVoid(Deferred.await(unheard)))
  return { transport, lost, unheard, hearing, missed: Queue.take(missed), farewell }
})

/**
 * A transport for a server that speaks HTTP with SSE. The session lives as long as its stream of events: the SDK would
 * open another one by itself, but that is a session nobody has initialized.
 */
export const makeSse = Effect.fnUntraced(function* (
  url: URL,
  { headers, sseReadTimeout, timeout }: SseParameters,
  wrap: WrapFetch
): Effect.fn.Return<SessionOptions, never, Scope.Scope> {
  const lost = yield* Deferred.make<McpFailure>()
  const tell = (news: HttpNews): void => {
    if (news._tag === "StreamEnded") {
      Deferred.doneUnsafe(lost, closed(`the MCP server's stream of events has ended: ${news.reason}`))
    }
    if (news._tag === "Unanswered" && news.refused) Deferred.doneUnsafe(lost, closed(gone))
    if (news._tag === "Answered" && news.sent.method === "POST" && news.status === 404) {
      Deferred.doneUnsafe(lost, closed(forgotten))
    }
  }
  const fetch = wrap(yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: false, tell }))
  const transport = new SSEClientTransport(url, { ...requestInit(headers), fetch })
  return { transport: transport as Transport, lost }
})
