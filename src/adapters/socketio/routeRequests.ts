import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { ServedLines, versionsOf } from "../../application/ports/ServedLines.ts"
import { MembershipObservers } from "../../application/server/observability/observers.ts"
import { checkRequest, isSocketIoRequest, type Rejection, rejectRequest, rejectUpgrade } from "./gate.ts"
import { asEngineRequest, type EngineRequest } from "./internals.ts"
import { defaultPath, defaultPaths } from "./limits.ts"

export interface RequestOptions {
  /**
   * HTTP paths of Socket.IO: `/smcp`, and on an own listener also `/socket.io`, which published clients use. A server of
   * the host may serve its own Socket.IO there.
   */
  readonly paths?: ReadonlyArray<string>
  /** Origins of pages that may connect; `*` allows all. Other clients need no entry. */
  readonly allowedOrigins?: ReadonlyArray<string>
}

export type RequestCheck = (request: IncomingMessage) => Rejection | undefined

/** Makes the check of origin and version, which reports rejections to the observers. */
export const makeRequestCheck = Effect.fnUntraced(function* ({ allowedOrigins = [] }: RequestOptions) {
  const served = versionsOf(yield* ServedLines)
  const observers = yield* MembershipObservers
  return (request: IncomingMessage): Rejection | undefined => {
    const rejection = checkRequest(request, served, allowedOrigins)
    if (rejection === undefined) return undefined
    const remoteAddress = request.socket.remoteAddress ?? "unknown"
    const { code, message: reason } = rejection.body
    for (const observe of observers) observe({ _tag: "ConnectionRejected", remoteAddress, code, reason })
    return rejection
  }
})

/** The part of an Engine.IO server that takes requests. */
export interface RequestEngine {
  readonly handleRequest: (request: EngineRequest, response: ServerResponse) => void
  readonly handleUpgrade: (request: EngineRequest, socket: Duplex, head: Buffer) => void
}

interface RouteOptions {
  readonly paths: ReadonlyArray<string>
  readonly check: RequestCheck
  /** Handles a request outside the paths. */
  readonly onOtherRequest: (request: IncomingMessage, response: ServerResponse) => void
  /** Handles an upgrade outside the paths. */
  readonly onOtherUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** Passes the requests to the paths that the check accepts to the engine. */
const routeRequests = (engine: RequestEngine, { check, onOtherRequest, onOtherUpgrade, paths }: RouteOptions) => ({
  onRequest: (request: IncomingMessage, response: ServerResponse): void => {
    if (!isSocketIoRequest(paths, request)) return onOtherRequest(request, response)
    const rejection = check(request)
    if (rejection === undefined) engine.handleRequest(asEngineRequest(request), response)
    else rejectRequest(response, rejection)
  },
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    if (!isSocketIoRequest(paths, request)) return onOtherUpgrade(request, socket, head)
    const rejection = check(request)
    if (rejection === undefined) engine.handleUpgrade(asEngineRequest(request), socket, head)
    else rejectUpgrade(socket, rejection)
  }
})

const notFound: Rejection = { status: 404, headers: {}, body: { code: 404, message: "Not found" } }

/** Handles a request outside the paths of Socket.IO; the Server answers 404 when it returns false. */
export type RequestFallback = (request: IncomingMessage, response: ServerResponse) => boolean

/** Routes all requests of an own HTTP server. */
export const routeOwnRequests = (
  http: Server,
  engine: RequestEngine,
  check: RequestCheck,
  {
    fallback = () => false,
    paths = defaultPaths
  }: Pick<RequestOptions, "paths"> & { readonly fallback?: RequestFallback }
): void => {
  const { onRequest, onUpgrade } = routeRequests(engine, {
    check,
    paths,
    onOtherRequest: (request, response) => {
      if (!fallback(request, response)) rejectRequest(response, notFound)
    },
    onOtherUpgrade: (_, socket) => rejectUpgrade(socket, notFound)
  })
  http.on("request", onRequest)
  http.on("upgrade", onUpgrade)
}

/** Puts a listener in place of the present ones, which the returned function restores. */
const replaceListeners = (http: Server, event: "request" | "upgrade", listener: unknown) => {
  const replaced = http.rawListeners(event)
  http.removeAllListeners(event)
  http.on(event, listener as () => void)
  return () => {
    http.off(event, listener as () => void)
    for (const one of replaced) http.on(event, one as () => void)
  }
}

/**
 * Routes the requests of a host's HTTP server. Its present listeners get those outside the paths. The returned function
 * restores them.
 */
export const routeSharedRequests = (
  http: Server,
  engine: RequestEngine,
  check: RequestCheck,
  { paths = [defaultPath] }: Pick<RequestOptions, "paths">
): (() => void) => {
  const [onHostRequest, onHostUpgrade] = (["request", "upgrade"] as const).map((event) => http.listeners(event))
  const { onRequest, onUpgrade } = routeRequests(engine, {
    check,
    paths,
    onOtherRequest: (...args) => {
      for (const listener of onHostRequest ?? []) Reflect.apply(listener, http, args)
    },
    onOtherUpgrade: (...args) => {
      for (const listener of onHostUpgrade ?? []) Reflect.apply(listener, http, args)
      // Nothing else would end the socket.
      if (onHostUpgrade?.length === 0) rejectUpgrade(args[1], notFound)
    }
  })
  const restore = [replaceListeners(http, "request", onRequest), replaceListeners(http, "upgrade", onUpgrade)]
  return () => {
    for (const one of restore) one()
  }
}
