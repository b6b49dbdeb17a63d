import { createServer as createHttpServer, type Server } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { Socket } from "node:net"
import { Effect, type Scope, Stream } from "effect"
import { ListenError } from "../../application/ports/Transport.ts"
import { formatNetworkError } from "../bytes/formatNetworkError.ts"
import { systemErrorCode } from "../../domain/errorMessage.ts"

/** A certificate with its chain, and its private key, as PEM. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
}

/** An identity and its renewals. Open connections keep the certificate of their handshake. */
export interface TlsOptions extends TlsIdentity {
  readonly updates?: Stream.Stream<TlsIdentity>
}

/** In milliseconds. Slow senders hold a connection, but the largest message needs its time on a slow network. */
const httpTimeouts = { headersTimeout: 15_000, requestTimeout: 120_000, connectionsCheckingInterval: 5000 }

/** Milliseconds for the TLS handshake, which the timeouts of HTTP do not cover. */
const handshakeTimeout = 15_000

/** Milliseconds until a closing server destroys its connections; longer than the close handshake of each. */
const closeTimeout = 2000

/** Messages for OpenSSL's error codes. */
const opensslMessages: { readonly [code: string]: string } = {
  ERR_OSSL_PEM_NO_START_LINE: "not a PEM file",
  ERR_OSSL_UNSUPPORTED: "the key is not PEM or has an unsupported type",
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: "the key does not match the certificate"
}

const formatTlsError = (error: unknown): string =>
  opensslMessages[systemErrorCode(error) ?? ""] ?? formatNetworkError(error)

const makeHttpsServer = Effect.fnUntraced(function* ({ cert, key, updates = Stream.never }: TlsOptions) {
  const server = yield* Effect.try({
    try: () => createHttpsServer({ cert, key, handshakeTimeout, ...httpTimeouts }),
    catch: (error) => new ListenError({ message: `Invalid certificate: ${formatTlsError(error)}` })
  })
  const reload = (next: TlsIdentity) =>
    Effect.try({ try: () => server.setSecureContext({ cert: next.cert, key: next.key }), catch: formatTlsError }).pipe(
      Effect.andThen(Effect.logInfo("certificate reloaded")),
      Effect.catch((reason) =>
        Effect.logError("certificate reload failed, keeping the current certificate", { reason })
      )
    )
  yield* Effect.forkScoped(Stream.runForEach(updates, reload), { startImmediately: true })
  return server
})

/** Makes an HTTP server, with TLS when `tls` is given. New certificates apply to new connections. */
export const makeTlsServer = Effect.fnUntraced(function* (
  tls: TlsOptions | undefined
): Effect.fn.Return<Server, ListenError, Scope.Scope> {
  const server = tls === undefined ? createHttpServer(httpTimeouts) : yield* makeHttpsServer(tls)
  /** The open connections, including those without a request. */
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), closeTimeout)
      server.close(() => {
        clearTimeout(timer)
        resume(Effect.void)
      })
    })
  )
  return server
})
