import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect, FiberSet } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { Observability } from "../../../application/server/observability/Observability.ts"
import { serverPagePaths } from "../../../domain/page/route.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { isOwnHost } from "../hostAccess.ts"
import { joinMetrics, mergeStatuses } from "./mergePages.ts"
import type { HttpReply } from "../messages.ts"
import { makeOperatorAccess } from "../operatorAccess.ts"
import { SharedPort } from "../SharedPort.ts"

/** Limit of offices in `/status?offices=1`. */
const maxListedOffices = 10_000

const textPage = (status: number, text: string, headers = {}): HttpReply => ({ status, body: `${text}\n`, headers })

const sendPage = (response: ServerResponse, { body, headers, status }: HttpReply): void => {
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...headers
  })
  // Node omits the body for HEAD.
  response.end(body)
}

const readyPage = ({ components, state }: Observability["Service"]["readiness"]): HttpReply => {
  const now = state()
  if (now._tag === "Starting") return textPage(503, "starting")
  if (now._tag === "Draining") return textPage(503, `draining: ${now.reason}`)
  // Without the errors, which may name hosts: this page needs no authentication.
  const failing = [...components()].flatMap(([component, error]) => (error === undefined ? [] : [component]))
  return textPage(200, failing.length === 0 ? "ready" : `ready, unhealthy components: ${failing.join(", ")}`)
}

type Page = (request: IncomingMessage, query: URLSearchParams) => Effect.Effect<HttpReply>

/**
 * Makes the handler of `/healthz`, `/readyz`, `/metrics` and `/status`, which returns false for other requests. The last
 * two pages require an operator, where the Server requires credentials. Elsewhere, a Server that listens on loopback only
 * rejects foreign Host headers, against DNS rebinding. Responses in progress end with the scope.
 */
export const makeServerPages = Effect.fnUntraced(function* (isLoopbackOnly: boolean) {
  const { authenticate, observeRejection, requiresCredentials } = yield* makeOperatorAccess
  const observability = yield* Observability
  const context = yield* Effect.context<never>()
  const run = yield* FiberSet.makeRuntime<never>()

  const { askOthers = () => Effect.succeed([]) } = (yield* SharedPort) ?? {}

  const metricsPage: Page = (request) =>
    Effect.map(askOthers(request, "/metrics"), (others) => ({
      status: 200,
      body: joinMetrics([PrometheusMetrics.formatUnsafe(context), ...others]),
      headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" }
    }))

  const statusPage: Page = (request, query) =>
    Effect.map(askOthers(request, "/status?offices=1"), (others) => {
      const isListed = query.get("offices") === "1"
      const officeList = isListed || others.length > 0 ? observability.offices(maxListedOffices) : undefined
      const merged = mergeStatuses({ ...observability.report(), officeList }, others)
      const body = isListed ? merged : { ...merged, officeList: undefined }
      return textPage(200, JSON.stringify(body), { "Content-Type": "application/json" })
    })

  const operatorPage = (request: IncomingMessage, page: Effect.Effect<HttpReply>): Effect.Effect<HttpReply> =>
    authenticate(request, { auth: {}, headers: request.headers }).pipe(
      Effect.andThen(page),
      Effect.catch(({ code, message }) =>
        Effect.succeed(textPage(code, message, code === 401 ? { "WWW-Authenticate": "Bearer" } : {}))
      ),
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError("page request failed", { page: request.url }, defect),
          textPage(500, "internal error")
        )
      )
    )

  const pages: { readonly [path in (typeof serverPagePaths)[number]]: Page } = {
    "/healthz": () => Effect.succeed(textPage(200, "ok")),
    "/readyz": () => Effect.sync(() => readyPage(observability.readiness)),
    "/metrics": metricsPage,
    "/status": statusPage
  }

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = URL.parse(request.url ?? "/", "http://localhost")
    const path = serverPagePaths.find((one) => one === url?.pathname)
    if (url === null || path === undefined) return false
    const isOpen = path === "/healthz" || path === "/readyz"
    const page = pages[path](request, url.searchParams)
    const send = (making: Effect.Effect<HttpReply>) => run(Effect.map(making, (reply) => sendPage(response, reply)))
    if (request.method !== "GET" && request.method !== "HEAD") {
      sendPage(response, textPage(405, "only GET and HEAD", { Allow: "GET, HEAD" }))
    } else if (!isOpen && requiresCredentials) {
      send(operatorPage(request, page))
    } else if (!isOpen && isLoopbackOnly && !isOwnHost(request.headers)) {
      observeRejection(request, errorCodes.forbidden, "foreign Host header")
      sendPage(response, textPage(403, "Host header must be an IP address or localhost"))
    } else send(page)
    return true
  }
})
