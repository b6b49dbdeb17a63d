import { createServer as createHttpServer, type Server } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { Effect, type Scope, Stream } from "effect"
import { ListenFailed } from "../../application/ports/Transport.ts"
import { reasonOf } from "../node/network.ts"

/** What a Server proves with that it is who it is: a certificate, with those above it, and its private key, as PEM. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
}

/** The same, and what comes after it: connections that are open keep what they were opened with. */
export interface TlsOptions extends TlsIdentity {
  readonly updates?: Stream.Stream<TlsIdentity>
}

/** An HTTP server that speaks TLS when it is given what that takes, and takes a new certificate while it runs. */
export const makeHttpServer = Effect.fnUntraced(function* (
  tls: TlsOptions | undefined
): Effect.fn.Return<Server, ListenFailed, Scope.Scope> {
  if (tls === undefined) return createHttpServer()
  const { cert, key, updates = Stream.never } = tls
  const server = yield* Effect.try({
    try: () => createHttpsServer({ cert, key }),
    catch: (error) => new ListenFailed({ message: `The certificate cannot be used: ${reasonOf(error)}` })
  })
  const renew = (next: TlsIdentity) =>
    Effect.try({
      try: () => server.setSecureContext({ cert: next.cert, key: next.key }),
      catch: reasonOf
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
