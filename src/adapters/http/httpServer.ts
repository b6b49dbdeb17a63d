import { createServer, type Server, type ServerOptions } from "node:http"
import type { AddressInfo, Server as NetServer } from "node:net"
import { Effect, type Scope } from "effect"
import { formatNetworkError } from "../bytes/networkErrors.ts"
import { logAcceptFailures } from "./acceptFailures.ts"

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

interface ListenAddress {
  readonly host: string
  readonly port: number
}

const bind = (server: NetServer, { host, port }: ListenAddress): Effect.Effect<AddressInfo, string> =>
  Effect.callback((resume) => {
    const onError = (error: unknown) => resume(Effect.fail(formatNetworkError(error)))
    // It stays: an error without a listener ends the process. Here it has no effect after the first event.
    server.on("error", onError)
    try {
      server.listen(port, host, () => resume(Effect.succeed(server.address() as AddressInfo)))
    } catch (error) {
      onError(error)
    }
    return Effect.sync(() => void server.once("listening", () => server.close()))
  })

/**
 * Resolves with the bound address when a server listens, and fails with the error that `makeError` makes of the reason.
 * Later errors are logged as long as the scope. The caller closes the server in any case. Interruption closes a server
 * that starts to listen afterwards.
 */
export const listen = Effect.fnUntraced(function* <E>(
  server: NetServer,
  target: ListenAddress,
  makeError: (reason: string) => E
): Effect.fn.Return<AddressInfo, E, Scope.Scope> {
  const bound = yield* Effect.mapError(bind(server, target), makeError)
  yield* logAcceptFailures(server, `${target.host}:${bound.port}`)
  return bound
})

/** The URL of a server, with brackets around IPv6 addresses. */
export const listeningUrl = (scheme: "http" | "https", { address, family, port }: AddressInfo): string =>
  `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`
