import { createPrivateKey, X509Certificate } from "node:crypto"
import { createServer as createHttpServer, type IncomingMessage } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { createSecureContext } from "node:tls"
import { Clock, Effect, Result, Stream } from "effect"
import { ListenError } from "../../application/ports/Transport.ts"
import { formatNetworkError } from "../bytes/networkErrors.ts"
import { systemErrorCode } from "../../domain/errorMessage.ts"
import { makeClose } from "./httpServer.ts"

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
export const httpTimeouts = { headersTimeout: 15_000, requestTimeout: 120_000, connectionsCheckingInterval: 5000 }

/** Milliseconds for the TLS handshake, which the timeouts of HTTP do not cover. */
const handshakeTimeout = 15_000

/** Milliseconds until a closing server destroys its connections; longer than the close handshake of each. */
const closeTimeout = 2000

const formatTlsError = (error: unknown): string =>
  systemErrorCode(error) === "ERR_OSSL_UNSUPPORTED"
    ? "the key is not PEM, is incomplete or has an unsupported type"
    : formatNetworkError(error)

const certificateStart = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g
const certificatePattern = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \1-----/g
const keyStart = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/

const parseChain = (pem: string): Result.Result<ReadonlyArray<X509Certificate>, string> => {
  const count = pem.match(certificateStart)?.length ?? 0
  if (pem.trim() === "") return Result.fail("the certificate is empty")
  if (count === 0) return Result.fail(keyStart.test(pem) ? "the certificate is a private key" : "not a PEM file")
  const certificates = pem.match(certificatePattern) ?? []
  return Result.all(
    Array.from({ length: count }, (_, index) =>
      Result.try({
        try: () => new X509Certificate(certificates[index] ?? ""),
        catch: () => `certificate ${index + 1} is invalid or incomplete`
      })
    )
  )
}

const parseKey = (pem: string) => {
  if (pem.trim() === "") return Result.fail("the key is empty")
  if (!keyStart.test(pem) && pem.match(certificateStart) !== null) return Result.fail("the key is a certificate")
  if (pem.includes("ENCRYPTED")) return Result.fail("the key is encrypted: write it without a passphrase")
  return Result.try({ try: () => createPrivateKey(pem), catch: formatTlsError })
}

/** Checks what OpenSSL does not: it takes an empty text for none, and the handshakes fail. Gives the chain. */
const checkIdentity = ({ cert, key }: TlsIdentity): Result.Result<ReadonlyArray<X509Certificate>, string> =>
  Result.gen(function* () {
    const chain = yield* parseChain(cert)
    const privateKey = yield* parseKey(key)
    return chain[0]?.checkPrivateKey(privateKey) === true
      ? chain
      : yield* Result.fail("the key does not match the certificate")
  })

/** The reason why no Server can use an identity. */
export const identityProblem = ({ cert, key }: TlsIdentity): string | undefined => {
  const usable = Result.flatMap(checkIdentity({ cert, key }), () =>
    Result.try({ try: () => createSecureContext({ cert, key }), catch: formatTlsError })
  )
  return Result.isFailure(usable) ? usable.failure : undefined
}

/** Applies an identity after a check, and warns of certificates that are not valid now. Fails with the reason. */
const applyIdentity = Effect.fnUntraced(function* <A>(identity: TlsIdentity, apply: () => A) {
  const chain = yield* Effect.fromResult(checkIdentity(identity))
  const applied = yield* Effect.try({ try: apply, catch: formatTlsError })
  const now = yield* Clock.currentTimeMillis
  for (const { subject, validFrom, validTo } of chain) {
    if (Date.parse(validFrom) > now || Date.parse(validTo) < now) {
      yield* Effect.logWarning("certificate outside its validity period", { subject, validFrom, validTo })
    }
  }
  return applied
})

/** Decides which upgrade requests are no plain requests. Versions of Node before 24.9 take every request for an upgrade. */
interface UpgradeOptions {
  readonly shouldUpgradeCallback?: (request: IncomingMessage) => boolean
}

const makeHttpsServer = Effect.fnUntraced(function* (
  { cert, key, updates = Stream.never }: TlsOptions,
  upgrades: UpgradeOptions
) {
  const server = yield* Effect.mapError(
    applyIdentity({ cert, key }, () =>
      createHttpsServer({ cert, key, handshakeTimeout, ...httpTimeouts, ...upgrades })
    ),
    (reason) => new ListenError({ message: `Invalid certificate: ${reason}` })
  )
  const reload = (next: TlsIdentity) =>
    applyIdentity(next, () => server.setSecureContext({ cert: next.cert, key: next.key })).pipe(
      Effect.andThen(Effect.logInfo("certificate reloaded")),
      Effect.catch((reason) =>
        Effect.logError("certificate reload failed, keeping the current certificate", { reason })
      )
    )
  yield* Effect.forkScoped(Stream.runForEach(updates, reload), { startImmediately: true })
  return server
})

/** Makes an HTTP server, with TLS when `tls` is given. New certificates apply to new connections. */
export const makeTlsServer = Effect.fnUntraced(function* (tls: TlsOptions | undefined, upgrades: UpgradeOptions = {}) {
  const server =
    tls === undefined ? createHttpServer({ ...httpTimeouts, ...upgrades }) : yield* makeHttpsServer(tls, upgrades)
  const close = makeClose(server, closeTimeout)
  yield* Effect.addFinalizer(() => close)
  return server
})
