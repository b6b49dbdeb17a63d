import type { IncomingMessage, ServerResponse } from "node:http"
import { Duration, Effect, FiberSet, Result, type Scope } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { anybody, type Authenticator, identify } from "../../application/ports/Authenticator.ts"
import type { Handshake } from "../../application/ports/Transport.ts"
import type { Sight } from "../../application/server/Sight.ts"
import { Tally } from "../../application/server/Tally.ts"
import { parseVersion, PROTOCOL_VERSION } from "../../domain/protocol/version.ts"
import { codes } from "../../domain/refusal.ts"
import { isPlainlyAddressed } from "../node/network.ts"

/** What decides who sees the pages of a Server. */
export interface ServerPagesOptions {
  readonly sight: Sight["Service"]
  /** Asked for whoever wants to see numbers; {@link anybody} asks nobody. */
  readonly authenticator?: Authenticator
  /** Does the Server listen on this machine only? Then a page may not reach it by a name of its own. */
  readonly isLocal?: boolean
}

/** Answers a request if it is for one of the pages; says whether it did, or will. */
export type Pages = (request: IncomingMessage, response: ServerResponse) => boolean

interface Page {
  readonly status: number
  readonly type?: string
  readonly text: string
  readonly headers?: { readonly [name: string]: string }
}

/** How many offices `/status?offices=1` lists. */
const mostOffices = 10_000

/** How long the authenticator may take: it may have to fetch keys. */
const authenticationTime = Duration.seconds(10)

const plain = (status: number, text: string, headers?: Page["headers"]): Page => ({
  status,
  text: `${text}\n`,
  ...(headers !== undefined && { headers })
})

const send = (request: IncomingMessage, response: ServerResponse, page: Page): void => {
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

const readyPage = ({ parts, state }: Sight["Service"]["readiness"]): Page => {
  const now = state()
  if (now._tag === "Starting") return plain(503, "starting")
  if (now._tag === "Draining") return plain(503, `draining: ${now.reason}`)
  // Their reasons may name machines, and everybody may read this.
  const failing = [...parts()].flatMap(([part, fault]) => (fault === undefined ? [] : [part]))
  return plain(200, failing.length === 0 ? "ready" : `ready, but not working: ${failing.join(", ")}`)
}

/** What an authenticator is told of somebody who asks for a page: what connections say of themselves in headers. */
const handshakeOf = ({ headers, socket }: IncomingMessage): Handshake => ({
  version: Result.getOrThrow(parseVersion(PROTOCOL_VERSION)),
  auth: {},
  headers,
  remote: socket.remoteAddress ?? "unknown"
})

/** Makes the pages of a Server: `/healthz`, `/readyz`, `/metrics`, `/status`. What is being answered ends with the scope. */
export const makeServerPages = Effect.fnUntraced(function* ({
  authenticator = anybody,
  isLocal = false,
  sight
}: ServerPagesOptions): Effect.fn.Return<Pages, never, Scope.Scope> {
  const context = yield* Effect.context<never>()
  const run = yield* FiberSet.makeRuntime<never>()
  const { turnedAway } = yield* Tally

  const metricsPage = (): Page => ({
    status: 200,
    type: "text/plain; version=0.0.4; charset=utf-8",
    text: PrometheusMetrics.formatUnsafe(context)
  })

  const statusPage = (query: URLSearchParams): Page => {
    const wanted = query.get("offices") === "1"
    const body = { ...sight.report(), ...(wanted && { officeList: sight.offices(mostOffices) }) }
    return { status: 200, type: "application/json", text: `${JSON.stringify(body)}\n` }
  }

  /** Why somebody may not see numbers, or `undefined`. */
  const refusal = Effect.fnUntraced(function* (request: IncomingMessage) {
    const handshake = handshakeOf(request)
    const identity = yield* Effect.result(identify(authenticator, handshake))
    const operates = Result.isSuccess(identity) && identity.success.grants.rights.includes("operator")
    if (operates) return undefined
    const code = Result.isFailure(identity) ? identity.failure.code : codes.forbidden
    turnedAway(code)
    yield* Effect.logWarning("page refused", {
      page: request.url?.replace(/\?.*/s, ""),
      remote: handshake.remote,
      ...(Result.isSuccess(identity)
        ? { subject: identity.success.subject, reason: "no operator" }
        : { code, reason: identity.failure.message })
    })
    if (code === codes.forbidden) return plain(403, "this needs the right 'operator'")
    return code === codes.internal || code === codes.unavailable
      ? plain(503, "nobody can be identified right now")
      : plain(401, "this needs a token of an operator", { "WWW-Authenticate": "Bearer" })
  })

  const guarded = (request: IncomingMessage, page: () => Page): Effect.Effect<Page> =>
    refusal(request).pipe(
      Effect.timeoutOrElse({
        duration: authenticationTime,
        orElse: () => Effect.succeed(plain(503, "identifying you takes too long"))
      }),
      Effect.map((refused) => refused ?? page()),
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("page failed", { page: request.url }, defect), plain(500, "internal error"))
      )
    )

  const pages = new Map<string, { readonly isOpen: boolean; readonly make: (url: URL) => Page }>([
    ["/healthz", { isOpen: true, make: () => plain(200, "ok") }],
    ["/readyz", { isOpen: true, make: () => readyPage(sight.readiness) }],
    ["/metrics", { isOpen: false, make: metricsPage }],
    ["/status", { isOpen: false, make: ({ searchParams }) => statusPage(searchParams) }]
  ])

  return (request, response) => {
    const url = URL.parse(request.url ?? "/", "http://localhost")
    const page = url === null ? undefined : pages.get(url.pathname)
    if (url === null || page === undefined) return false
    if (request.method !== "GET" && request.method !== "HEAD") {
      send(request, response, plain(405, "only GET and HEAD", { Allow: "GET, HEAD" }))
    } else if (!page.isOpen && authenticator !== anybody) {
      run(
        Effect.map(
          guarded(request, () => page.make(url)),
          (found) => send(request, response, found)
        )
      )
    } else if (!page.isOpen && isLocal && !isPlainlyAddressed(request)) {
      send(request, response, plain(403, "this Server is not known by that host name"))
    } else send(request, response, page.make(url))
    return true
  }
})
