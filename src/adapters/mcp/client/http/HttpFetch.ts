import {
  Agent,
  type AgentOptions,
  type ClientRequest,
  type IncomingMessage,
  request as plainRequest
} from "node:http"
import { Agent as SecureAgent, request as secureRequest } from "node:https"
import { Duration, Effect, type Scope } from "effect"
import { asObject } from "../../../../domain/json.ts"
import { errorCodeOf, firstError, syntheticErrorEvent } from "./connectionFailures.ts"
import { readBody } from "./HttpBody.ts"

/** A request that was sent. */
interface SentRequest {
  readonly method: string
  /** It named an MCP session. */
  readonly hasSessionId: boolean
  /** It asked for the rest of an earlier stream. */
  readonly isResume: boolean
}

/** What the transport learns on the way, whatever the SDK makes of it. */
export type HttpEvent =
  | { readonly _tag: "ResponseReceived"; readonly sent: SentRequest; readonly status: number }
  /** No answer came; `refused` when nobody listens at the address. */
  | { readonly _tag: "RequestFailed"; readonly sent: SentRequest; readonly connectionRefused: boolean }
  /** A stream of events ended, and it was not we who ended it. */
  | { readonly _tag: "StreamEnded"; readonly sent: SentRequest; readonly reason: string }

/** How HTTP is spoken with an MCP server. */
export interface HttpFetchOptions {
  /** How long the server may take until the headers of an answer, with the exceptions below. 0 means for ever. */
  readonly timeout: Duration.Duration
  /** How long a response may be silent; for calls and a session's GET, also until the headers. 0 means for ever. */
  readonly sseReadTimeout: Duration.Duration
  /** May a stream whose events carry ids be resumed? Otherwise what is unanswered at its end fails. */
  readonly resumable: boolean
  readonly onEvent?: (event: HttpEvent) => void
}

/** The part of fetch that the SDKs use. */
export type HttpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** The longest delay a timer takes, in milliseconds: longer ones fire at once. */
const maxTimerDelay = 2 ** 31 - 1

const toTimerMillis = (duration: Duration.Duration): number =>
  Math.min(Duration.toMillis(duration), maxTimerDelay)

const bodilessStatuses = new Set([204, 205, 304])

/** The numbers that a response may have; a peer can send any of three digits. */
const statusRange = { min: 200, max: 599 } as const

/** What of the JSON-RPC message in a POST matters here. */
interface PostedMessage {
  readonly method: unknown
  /** Undefined unless it is a request. */
  readonly id: unknown
  /** The request that it cancels. */
  readonly cancelledId: unknown
}

const parsePostedMessage = (body: string | undefined): PostedMessage => {
  const { id, method, params } = asObject(body === undefined ? undefined : JSON.parse(body))
  const cancelledId = method === "notifications/cancelled" ? asObject(params)["requestId"] : undefined
  return { method, id: method === undefined ? undefined : id, cancelledId }
}

/** What may stand behind a status: a peer can send other bytes, which a response does not take. */
const statusTextPattern = /^[\t\x20-\x7e\x80-\xff]*$/

const toResponse = (incoming: IncomingMessage, body: ReadableStream | null): Response => {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  const { statusCode: status = 500, statusMessage: statusText = "" } = incoming
  return new Response(body, {
    status,
    statusText: statusTextPattern.test(statusText) ? statusText : "",
    headers
  })
}

/**
 * Makes a fetch whose connections end with the scope. Built on `node:http`: Node's own fetch gives up after 300
 * seconds without headers or bytes, which only a package of its own could change, and a tool may work for longer.
 * Redirects are not followed; the SDKs do that. Every response to a JSON-RPC request has an answer in it: where the
 * server's never came, one that says why.
 */
export const makeHttpFetch = Effect.fnUntraced(function* ({
  resumable,
  sseReadTimeout,
  onEvent = () => undefined,
  timeout
}: HttpFetchOptions): Effect.fn.Return<HttpFetch, never, Scope.Scope> {
  // Proxies of the environment are used where fetch would use them.
  const useProxies = process.env["NODE_USE_ENV_PROXY"] === "1"
  const options: AgentOptions = { keepAlive: true, ...(useProxies && { proxyEnv: process.env }) }
  const agents = { plain: new Agent(options), secure: new SecureAgent(options) }
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      agents.plain.destroy()
      agents.secure.destroy()
    })
  )
  const idleTimeout = toTimerMillis(sseReadTimeout)
  /** Requests whose answer has not come to its end. */
  const inFlight = new Map<unknown, ClientRequest>()

  return (input, { body, headers: given, method = "GET", signal } = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(input)
      const headers = new Headers(given)
      const text = typeof body === "string" ? body : undefined
      const posted = parsePostedMessage(text)
      const sent: SentRequest = {
        method,
        hasSessionId: headers.has("mcp-session-id"),
        isResume: headers.has("last-event-id")
      }
      const secure = url.protocol === "https:"
      headers.set("accept-encoding", "identity")
      const request = (secure ? secureRequest : plainRequest)(url, {
        method,
        headers: Object.fromEntries(headers),
        agent: secure ? agents.secure : agents.plain,
        ...(signal && { signal })
      })

      // A server may keep the headers of its stream of notifications until it has something to tell.
      const mayTakeLong = posted.method === "tools/call" || (method === "GET" && sent.hasSessionId)
      const headersTimeout = mayTakeLong ? idleTimeout : toTimerMillis(timeout)
      const timeoutError = new Error(`MCP server response timeout after ${headersTimeout / 1000} seconds`)
      const timer =
        headersTimeout === 0 ? undefined : setTimeout(() => request.destroy(timeoutError), headersTimeout)

      if (posted.id !== undefined) inFlight.set(posted.id, request)
      request.on("close", () => {
        clearTimeout(timer)
        // Only where nothing else was said: when the server has switched to another protocol, unasked.
        reject(new Error("MCP server closed the connection without an HTTP response"))
        if (inFlight.get(posted.id) === request) inFlight.delete(posted.id)
        // The server knows that nobody waits for the answer any more: what it was to come on is of no use.
        if (posted.cancelledId !== undefined) inFlight.get(posted.cancelledId)?.destroy()
      })
      request.on("error", (error) => {
        clearTimeout(timer)
        onEvent({
          _tag: "RequestFailed",
          sent,
          connectionRefused: errorCodeOf(firstError(error)) === "ECONNREFUSED"
        })
        reject(firstError(error))
      })
      request.on("response", (incoming) => {
        clearTimeout(timer)
        const status = incoming.statusCode ?? 500
        if (status < statusRange.min || status > statusRange.max) {
          return request.destroy(new Error(`MCP server sent invalid HTTP status ${status}`))
        }
        onEvent({ _tag: "ResponseReceived", sent, status })
        if (bodilessStatuses.has(status)) {
          incoming.resume()
          return resolve(toResponse(incoming, null))
        }
        const isEventStream = incoming.headers["content-type"]?.includes("text/event-stream") === true
        const stream = readBody(incoming, {
          idleTimeout,
          signal,
          isEventStream,
          onEnd: (end) => {
            if (!isEventStream) return undefined
            onEvent({ _tag: "StreamEnded", sent, reason: end.reason })
            return posted.id === undefined || (resumable && end.resumable)
              ? undefined
              : syntheticErrorEvent(posted.id, end)
          }
        })
        resolve(toResponse(incoming, stream))
      })
      request.end(text)
    })
})
