import type { IncomingMessage, ServerResponse } from "node:http"
import { Duration, Effect, FiberSet, Result } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { Authenticator, resolveIdentity } from "../../application/ports/Authenticator.ts"
import type { Handshake } from "../../application/ports/Transport.ts"
import { Observability } from "../../application/server/observability/Observability.ts"
import { MembershipObservers } from "../../application/server/observability/observers.ts"
import { defaultLine } from "../../domain/wire/lines.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { isOwnHost } from "./hostAccess.ts"

interface Page {
  readonly status: number
  readonly text: string
  readonly headers: { readonly [name: string]: string }
}

/** Limit of offices in `/status?offices=1`. */
const maxListedOffices = 10_000

/** Time limit of the authenticator, which may have to fetch keys. */
const authenticationTimeout = Duration.seconds(10)

const unknownAddress = "unknown"

const textPage = (status: number, text: string, headers = {}): Page => ({ status, text: `${text}\n`, headers })

const sendPage = (response: ServerResponse, { headers, status, text }: Page): void => {
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(text)),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...headers
  })
  // Node omits the body for HEAD.
  response.end(text)
}

const readyPage = ({ components, state }: Observability["Service"]["readiness"]): Page => {
  const now = state()
  if (now._tag === "Starting") return textPage(503, "starting")
  if (now._tag === "Draining") return textPage(503, `draining: ${now.reason}`)
  // Without the errors, which may name hosts: this page needs no authentication.
  const failing = [...components()].flatMap(([component, error]) => (error === undefined ? [] : [component]))
  return textPage(200, failing.length === 0 ? "ready" : `ready, unhealthy components: ${failing.join(", ")}`)
}

/**
 * Makes the handler of `/healthz`, `/readyz`, `/metrics` and `/status`, which returns false for other requests. The last
 * two pages require an operator, where the Server requires credentials. Elsewhere, a Server that listens on loopback only
 * rejects foreign Host headers, against DNS rebinding. Responses in progress end with the scope.
 */
export const makeServerPages = Effect.fnUntraced(function* (isLoopbackOnly: boolean) {
  const authenticator = yield* Authenticator
  const observability = yield* Observability
  const context = yield* Effect.context<never>()
  const run = yield* FiberSet.makeRuntime<never>()
  const observers = yield* MembershipObservers

  const observeRejection = ({ socket, url = "/" }: IncomingMessage, code: number, reason: string) => {
    const remoteAddress = socket.remoteAddress ?? unknownAddress
    const page = url.replace(/\?.*/s, "")
    for (const observe of observers) {
      observe({ _tag: "ConnectionRejected", remoteAddress, code, reason: `${page}: ${reason}` })
    }
    return { page, remoteAddress, code, reason }
  }

  const metricsPage = (): Page => ({
    status: 200,
    text: PrometheusMetrics.formatUnsafe(context),
    headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" }
  })

  const statusPage = (query: URLSearchParams): Page => {
    const isListed = query.get("offices") === "1"
    const body = { ...observability.report(), ...(isListed && { officeList: observability.offices(maxListedOffices) }) }
    return textPage(200, JSON.stringify(body), { "Content-Type": "application/json" })
  }

  /** The rejection of a client that is not an operator, or `undefined`. */
  const checkOperator = Effect.fnUntraced(function* (request: IncomingMessage) {
    const { headers, socket } = request
    const remoteAddress = socket.remoteAddress ?? unknownAddress
    const handshake: Handshake = { version: defaultLine.version, auth: {}, headers, remoteAddress }
    const identity = yield* Effect.result(resolveIdentity(authenticator, handshake))
    if (Result.isSuccess(identity) && identity.success.grants.rights.includes("operator")) return undefined
    const { code, message } = Result.match(identity, {
      onSuccess: ({ subject }) => ({ code: errorCodes.forbidden, message: `'${subject}' is not an operator` }),
      onFailure: (rejection) => rejection
    })
    yield* Effect.logWarning("page request rejected", observeRejection(request, code, message))
    if (code === errorCodes.forbidden) return textPage(403, "this page requires the right 'operator'")
    return code === errorCodes.internalError || code === errorCodes.unavailable
      ? textPage(503, "authentication is unavailable")
      : textPage(401, "this page requires an operator's token", { "WWW-Authenticate": "Bearer" })
  })

  const operatorPage = (request: IncomingMessage, page: () => Page): Effect.Effect<Page> =>
    checkOperator(request).pipe(
      Effect.timeoutOrElse({
        duration: authenticationTimeout,
        orElse: () => Effect.succeed(textPage(503, "authentication timed out"))
      }),
      Effect.map((rejection) => rejection ?? page()),
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError("page request failed", { page: request.url }, defect),
          textPage(500, "internal error")
        )
      )
    )

  const pages = new Map<string, { readonly isOpen: boolean; readonly make: (query: URLSearchParams) => Page }>([
    ["/healthz", { isOpen: true, make: () => textPage(200, "ok") }],
    ["/readyz", { isOpen: true, make: () => readyPage(observability.readiness) }],
    ["/metrics", { isOpen: false, make: metricsPage }],
    ["/status", { isOpen: false, make: statusPage }]
  ])

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = URL.parse(request.url ?? "/", "http://localhost")
    const found = url === null ? undefined : pages.get(url.pathname)
    if (url === null || found === undefined) return false
    const page = () => found.make(url.searchParams)
    if (request.method !== "GET" && request.method !== "HEAD") {
      sendPage(response, textPage(405, "only GET and HEAD", { Allow: "GET, HEAD" }))
    } else if (!found.isOpen && authenticator.requiresCredentials) {
      run(Effect.map(operatorPage(request, page), (made) => sendPage(response, made)))
    } else if (!found.isOpen && isLoopbackOnly && !isOwnHost(request.headers)) {
      observeRejection(request, errorCodes.forbidden, "foreign Host header")
      sendPage(response, textPage(403, "Host header must be an IP address or localhost"))
    } else sendPage(response, page())
    return true
  }
})
