import type { ClientRequest, IncomingMessage } from "node:http"
import { pipeline, type Readable } from "node:stream"
import { createBrotliDecompress, createUnzip } from "node:zlib"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Duration, Effect, type Scope } from "effect"
import { asObject, parseJsonOrThrow } from "../../../../domain/json.ts"
import {
  bodilessStatuses,
  isResponseStatus,
  makeHttpClient,
  requestFailure,
  toResponse
} from "../../../http/nodeHttp.ts"
import { decodeMessages } from "../../jsonRpcMessages.ts"
import { firstError, missingResponse, syntheticErrorEvent } from "./connectionFailures.ts"
import { type BodyOptions, makeBodyRepair, readBody } from "./HttpBody.ts"
import { systemErrorCode } from "../../../../domain/errorMessage.ts"

/** How to make requests, and what the SDK does not expose of them. */
export interface HttpFetchOptions {
  /** Timeout until response headers, except for calls and the GET of a session; 0 disables it. */
  readonly timeout: Duration.Duration
  /** Idle timeout of a response body; 0 disables it. */
  readonly sseReadTimeout: Duration.Duration
  /** Whether the SDK resumes streams with event ids. Otherwise their pending requests fail. */
  readonly resumable: boolean
  /** Runs after the headers of a response to a GET. */
  readonly onStreamResponse?: (status: number, isResumed: boolean) => void
  /** Runs when a request got no response; `refused` says that the server, or its proxy, refused the connection. */
  readonly onFailure?: (method: string, refused: string | undefined) => void
  /** Runs when an event stream ended and the client did not end it. */
  readonly onStreamEnd?: (reason: string) => void
  /** Whether a request of this method that has no response in its HTTP exchange may get one elsewhere. */
  readonly mayAnswerLater?: (method: unknown, status: number) => boolean
}

/** The SDK's option for configured headers. */
export const requestInit = (headers: { readonly [name: string]: string } | null) =>
  headers === null ? {} : { requestInit: { headers: { ...headers } } }

type PostedMessage = ReturnType<typeof parsePostedMessage>

/** Limited to the longest delay of a timer; longer ones fire at once. */
const toTimerMillis = (duration: Duration.Duration): number => Math.min(Duration.toMillis(duration), 2 ** 31 - 1)

const eventStreamType = "text/event-stream"
const jsonType = "application/json"

/** The media type of a body with messages, without parameters: some servers write it in other cases, or twice. */
const messageTypeOf = (contentType = ""): typeof eventStreamType | typeof jsonType | undefined => {
  const type = (contentType.split(/[;,]/)[0] ?? "").trim().toLowerCase()
  if (type === eventStreamType) return eventStreamType
  return /^(application|text)\/([\w.-]+\+)?json$/.test(type) ? jsonType : undefined
}

/** The body of a response; some servers and proxies compress it though the request forbids that. */
const decompress = (incoming: IncomingMessage): Readable => {
  const encoding = (incoming.headers["content-encoding"] ?? "").trim().toLowerCase()
  if (!["gzip", "x-gzip", "deflate", "br"].includes(encoding)) return incoming
  return pipeline(incoming, encoding === "br" ? createBrotliDecompress() : createUnzip(), () => undefined)
}

/** True for a status about credentials: its headers tell how to authorize, which other requests also need. */
export const isCredentialStatus = (status: number): boolean => status === 401 || status === 403

/** Takes the result of a request from a response whose status is that of an error. */
const takeResult = async (response: Response, { id }: PostedMessage): Promise<Response> => {
  const { headers: given, status } = response
  if (status < 400 || isCredentialStatus(status) || id === undefined) return response
  const text = await response
    .clone()
    .text()
    .catch(() => "")
  const result = decodeMessages(text)?.messages.find((message) => "result" in message && message.id === id)
  if (result === undefined) return response
  const headers = new Headers(given)
  headers.set("content-type", jsonType)
  await response.body?.cancel()
  return new Response(JSON.stringify(result), { headers })
}

/** The id is undefined unless the message is a request. */
const parsePostedMessage = (body: string | undefined) => {
  const { id, method, params } = asObject(body === undefined ? undefined : parseJsonOrThrow(body))
  const cancelledId = method === "notifications/cancelled" ? asObject(params)["requestId"] : undefined
  const isRequest = method !== undefined && (typeof id === "string" || typeof id === "number")
  return { method, id: isRequest ? id : undefined, cancelledId }
}

/** Makes the response to a request, whose messages are repaired. */
const readResponse = (
  incoming: IncomingMessage,
  { id, method }: PostedMessage,
  signal: BodyOptions["signal"],
  { mayAnswerLater = () => false, onStreamEnd, resumable, sseReadTimeout }: HttpFetchOptions
): Response => {
  const { statusCode: status = 500 } = incoming
  const contentType = incoming.headers["content-type"]
  const declaredType = messageTypeOf(contentType)
  if (bodilessStatuses.has(status) || (status === 202 && declaredType === undefined)) {
    incoming.resume()
    return id === undefined || mayAnswerLater(method, status) ? toResponse(incoming, null) : missingResponse(id, status)
  }
  const requestId = mayAnswerLater(method, 200) ? undefined : id
  const isAnswer = requestId !== undefined && status < 300
  // Servers without a framework name no type, or that of web pages.
  const mediaType = declaredType ?? (isAnswer ? jsonType : undefined)
  const isEventStream = mediaType === eventStreamType
  const hasMessages = isEventStream || (status < 300 && mediaType === jsonType)
  const repair = hasMessages ? makeBodyRepair(isEventStream, requestId, contentType) : undefined
  const stream = readBody(decompress(incoming), {
    idleTimeout: toTimerMillis(sseReadTimeout),
    signal,
    repair,
    onEnd: (end) => {
      if (!isEventStream) return undefined
      onStreamEnd?.(end.reason)
      return id === undefined || (resumable && end.resumable) ? undefined : syntheticErrorEvent(id, end)
    }
  })
  // The SDK reads no body of the status 202.
  if (isAnswer && status === 202) incoming.statusCode = 200
  const response = toResponse(incoming, stream)
  // The SDKs differ in the spellings that they know.
  if (mediaType !== undefined) response.headers.set("content-type", mediaType)
  return response
}

/**
 * Makes a fetch whose connections close with the scope. It uses `node:http` because Node's fetch has a fixed timeout
 * of 300 seconds, and tools may run longer. The SDKs follow redirects themselves. Every event stream that answers a
 * JSON-RPC request contains a response: a missing one is replaced by a synthetic error.
 */
export const makeHttpFetch = Effect.fnUntraced(function* (
  options: HttpFetchOptions
): Effect.fn.Return<FetchLike, never, Scope.Scope> {
  const { sseReadTimeout, timeout } = options
  const startRequest = yield* makeHttpClient
  const idleTimeout = toTimerMillis(sseReadTimeout)
  const inFlight = new Map<unknown, ClientRequest>()

  return (input, { body, headers: given, method = "GET", signal } = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(input)
      const headers = new Headers(given)
      const text = typeof body === "string" ? body : undefined
      const posted = parsePostedMessage(text)
      headers.set("accept-encoding", "identity")
      const request = startRequest(url, { method, headers: Object.fromEntries(headers) })
      // Without an error: the socket may be free again, and would throw it.
      const abort = () => request.destroy()
      if (signal?.aborted === true) abort()
      signal?.addEventListener("abort", abort)

      // A server may delay the headers of its notification stream until the first notification.
      const mayTakeLong = posted.method === "tools/call" || (method === "GET" && headers.has("mcp-session-id"))
      const headersTimeout = mayTakeLong ? idleTimeout : toTimerMillis(timeout)
      const timeoutError = new Error(`MCP server response timeout after ${headersTimeout / 1000} seconds`)
      const timer = headersTimeout === 0 ? undefined : setTimeout(() => request.destroy(timeoutError), headersTimeout)

      if (posted.id !== undefined) inFlight.set(posted.id, request)
      request.on("close", () => {
        clearTimeout(timer)
        signal?.removeEventListener("abort", abort)
        // Takes effect only without an earlier outcome: the server switched protocols without a request.
        reject(new Error("MCP server closed the connection without an HTTP response"))
        if (inFlight.get(posted.id) === request) inFlight.delete(posted.id)
        // The server no longer responds to a canceled request.
        if (posted.cancelledId !== undefined) inFlight.get(posted.cancelledId)?.destroy()
      })
      request.on("error", (error) => {
        clearTimeout(timer)
        const failure = requestFailure(url, error)
        const cause = firstError(failure)
        const refusal = failure === error ? "MCP server refused the connection" : failure.message
        options.onFailure?.(method, systemErrorCode(cause) === "ECONNREFUSED" ? refusal : undefined)
        reject(signal?.aborted === true ? signal.reason : cause)
      })
      request.on("response", (incoming) => {
        clearTimeout(timer)
        const status = incoming.statusCode ?? 500
        if (!isResponseStatus(status)) {
          request.destroy(new Error(`MCP server sent invalid HTTP status ${status}`))
          return
        }
        if (method === "GET") options.onStreamResponse?.(status, headers.has("last-event-id"))
        resolve(takeResult(readResponse(incoming, posted, signal, options), posted))
      })
      request.end(text)
    })
})
