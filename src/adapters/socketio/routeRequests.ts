import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { ListenError, ServedLines, versionsOf } from "../../application/ports/Transport.ts"
import { MembershipObservers } from "../../application/server/observability/observers.ts"
import { cannot, listen, listeningUrl } from "../http/httpServer.ts"
import type { PortSharing } from "../http/SharedPort.ts"
import type { TlsOptions } from "../http/tlsServer.ts"
import {
  checkRequest,
  isSocketIoRequest,
  opensWebSocket,
  type GateRejection,
  rejectRequest,
  rejectUpgrade
} from "./gate.ts"
import { decideUpgrades, interceptEvents } from "./internals.ts"
import { defaultPath, defaultPaths } from "./limits.ts"

export interface RouteOptions {
  /**
   * HTTP paths of Socket.IO: `/smcp`, and on an own listener also `/socket.io`, which published clients use. A server of
   * the host may serve its own Socket.IO there.
   */
  readonly paths?: ReadonlyArray<string>
  /** Origins of pages that may connect; `*` allows all. Other clients need no entry. */
  readonly allowedOrigins?: ReadonlyArray<string>
}

export type RequestCheck = (request: IncomingMessage) => GateRejection | undefined

/** Makes the check of origin and version, which reports rejections to the observers. */
export const makeRequestCheck = Effect.fnUntraced(function* ({ allowedOrigins = [] }: RouteOptions) {
  const served = versionsOf(yield* ServedLines)
  const observers = yield* MembershipObservers
  return (request: IncomingMessage): GateRejection | undefined => {
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
  readonly handleRequest: (request: IncomingMessage, response: ServerResponse) => void
  readonly handleUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

interface Routed {
  readonly paths: ReadonlyArray<string>
  readonly engine: RequestEngine
  readonly check: RequestCheck
}

const passRequest = ({ check, engine }: Routed, request: IncomingMessage, response: ServerResponse): void => {
  const rejection = check(request)
  if (rejection === undefined) engine.handleRequest(request, response)
  else rejectRequest(response, rejection)
}

const passUpgrade = ({ check, engine }: Routed, request: IncomingMessage, socket: Duplex, head: Buffer): void => {
  const rejection = check(request)
  if (rejection !== undefined) return rejectUpgrade(socket, rejection)
  // `ws` accepts no list of protocols.
  request.headers.upgrade = "websocket"
  return engine.handleUpgrade(request, socket, head)
}

const notFound: GateRejection = { status: 404, headers: {}, body: { code: 404, message: "Not found" } }

/** Handles a request outside the paths of Socket.IO; the Server answers 404 when it returns false. */
export type RequestFallback = (request: IncomingMessage, response: ServerResponse) => boolean

/** The option for an own HTTP server: upgrades other than those of members are answered as plain requests. */
export const memberUpgrades = ({ paths = defaultPaths }: Pick<RouteOptions, "paths">) => ({
  shouldUpgradeCallback: (request: IncomingMessage) => opensWebSocket(paths, request)
})

interface OwnRouteOptions extends Pick<RouteOptions, "paths"> {
  readonly fallback?: RequestFallback
  readonly sharing?: PortSharing | undefined
}

/** Routes all requests of an own HTTP server. */
export const routeOwnRequests = (
  http: Server,
  engine: RequestEngine,
  check: RequestCheck,
  { fallback = () => false, paths = defaultPaths, sharing }: OwnRouteOptions
): void => {
  const routed: Routed = { check, engine, paths }
  http.on("request", (request, response) => {
    const serveHere = () => {
      if (isSocketIoRequest(paths, request)) passRequest(routed, request, response)
      else if (!fallback(request, response)) rejectRequest(response, notFound)
    }
    if (sharing?.passRequest(request, response, serveHere) !== true) serveHere()
  })
  http.on("upgrade", (request, socket, head) => {
    if (sharing?.passUpgrade(request, socket, head) === true) return
    if (opensWebSocket(paths, request)) passUpgrade(routed, request, socket, head)
    // Versions of Node that do not know the decision above.
    else rejectUpgrade(socket, notFound)
  })
}

/** Makes the router of all offices on an HTTP server of a host. It takes their requests before any listener of the host. */
const makeSharedRouter = (http: Server) => {
  const routes: Array<Routed> = []
  const find = (request: IncomingMessage) => routes.findLast(({ paths }) => isSocketIoRequest(paths, request))
  const take = (event: unknown, args: ReadonlyArray<unknown>): boolean => {
    if (event !== "request" && event !== "upgrade") return false
    const [request, target, head] = args as [IncomingMessage, ServerResponse & Duplex, Buffer]
    const route = find(request)
    if (route === undefined) return false
    if (event === "request") passRequest(route, request, target)
    else if (opensWebSocket(route.paths, request)) passUpgrade(route, request, target, head)
    else rejectUpgrade(target, notFound)
    return true
  }
  const hasHost = () => http.listeners("upgrade").some((one) => one !== onUpgrade)
  /** Some versions of Node emit upgrades only to a listener. Without one of the host, nothing else would end the socket. */
  const onUpgrade = (_request: IncomingMessage, socket: Duplex) => {
    if (!hasHost()) rejectUpgrade(socket, notFound)
  }
  let restore: ReadonlyArray<() => void> = []
  return {
    add: (route: Routed) => {
      routes.push(route)
      if (routes.length > 1) return
      http.on("upgrade", onUpgrade)
      restore = [
        interceptEvents(http, take),
        decideUpgrades(http, (request, decideHost) => {
          const target = find(request)
          return target === undefined ? hasHost() && decideHost() : opensWebSocket(target.paths, request)
        }),
        () => http.off("upgrade", onUpgrade)
      ]
    },
    remove: (route: Routed) => {
      routes.splice(routes.indexOf(route), 1)
      if (routes.length === 0) for (const one of restore) one()
    }
  }
}

const sharedRouters = new WeakMap<Server, ReturnType<typeof makeSharedRouter>>()

/** Routes the requests of a host's HTTP server to the paths of an office. The returned function ends the route. */
export const routeSharedRequests = (
  http: Server,
  engine: RequestEngine,
  check: RequestCheck,
  { paths = [defaultPath] }: Pick<RouteOptions, "paths">
): (() => void) => {
  const router = sharedRouters.get(http) ?? makeSharedRouter(http)
  sharedRouters.set(http, router)
  const route: Routed = { check, engine, paths }
  router.add(route)
  return () => router.remove(route)
}

/** Listens on the host and the port of the options, and gives the URL. */
export const listenOnHost = (
  http: Server,
  { host = "127.0.0.1", port = 0, tls }: { readonly host?: string; readonly port?: number; readonly tls?: TlsOptions }
) => {
  const listening = listen(http, { host, port }, cannot("listen", ListenError))
  return Effect.map(listening, (address) => ({ url: listeningUrl(tls === undefined ? "http" : "https", address) }))
}
