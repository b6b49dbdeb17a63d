import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { MembershipObservers } from "../../application/server/observability/observers.ts"
import { parseVersion, PROTOCOL_VERSION } from "../../domain/wire/version.ts"
import { checkRequest, isSocketIoRequest, type Rejection, rejectRequest, rejectUpgrade } from "./gate.ts"
import { asEngineRequest, type EngineRequest } from "./internals.ts"
import { defaultPath } from "./limits.ts"

export interface RequestOptions {
  /** HTTP path of Socket.IO. */
  readonly path?: string
  /** Origins of pages that may connect; `*` allows all. Other clients need no entry. */
  readonly allowedOrigins?: ReadonlyArray<string>
  readonly version?: string
}

export type RequestCheck = (request: IncomingMessage) => Rejection | undefined

/** Makes the check of origin and version, which reports rejections to the observers. */
export const makeRequestCheck = Effect.fnUntraced(function* ({ allowedOrigins = [], ...options }: RequestOptions) {
  const version = yield* Effect.orDie(Effect.fromResult(parseVersion(options.version ?? PROTOCOL_VERSION)))
  const observers = yield* MembershipObservers
  return (request: IncomingMessage): Rejection | undefined => {
    const rejection = checkRequest(request, version, allowedOrigins)
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

interface RouteOptions extends Pick<RequestOptions, "path"> {
  readonly check: RequestCheck
  /** Handles a request outside the path. */
  readonly onOtherRequest: (request: IncomingMessage, response: ServerResponse) => void
  /** Handles an upgrade outside the path. */
  readonly onOtherUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** Passes the requests to the path that the check accepts to the engine. */
const routeRequests = (
  engine: RequestEngine,
  { check, onOtherRequest, onOtherUpgrade, path = defaultPath }: RouteOptions
) => ({
  onRequest: (request: IncomingMessage, response: ServerResponse): void => {
    if (!isSocketIoRequest(path, request)) return onOtherRequest(request, response)
    const rejection = check(request)
    if (rejection === undefined) engine.handleRequest(asEngineRequest(request), response)
    else rejectRequest(response, rejection)
  },
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    if (!isSocketIoRequest(path, request)) return onOtherUpgrade(request, socket, head)
    const rejection = check(request)
    if (rejection === undefined) engine.handleUpgrade(asEngineRequest(request), socket, head)
    else rejectUpgrade(socket, rejection)
  }
})

const notFound: Rejection = { status: 404, headers: {}, body: { code: 404, message: "Not found" } }

/** Handles a request outside the path of Socket.IO; the Server answers 404 when it returns false. */
export type RequestFallback = (request: IncomingMessage, response: ServerResponse) => boolean

/** Routes all requests of an own HTTP server. */
export const routeOwnRequests = (
  http: Server,
  engine: RequestEngine,
  check: RequestCheck,
  { fallback = () => false, path }: Pick<RequestOptions, "path"> & { readonly fallback?: RequestFallback }
): void => {
  const { onRequest, onUpgrade } = routeRequests(engine, {
    check,
    ...(path !== undefined && { path }),
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
 * Routes the requests of a host's HTTP server. Its present listeners get those outside the path. The returned function
 * restores them.
 */
export const routeSharedRequests = (
  http: Server,
  engine: RequestEngine,
  check: RequestCheck,
  options: Pick<RequestOptions, "path">
): (() => void) => {
  const [onHostRequest, onHostUpgrade] = (["request", "upgrade"] as const).map((event) => http.listeners(event))
  const { onRequest, onUpgrade } = routeRequests(engine, {
    check,
    ...options,
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
