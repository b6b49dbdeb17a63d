import { createServer, type Server, type ServerOptions } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

interface HttpServerOptions extends ServerOptions {
  readonly maxConnections: number
  /** Milliseconds without traffic until a connection is closed; unlimited by default. */
  readonly idleTimeout?: number
}

/** Makes a server that does not listen yet. Closing the scope closes it and its connections. */
export const makeHttpServer = ({
  idleTimeout = 0,
  maxConnections,
  ...options
}: HttpServerOptions): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const server = createServer(options)
      server.timeout = idleTimeout
      server.maxConnections = maxConnections
      return server
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

/** The URL of a server, with brackets around IPv6 addresses. */
export const serverUrl = (scheme: "http" | "https", { address, family, port }: AddressInfo): string =>
  `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`
