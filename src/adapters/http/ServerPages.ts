import type { IncomingMessage, ServerResponse } from "node:http"
import { Duration, Effect, FiberSet, Result, type Scope } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { allowAll, type Authenticator, resolveIdentity } from "../../application/ports/Authenticator.ts"
import type { Handshake } from "../../application/ports/Transport.ts"
import type { Observability } from "../../application/server/observability/Observability.ts"
import { ServerMetrics } from "../../application/server/observability/ServerMetrics.ts"
import { parseVersion, PROTOCOL_VERSION } from "../../domain/wire/version.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { isRebindingSafe, requestedHostname } from "./hostAccess.ts"

/** What decides who sees the pages of a Server. */
export interface ServerPagesOptions {
  readonly observability: Observability["Service"]
  /** Asked for whoever wants to see numbers; {@link allowAll} asks nobody. */
  readonly authenticator?: Authenticator
  /** Does the Server listen on this machine only? Then a page may not reach it by a name of its own. */
  readonly isLoopbackOnly?: boolean
}

/** Answers a request if it is for one of the pages; says whether it did, or will. */
export type PageHandler = (request: IncomingMessage, response: ServerResponse) => boolean

interface Page {
  readonly status: number
  readonly type?: string
  readonly text: string
  readonly headers?: { readonly [name: string]: string }
}

/** How many offices `/status?offices=1` lists. */
const maxListedOffices = 10_000

/** How long the authenticator may take: it may have to fetch keys. */
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
  // Their reasons may name machines, and everybody may read this.
  const failing = [...components()].flatMap(([component, error]) => (error === undefined ? [] : [component]))
  return textPage(200, failing.length === 0 ? "ready" : `ready, but not working: ${failing.join(", ")}`)
}

/** What an authenticator is told of somebody who asks for a page: what connections say of themselves in headers. */
const handshakeFromRequest = ({ headers, socket }: IncomingMessage): Handshake => ({
  version: Result.getOrThrow(parseVersion(PROTOCOL_VERSION)),
  auth: {},
  headers,
  remoteAddress: socket.remoteAddress ?? "unknown"
})

/** Makes the pages of a Server: `/healthz`, `/readyz`, `/metrics`, `/status`. What is being answered ends with the scope. */
export const makeServerPages = Effect.fnUntraced(function* ({
  authenticator = allowAll,
  isLoopbackOnly = false,
  observability
}: ServerPagesOptions): Effect.fn.Return<PageHandler, never, Scope.Scope> {
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

  /** Why somebody may not see numbers, or `undefined`. */
  const checkOperator = Effect.fnUntraced(function* (request: IncomingMessage) {
    const handshake = handshakeFromRequest(request)
    const identity = yield* Effect.result(resolveIdentity(authenticator, handshake))
    const isOperator = Result.isSuccess(identity) && identity.success.grants.rights.includes("operator")
    if (isOperator) return undefined
    const code = Result.isFailure(identity) ? identity.failure.code : errorCodes.forbidden
    connectionRejected(code)
    yield* Effect.logWarning("page refused", {
      page: request.url?.replace(/\?.*/s, ""),
      remote: handshake.remoteAddress,
      ...(Result.isSuccess(identity)
        ? { subject: identity.success.subject, reason: "no operator" }
        : { code, reason: identity.failure.message })
    })
    if (code === errorCodes.forbidden) return textPage(403, "this needs the right 'operator'")
    return code === errorCodes.internalError || code === errorCodes.unavailable
      ? textPage(503, "nobody can be identified right now")
      : textPage(401, "this needs a token of an operator", { "WWW-Authenticate": "Bearer" })
  })

  const operatorPage = (request: IncomingMessage, page: () => Page): Effect.Effect<Page> =>
    checkOperator(request).pipe(
      Effect.timeoutOrElse({
        duration: authenticationTimeout,
        orElse: () => Effect.succeed(textPage(503, "identifying you takes too long"))
      }),
      Effect.map((rejection) => rejection ?? page()),
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError("page failed", { page: request.url }, defect),
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
    } else if (!page.isOpen && authenticator !== allowAll) {
      run(
        Effect.map(
          operatorPage(request, () => page.make(url)),
          (found) => sendPage(request, response, found)
        )
      )
    } else if (!page.isOpen && isLoopbackOnly && !isRebindingSafe(requestedHostname(request.headers))) {
      sendPage(request, response, textPage(403, "this Server is not known by that host name"))
    } else sendPage(request, response, page.make(url))
    return true
  }
})
