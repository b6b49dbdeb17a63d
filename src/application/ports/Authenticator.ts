import { Clock, Context, Effect, Stream } from "effect"
import { allGrants, type Identity } from "../../domain/model/Identity.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { type AdmissionReason, AdmissionRejected, type Handshake } from "./Transport.ts"

/** Finds out who connects. */
export interface Authenticator {
  /** Who this is and what it may do, or why it is not let in. */
  readonly authenticate: (handshake: Handshake) => Effect.Effect<Identity, AdmissionRejected>
  /**
   * Is an identity still welcome, the very object that `authenticate` gave? Expiry needs no question: identities carry
   * it.
   */
  readonly isStillValid: (identity: Identity) => boolean
  /** Something that `welcome` depends on has changed: every identity should be asked for again. */
  readonly changes: Stream.Stream<void>
}

/** Everybody may come and do everything: right for one machine only. */
export const allowAll: Authenticator = {
  authenticate: () => Effect.succeed({ subject: "anybody", grants: allGrants, expiresAt: undefined }),
  isStillValid: () => true,
  changes: Stream.never
}

/** Who finds out for a Server who connects; {@link allowAll} may unless a host says otherwise. */
export const Authenticator = Context.Reference<Authenticator>("a2c-smcp/application/ports/Authenticator", {
  defaultValue: () => allowAll
})

/** Who somebody is right now: an identity that has expired is none. */
export const resolveIdentity = (
  authenticator: Authenticator,
  handshake: Handshake
): Effect.Effect<Identity, AdmissionRejected> =>
  Effect.flatMap(authenticator.authenticate(handshake), (identity) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      identity.expiresAt !== undefined && identity.expiresAt <= now
        ? Effect.fail(admissionRejected("expired_credentials", "The credentials have expired"))
        : Effect.succeed(identity)
    )
  )

const reasonCodes: { readonly [Reason in AdmissionReason]: number } = {
  missing_credentials: errorCodes.unauthorized,
  invalid_credentials: errorCodes.unauthorized,
  expired_credentials: errorCodes.unauthorized,
  role_not_granted: errorCodes.forbidden,
  unavailable: errorCodes.unavailable
}

/** The refusal for a reason, with its code. The message goes to whoever connects and to the log: no secrets in it. */
export const admissionRejected = (reason: AdmissionReason, message: string): AdmissionRejected =>
  new AdmissionRejected({ code: reasonCodes[reason], reason, message, retryable: reason === "unavailable" })
