import type { IncomingMessage, ServerResponse } from "node:http"
import { Duration, Effect, FiberSet, Result, type Scope } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { type Authenticator, resolveIdentity } from "../../application/ports/Authenticator.ts"
import type { Handshake } from "../../application/ports/Transport.ts"
import type { Observability } from "../../application/server/observability/Observability.ts"
import { ServerMetrics } from "../../application/server/observability/ServerMetrics.ts"
import { parseVersion, PROTOCOL_VERSION } from "../../domain/wire/version.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { isRebindingSafe, requestedHostname } from "./hostAccess.ts"

export interface ServerPagesOptions {
  readonly observability: Observability["Service"]
  /** Authenticates operators, unless it requires no credentials. */
  readonly authenticator: Authenticator["Service"]
  /** True when the Server listens on loopback only. Then a foreign Host header is rejected, against DNS rebinding. */
  readonly isLoopbackOnly?: boolean
}

/** Responds to requests for the pages; false for other requests. */
export type PageHandler = (request: IncomingMessage, response: ServerResponse) => boolean

interface Page {
  readonly status: number
  readonly type?: string
  readonly text: string
  readonly headers?: { readonly [name: string]: string }
}

/** Limit of offices in `/status?offices=1`. */
const maxListedOffices = 10_000

/** Time limit of the authenticator, which may have to fetch keys. */
const authenticationTimeout = Duration.seconds(10)

const textPage = (status: number, text: string, headers?: Page["headers"]): Page => ({
  status,
  text: `${text}\n`,
  ...(headers !== undefined && { headers })
})

const sendPage = (request: IncomingMessage, response: ServerResponse, page: Page): void => {
  const { headers, status, text, type = "text/plain; charset=utf-8" } = page
  response.writeHead(status, {
    "Content-Type": type,
    "Content-Length": String(Buffer.byteLength(text)),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...headers
  })
  response.end(request.method === "HEAD" ? undefined : text)
}

const readyPage = ({ components, state }: Observability["Service"]["readiness"]): Page => {
  const now = state()
  if (now._tag === "Starting") return textPage(503, "starting")
  if (now._tag === "Draining") return textPage(503, `draining: ${now.reason}`)
  // Without the errors, which may name hosts: this page needs no authentication.
  const failing = [...components()].flatMap(([component, error]) => (error === undefined ? [] : [component]))
  return textPage(200, failing.length === 0 ? "ready" : `ready, unhealthy components: ${failing.join(", ")}`)
}

/** The handshake of a page request, for the authenticator. */
const handshakeFromRequest = ({ headers, socket }: IncomingMessage): Handshake => ({
  version: Result.getOrThrow(parseVersion(PROTOCOL_VERSION)),
  auth: {},
  headers,
  remoteAddress: socket.remoteAddress ?? "unknown"
})

/** Makes the pages `/healthz`, `/readyz`, `/metrics` and `/status`. Responses in progress end with the scope. */
export const makeServerPages = Effect.fnUntraced(function* ({
  authenticator,
  isLoopbackOnly = false,
  observability
}: ServerPagesOptions): Effect.fn.Return<PageHandler, never, Scope.Scope | ServerMetrics> {
  const context = yield* Effect.context<never>()
  const run = yield* FiberSet.makeRuntime<never>()
  const { connectionRejected } = yield* ServerMetrics

  const metricsPage = (): Page => ({
    status: 200,
    type: "text/plain; version=0.0.4; charset=utf-8",
    text: PrometheusMetrics.formatUnsafe(context)
  })

  const statusPage = (query: URLSearchParams): Page => {
    const wanted = query.get("offices") === "1"
    const body = {
      ...observability.report(),
      ...(wanted && { officeList: observability.offices(maxListedOffices) })
    }
    return { status: 200, type: "application/json", text: `${JSON.stringify(body)}\n` }
  }

  /** The rejection of a client that is not an operator, or `undefined`. */
  const checkOperator = Effect.fnUntraced(function* (request: IncomingMessage) {
    const handshake = handshakeFromRequest(request)
    const identity = yield* Effect.result(resolveIdentity(authenticator, handshake))
    const isOperator = Result.isSuccess(identity) && identity.success.grants.rights.includes("operator")
    if (isOperator) return undefined
    const code = Result.isFailure(identity) ? identity.failure.code : errorCodes.forbidden
    connectionRejected(code)
    yield* Effect.logWarning("page request rejected", {
      page: request.url?.replace(/\?.*/s, ""),
      remoteAddress: handshake.remoteAddress,
      ...(Result.isSuccess(identity)
        ? { subject: identity.success.subject, reason: "not an operator" }
        : { code, reason: identity.failure.message })
    })
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

  const pages = new Map<string, { readonly isOpen: boolean; readonly make: (url: URL) => Page }>([
    ["/healthz", { isOpen: true, make: () => textPage(200, "ok") }],
    ["/readyz", { isOpen: true, make: () => readyPage(observability.readiness) }],
    ["/metrics", { isOpen: false, make: metricsPage }],
    ["/status", { isOpen: false, make: ({ searchParams }) => statusPage(searchParams) }]
  ])

  return (request, response) => {
    const url = URL.parse(request.url ?? "/", "http://localhost")
    const page = url === null ? undefined : pages.get(url.pathname)
    if (url === null || page === undefined) return false
    if (request.method !== "GET" && request.method !== "HEAD") {
      sendPage(request, response, textPage(405, "only GET and HEAD", { Allow: "GET, HEAD" }))
    } else if (!page.isOpen && authenticator.requiresCredentials) {
      run(
        Effect.map(
          operatorPage(request, () => page.make(url)),
          (found) => sendPage(request, response, found)
        )
      )
    } else if (!page.isOpen && isLoopbackOnly && !isRebindingSafe(requestedHostname(request.headers))) {
      sendPage(request, response, textPage(403, "Host header must be an IP address or localhost"))
    } else sendPage(request, response, page.make(url))
    return true
  }
})
