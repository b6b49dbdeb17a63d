import { createServer as createHttpServer, type Server } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { Effect, type Scope, Stream } from "effect"
import { ListenError } from "../../application/ports/Transport.ts"
import { formatNetworkError } from "../bytes/formatNetworkError.ts"

/** What a Server proves with that it is who it is: a certificate, with those above it, and its private key, as PEM. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
}

/** The same, and what comes after it: connections that are open keep what they were opened with. */
export interface TlsOptions extends TlsIdentity {
  readonly updates?: Stream.Stream<TlsIdentity>
}

/**
 * How long a request may take to arrive, its head and all of it, and how often that is looked at, in milliseconds: who
 * sends byte by byte holds a connection, and the largest message needs its time on a slow line.
 */
const httpTimeouts = { headersTimeout: 15_000, requestTimeout: 120_000, connectionsCheckingInterval: 5000 }

/** How long a connection may take until it is encrypted, in milliseconds: before that it is no request to Node. */
const handshakeTimeout = 15_000

/** What OpenSSL means by its codes, where its own words say nothing. */
const opensslMessages: { readonly [code: string]: string } = {
  ERR_OSSL_PEM_NO_START_LINE: "it is no PEM",
  ERR_OSSL_UNSUPPORTED: "the key is no PEM, or of a kind that is not known",
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: "the key is not that of the certificate"
}

const formatTlsError = (error: unknown): string => {
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  return opensslMessages[code] ?? formatNetworkError(error)
}

/** An HTTP server that speaks TLS when it is given what that takes, and takes a new certificate while it runs. */
export const makeHttpServer = Effect.fnUntraced(function* (
  tls: TlsOptions | undefined
): Effect.fn.Return<Server, ListenError, Scope.Scope> {
  if (tls === undefined) return createHttpServer(httpTimeouts)
  const { cert, key, updates = Stream.never } = tls
  const server = yield* Effect.try({
    try: () => createHttpsServer({ cert, key, handshakeTimeout, ...httpTimeouts }),
    catch: (error) => new ListenError({ message: `The certificate cannot be used: ${formatTlsError(error)}` })
  })
  const renew = (next: TlsIdentity) =>
    Effect.try({
      try: () => server.setSecureContext({ cert: next.cert, key: next.key }),
      catch: formatTlsError
    }).pipe(
      Effect.matchEffect({
        onFailure: (reason) =>
          Effect.logError("the new certificate cannot be used, the old one stays", { reason }),
        onSuccess: () => Effect.logInfo("certificate renewed")
      })
    )
  yield* Effect.forkScoped(Stream.runForEach(updates, renew), { startImmediately: true })
  return server
})

/** The URL of a server, with brackets around IPv6 addresses. */
export const serverUrl = (scheme: "http" | "https", { address, family, port }: AddressInfo): string =>
  `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`

/** The open connections of a server, with those that have sent no request. */
export const trackSockets = (server: Server): ReadonlySet<Socket> => {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  return sockets
}

/** Closes a server. Connections that are still open after `graceMillis` are destroyed. */
export const closeHttpServer = (
  server: Server,
  sockets: ReadonlySet<Socket>,
  graceMillis: number
): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => {
      for (const socket of sockets) socket.destroy()
    }, graceMillis)
    server.close(() => {
      clearTimeout(timer)
      resume(Effect.void)
    })
  })
