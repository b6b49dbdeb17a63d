import { createServer, type Server, type ServerOptions } from "node:http"
import type { AddressInfo, Server as NetServer } from "node:net"
import { Effect, type Scope } from "effect"
import { formatNetworkError } from "../bytes/formatNetworkError.ts"

interface HttpServerOptions extends ServerOptions {
  readonly maxConnections: number
  /** Milliseconds without traffic until a connection is closed; unlimited by default. */
  readonly idleTimeout?: number
  /** Milliseconds until a closing server destroys its connections; at once by default. */
  readonly closeTimeout?: number
}

/** Makes a server that does not listen yet. Closing the scope closes it and its connections. */
export const makeHttpServer = ({
  closeTimeout = 0,
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
        const timer = setTimeout(() => server.closeAllConnections(), closeTimeout)
        server.close(() => {
          clearTimeout(timer)
          resume(Effect.void)
        })
      })
  )

/**
 * Resolves with the bound address when a server listens, and fails with the error that `makeError` makes of the reason.
 * The caller closes the server in any case. Interruption closes a server that starts to listen afterwards.
 */
export const listen = <E>(
  server: NetServer,
  { host, port }: { readonly host: string; readonly port: number },
  makeError: (reason: string) => E
): Effect.Effect<AddressInfo, E> =>
  Effect.callback((resume) => {
    const onError = (error: unknown) => resume(Effect.fail(makeError(formatNetworkError(error))))
    server.once("error", onError)
    try {
      server.listen(port, host, () => {
        server.off("error", onError)
        resume(Effect.succeed(server.address() as AddressInfo))
      })
    } catch (error) {
      onError(error)
    }
    return Effect.sync(() => void server.once("listening", () => server.close()))
  })

/** The URL of a server, with brackets around IPv6 addresses. */
export const serverUrl = (scheme: "http" | "https", { address, family, port }: AddressInfo): string =>
  `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`
