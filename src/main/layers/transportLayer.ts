import { Effect, Layer } from "effect"
import { isLoopbackHost } from "../../adapters/http/hostAccess.ts"
import { makeServerPages } from "../../adapters/http/ServerPages.ts"
import * as RelayServer from "../../adapters/socketio/RelayServer.ts"
import type { SocketIoServerOptions } from "../../adapters/socketio/SocketIoServer.ts"

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

/**
 * Serves members over Socket.IO. An own listener has the pages of the Server beside it. Loads the package `socket.io` only
 * when it is used.
 */
export const transportLayer = ({ engine, ...options }: TransportOptions) => {
  const isMounted = options.httpServer !== undefined || options.io !== undefined
  const useStock = engine === "socket.io" || isMounted
  return Layer.unwrap(
    Effect.gen(function* () {
      const fallback = yield* makeServerPages(isLoopbackHost(options.host ?? "127.0.0.1"))
      const { layer } = useStock
        ? yield* Effect.promise(() => import("../../adapters/socketio/SocketIoServer.ts"))
        : RelayServer
      return layer({ fallback, ...options })
    })
  )
}
