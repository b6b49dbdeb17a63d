import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect, FiberSet } from "effect"
import type { PageSource } from "../../application/shared/page/PageSource.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { responseClosed, sendReply } from "../http/messages.ts"
import { makeOperatorAccess, type OperatorAccess } from "../http/operatorAccess.ts"
import type { AppSandbox } from "./appSandbox.ts"
import { makePageAssets } from "./pageAssets.ts"
import { pageErrorReply, pageHeaders, checkFormat, checkOrigin, hasCsrfToken, isCrossSite } from "./requestChecks.ts"
import { officePagePath } from "../../domain/page/route.ts"
import { makePageSessions, readSessionCookie, makeSessionRoutes } from "./PageSessions.ts"
import { makeWatchRoutes, type Responding, type SessionHandler } from "./watchRoutes.ts"

/** Commands, calls and streams of a session in progress. */
const maxRequestsPerSession = 64

export interface OfficePageOptions {
  /** The folder with the built page: `index.html`, scripts and style sheets. */
  readonly assets: string
  /** Names of a Server without authentication in lower case, beside `localhost` and IP addresses. */
  readonly allowedHosts: ReadonlyArray<string>
  /** What the page shows and does. */
  readonly source: PageSource
  /** The second origin, for apps; without it the page shows none. */
  readonly sandbox?: AppSandbox | undefined
}

/** Handles a request by its method. */
interface Route {
  readonly [method: string]: (request: IncomingMessage, response: ServerResponse) => Responding
}

/** Makes the routes below `/office/api/`. */
const makeRoutes = Effect.fnUntraced(function* (access: OperatorAccess, { sandbox, source }: OfficePageOptions) {
  const sessions = yield* makePageSessions
  const { fetchSession, signIn, signOut } = makeSessionRoutes(access, sessions, source, sandbox)
  const { calls, commands, events } = makeWatchRoutes(source)

  /** Runs a handler with the session of the request. */
  const inSession =
    (handle: SessionHandler) =>
    (request: IncomingMessage, response: ServerResponse): Responding => {
      const session = sessions.find(readSessionCookie(request))
      if (session === undefined) return Effect.fail(pageErrorReply(401, "The session has ended: sign in again"))
      if (request.method !== "GET" && !hasCsrfToken(request, session.csrf)) {
        access.observeRejection(request, errorCodes.forbidden, "wrong CSRF token")
        return Effect.fail(pageErrorReply(403, "The header X-A2C-CSRF has another value than the session"))
      }
      if (session.requests >= maxRequestsPerSession) {
        return Effect.fail(pageErrorReply(429, `More than ${maxRequestsPerSession} requests are in progress`))
      }
      return Effect.acquireUseRelease(
        Effect.sync(() => void (session.requests += 1)),
        () => handle({ request, response, session }),
        () => Effect.sync(() => void (session.requests -= 1))
      )
    }

  return new Map<string, Route>([
    ["session", { GET: fetchSession, POST: signIn, DELETE: signOut }],
    ["events", { GET: inSession(events) }],
    ["commands", { POST: inSession(commands) }],
    ["calls", { POST: inSession(calls) }]
  ])
})

/**
 * Makes the handler of `/office` and the paths below, which returns false for other requests. The page needs an operator,
 * where the Server requires credentials. Responses in progress end with the scope.
 */
export const makeOfficePage = Effect.fnUntraced(function* (options: OfficePageOptions) {
  const { allowedHosts, assets, sandbox } = options
  const access = yield* makeOperatorAccess
  const routes = yield* makeRoutes(access, options)
  const run = yield* FiberSet.makeRuntime<never>()
  const serveAsset = yield* makePageAssets(assets)
  const isOpen = !access.requiresCredentials

  const notFound = pageErrorReply(404, "Not found")

  const notAllowed = (methods: ReadonlyArray<string>): Responding =>
    Effect.fail(pageErrorReply(405, `Only ${methods.join(", ")}`, { Allow: methods.join(", ") }))

  const rejectForeign = (request: IncomingMessage, reason: string): Responding => {
    access.observeRejection(request, errorCodes.forbidden, reason)
    return Effect.fail(pageErrorReply(403, `The page is for pages and hosts of this Server only: ${reason}`))
  }

  const respondApi = (request: IncomingMessage, response: ServerResponse, name: string): Responding => {
    const route = routes.get(name)
    if (route === undefined) return Effect.fail(notFound)
    const { method = "" } = request
    const handle = Object.hasOwn(route, method) ? route[method] : undefined
    if (handle === undefined) return notAllowed(Object.keys(route))
    if (isCrossSite(request)) return rejectForeign(request, "request of another site")
    const rejection = method === "GET" ? undefined : checkFormat(request)
    return rejection === undefined ? handle(request, response) : Effect.fail(rejection)
  }

  const respond = (request: IncomingMessage, response: ServerResponse, path: string): Responding => {
    const foreign = checkOrigin(request, { allowedHosts, isOpen })
    if (foreign !== undefined) return rejectForeign(request, foreign)
    const name = path.slice(officePagePath.length + 1)
    if (name.startsWith("api/")) return respondApi(request, response, name.slice("api/".length))
    return request.method === "GET" || request.method === "HEAD"
      ? Effect.map(serveAsset(request, name || undefined), (reply) => reply ?? notFound)
      : notAllowed(["GET", "HEAD"])
  }

  const handle = Effect.fnUntraced(function* (request: IncomingMessage, response: ServerResponse, path: string) {
    const reply = yield* Effect.scoped(respond(request, response, path)).pipe(
      Effect.catch((error) => Effect.succeed("_tag" in error ? pageErrorReply(error.code, error.message) : error)),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logError("page request failed", { page: path }, cause), pageErrorReply(500, "internal error"))
      ),
      Effect.raceFirst(Effect.as(responseClosed(response), undefined))
    )
    if (reply === undefined) response.end()
    // A stream that fails must not look complete.
    else if (response.headersSent) response.destroy()
    else
      yield* sendReply(request, response, {
        ...reply,
        headers: { ...pageHeaders(sandbox?.originFor(request.headers)), ...reply.headers }
      })
  })

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const path = URL.parse(request.url ?? "/", "http://localhost")?.pathname
    if (path === undefined || (path !== officePagePath && !path.startsWith(`${officePagePath}/`))) return false
    run(handle(request, response, path))
    return true
  }
})
