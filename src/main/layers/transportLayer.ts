import { fileURLToPath } from "node:url"
import { Effect, Layer, Option } from "effect"
import { isLoopbackHost } from "../../adapters/http/hostAccess.ts"
import { makeServerPages } from "../../adapters/http/pages/ServerPages.ts"
import { type AppSandboxOptions, serveAppSandbox } from "../../adapters/page/appSandbox.ts"
import { makeOfficePage } from "../../adapters/page/OfficePage.ts"
import type { RequestFallback } from "../../adapters/socketio/routeRequests.ts"
import * as RelayServer from "../../adapters/socketio/RelayServer.ts"
import type { SocketIoServerOptions } from "../../adapters/socketio/SocketIoServer.ts"
import { OfficeWatch } from "../../application/server/watch/OfficeWatch.ts"

/** The adapter that serves Socket.IO. */
export type Engine = "relay" | "socket.io"

/** Options of the Server's end of the transport. */
export interface TransportOptions extends SocketIoServerOptions {
  /**
   * `relay`, the default of an own listener, forwards bodies as the bytes that arrived. `socket.io` uses the package
   * `socket.io`; `httpServer` and `io` imply it. docs/server.md compares them.
   */
  readonly engine?: Engine
}

/** The folder of the page that `npm run build` writes. This file is in `dist` or `src`, three folders deep. */
export const builtPage = () => fileURLToPath(new URL("../../../dist/page/", import.meta.url))

/** Where the office page comes from, and its apps. */
export interface PageServing {
  /** Folder with the built page; by default that of the package. */
  readonly assets?: string
  /**
   * The second origin of the page, at which apps run. By default a free port of loopback, for pages at loopback addresses. With
   * `port` it is at the host of the Server, and `origin` is its URL for browsers, such as `https://apps.example.org`.
   */
  readonly apps?: Pick<AppSandboxOptions, "origin" | "port">
}

/** Makes the handler of the office page, where the context has an {@link OfficeWatch}. */
const makePage = Effect.fnUntraced(function* (
  { allowedOrigins = [], host = "127.0.0.1" }: TransportOptions,
  { apps = {}, assets = builtPage() }: PageServing
) {
  const watch = yield* Effect.serviceOption(OfficeWatch)
  if (Option.isNone(watch)) return () => false
  const allowedHosts = [host.toLowerCase(), ...allowedOrigins.flatMap((origin) => URL.parse(origin)?.hostname ?? [])]
  const sandbox = yield* serveAppSandbox({ assets, ...apps, ...(apps.port !== undefined && { host }) })
  return yield* makeOfficePage({ assets, allowedHosts, sandbox, source: watch.value })
})

/**
 * Serves members over Socket.IO. An own listener has the pages of the Server beside it. Loads the package `socket.io` only
 * when it is used.
 */
export const transportLayer = ({ engine, ...options }: TransportOptions, page: PageServing = {}) => {
  const isMounted = options.httpServer !== undefined || options.io !== undefined
  const useStock = engine === "socket.io" || isMounted
  return Layer.unwrap(
    Effect.gen(function* () {
      const servePages = yield* makeServerPages(isLoopbackHost(options.host ?? "127.0.0.1"))
      const serveOfficePage = yield* makePage(options, page)
      const fallback: RequestFallback = (...args) => serveOfficePage(...args) || servePages(...args)
      const { layer } = useStock
        ? yield* Effect.promise(() => import("../../adapters/socketio/SocketIoServer.ts"))
        : RelayServer
      return layer({ fallback, ...options })
    })
  )
}
