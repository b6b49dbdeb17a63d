import { Clock, Context, Effect, Layer, Stream } from "effect"
import { allGrants, type Identity } from "../../domain/model/Identity.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { type AdmissionReason, AdmissionRejected, type Handshake } from "./Transport.ts"

/** Authenticates the clients of a Server, and the operators who request its pages. */
export class Authenticator extends Context.Service<
  Authenticator,
  {
    /** False when every connection is admitted with all rights. */
    readonly requiresCredentials: boolean
    readonly authenticate: (handshake: Handshake) => Effect.Effect<Identity, AdmissionRejected>
    /** False once an identity is revoked. It must be the object that `authenticate` returned. Expiry does not count. */
    readonly isStillValid: (identity: Identity) => boolean
    /** Emits when the result of `isStillValid` may have changed for any identity. */
    readonly changes: Stream.Stream<void>
  }
>()("a2c-smcp/application/ports/Authenticator") {
  /** Admits every connection with all rights: for Servers that only this machine reaches. */
  static readonly layerAllowAll: Layer.Layer<Authenticator> = Layer.sync(Authenticator, () => allowAll)
}

/** The authenticator of {@link Authenticator.layerAllowAll}. */
export const allowAll: Authenticator["Service"] = {
  requiresCredentials: false,
  authenticate: () => Effect.succeed({ subject: "anonymous", grants: allGrants, expiresAt: undefined }),
  isStillValid: () => true,
  changes: Stream.never
}

/** Authenticates a connection; an identity that has expired is rejected. */
export const resolveIdentity = Effect.fnUntraced(function* (
  authenticator: Authenticator["Service"],
  handshake: Handshake
) {
  const identity = yield* authenticator.authenticate(handshake)
  const now = yield* Clock.currentTimeMillis
  if (identity.expiresAt === undefined || identity.expiresAt > now) return identity
  return yield* admissionRejected("expired_credentials", "The credentials have expired")
})

const reasonCodes: { readonly [Reason in AdmissionReason]: number } = {
  missing_credentials: errorCodes.unauthorized,
  invalid_credentials: errorCodes.unauthorized,
  expired_credentials: errorCodes.unauthorized,
  role_not_granted: errorCodes.forbidden,
  unavailable: errorCodes.unavailable
}

/** The rejection for a reason, with its code. The message goes to the client and to the log: no secrets in it. */
export const admissionRejected = (reason: AdmissionReason, message: string): AdmissionRejected =>
  new AdmissionRejected({ code: reasonCodes[reason], reason, message, retryable: reason === "unavailable" })
