import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect, FiberSet } from "effect"
import type { PageSource } from "../../application/shared/page/PageSource.ts"
import { errorCodes, forbidden, notFound, unauthorized } from "../../domain/model/ProtocolError.ts"
import { responseClosed, sendReply } from "../http/messages.ts"
import { makeOperatorAccess, type OperatorAccess } from "../http/operatorAccess.ts"
import type { AppSandbox } from "./appSandbox.ts"
import { makePageAssets } from "./pageAssets.ts"
import { pageErrorReply, pageHeaders, checkFormat, checkOrigin, hasCsrfToken } from "./requestChecks.ts"
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
  const inSession = (handle: SessionHandler) =>
    Effect.fnUntraced(function* (request: IncomingMessage, response: ServerResponse) {
      const session = sessions.find(readSessionCookie(request))
      if (session === undefined) return yield* unauthorized("The session has ended: sign in again")
      if (request.method !== "GET" && !hasCsrfToken(request, session.csrf)) {
        access.observeRejection(request, errorCodes.forbidden, "wrong CSRF token")
        return yield* forbidden("The header X-A2C-CSRF has another value than the session")
      }
      if (session.requests >= maxRequestsPerSession)
        return pageErrorReply(429, `More than ${maxRequestsPerSession} requests are in progress`)
      yield* Effect.acquireRelease(
        Effect.sync(() => void (session.requests += 1)),
        () => Effect.sync(() => void (session.requests -= 1))
      )
      return yield* handle({ request, response, session })
    })

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
  const asset = yield* makePageAssets(assets)
  const isOpen = !access.requiresCredentials

  const respond = Effect.fnUntraced(function* (request: IncomingMessage, response: ServerResponse, name: string) {
    const isApi = name.startsWith("api/")
    const route = isApi ? routes.get(name.slice("api/".length)) : { GET: asset(name), HEAD: asset(name) }
    const { method = "" } = request
    const handle = route !== undefined && Object.hasOwn(route, method) ? route[method] : undefined
    const foreign = checkOrigin(request, { allowedHosts, isOpen, isApi })
    if (foreign !== undefined) {
      access.observeRejection(request, errorCodes.forbidden, foreign)
      return yield* forbidden(`The page is for pages and hosts of this Server only: ${foreign}`)
    }
    if (route === undefined) return yield* notFound("Not found")
    const methods = Object.keys(route).join(", ")
    if (handle === undefined) return pageErrorReply(405, `Only ${methods}`, { Allow: methods })
    const rejection = !isApi || method === "GET" ? undefined : checkFormat(request)
    return rejection ?? (yield* handle(request, response))
  })

  const handle = Effect.fnUntraced(function* (request: IncomingMessage, response: ServerResponse, path: string) {
    const reply = yield* Effect.scoped(respond(request, response, path.slice(officePagePath.length + 1))).pipe(
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
