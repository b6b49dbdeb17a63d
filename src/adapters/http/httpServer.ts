import { closeSync, openSync } from "node:fs"
import { createServer, type Server, type ServerOptions } from "node:http"
import type { AddressInfo, Server as NetServer, Socket } from "node:net"
import { devNull } from "node:os"
import { Duration, Effect, Queue, type Scope } from "effect"
import { formatNetworkError } from "../bytes/networkErrors.ts"

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
  Effect.gen(function* () {
    const server = createServer(options)
    server.timeout = idleTimeout
    server.maxConnections = maxConnections
    const close = makeClose(server, closeTimeout)
    yield* Effect.addFinalizer(() => close)
    return server
  })

/**
 * Makes the effect that closes a server with its connections, which are destroyed after a time in milliseconds. It also waits
 * for those that another process has accepted.
 */
export const makeClose = (server: Server, timeout: number): Effect.Effect<void> => {
  /** The open connections, including those without a request. */
  const sockets = new Set<Socket>()
  let onClosed = (): void => undefined
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => {
      sockets.delete(socket)
      onClosed()
    })
  })
  return Effect.callback((resume) => {
    const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), timeout)
    onClosed = () => {
      if (sockets.size > 0) return
      clearTimeout(timer)
      resume(Effect.void)
    }
    server.close(onClosed)
  })
}

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

/** Interval of the check for a free file descriptor. */
const checkInterval = Duration.seconds(1)

/** Shortest time between two log lines of one server. */
const warningInterval = Duration.minutes(1)

/** The error of opening a file; `undefined` when a file descriptor is free. */
const descriptorError = (): unknown => {
  try {
    closeSync(openSync(devNull, "r"))
    return undefined
  } catch (error) {
    return error
  }
}

/**
 * Logs that a server cannot accept connections, as long as the scope. Without a free file descriptor the system library
 * of Node accepts connections and closes them at once, mostly without an error: only a check notices that.
 */
const logAcceptFailures = Effect.fnUntraced(function* (server: NetServer, address: string) {
  const failures = yield* Queue.sliding<unknown>(1)
  const report = (error: unknown) => void Queue.offerUnsafe(failures, error)
  server.on("error", report)
  const check = Effect.sync(() => {
    const error = descriptorError()
    if (error !== undefined) report(error)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(checkInterval), check)))
  yield* Queue.take(failures).pipe(
    Effect.flatMap((error) => Effect.logWarning("accept failed", { address, reason: formatNetworkError(error) })),
    Effect.andThen(Effect.sleep(warningInterval)),
    Effect.andThen(Queue.clear(failures)),
    Effect.forever,
    Effect.forkScoped
  )
})

/** Makes the error of a server that cannot do `what`, such as `serve tools`, at a place. */
export const cannot =
  <E>(what: string, Failure: new (fields: { readonly message: string }) => E) =>
  (reason: string, place: string): E =>
    new Failure({ message: `Cannot ${what} on ${place}: ${reason}` })

/**
 * Resolves with the bound address when a server listens, and fails with the error that `makeError` makes of the reason.
 * Later errors are logged as long as the scope. The caller closes the server in any case. Interruption closes a server
 * that starts to listen afterwards.
 */
export const listen = Effect.fnUntraced(function* <E>(
  server: NetServer,
  target: ListenAddress,
  makeError: (reason: string, place: string) => E
): Effect.fn.Return<AddressInfo, E, Scope.Scope> {
  const bound = yield* Effect.mapError(bind(server, target), (reason) =>
    makeError(reason, `${target.host}:${target.port}`)
  )
  yield* logAcceptFailures(server, `${target.host}:${bound.port}`)
  return bound
})

/** The URL of a server, with brackets around IPv6 addresses. */
export const listeningUrl = (scheme: "http" | "https", { address, family, port }: AddressInfo): string =>
  `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`
