import { Clock, Context, Effect, Stream } from "effect"
import { everything, type Identity } from "../../domain/office/identity.ts"
import { codes } from "../../domain/refusal.ts"
import { type AdmissionReason, AdmissionRefused, type Handshake } from "./Transport.ts"

/** Finds out who connects. */
export interface Authenticator {
  /** Who this is and what it may do, or why it is not let in. */
  readonly authenticate: (handshake: Handshake) => Effect.Effect<Identity, AdmissionRefused>
  /**
   * Is an identity still welcome, the very object that `authenticate` gave? Expiry needs no question: identities carry
   * it.
   */
  readonly welcome: (identity: Identity) => boolean
  /** Something that `welcome` depends on has changed: every identity should be asked for again. */
  readonly changes: Stream.Stream<void>
}

/** Everybody may come and do everything: right for one machine only. */
export const anybody: Authenticator = {
  authenticate: () => Effect.succeed({ subject: "anybody", grants: everything, expiresAt: undefined }),
  welcome: () => true,
  changes: Stream.never
}

/** Who finds out for a Server who connects; {@link anybody} may unless a host says otherwise. */
export const Authenticator = Context.Reference<Authenticator>("a2c-smcp/application/ports/Authenticator", {
  defaultValue: () => anybody
})

/** Who somebody is right now: an identity that has expired is none. */
export const identify = (
  authenticator: Authenticator,
  handshake: Handshake
): Effect.Effect<Identity, AdmissionRefused> =>
  Effect.flatMap(authenticator.authenticate(handshake), (identity) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      identity.expiresAt !== undefined && identity.expiresAt <= now
        ? Effect.fail(refusedFor("expired_credentials", "The credentials have expired"))
        : Effect.succeed(identity)
    )
  )

const reasonCodes: { readonly [Reason in AdmissionReason]: number } = {
  missing_credentials: codes.unauthorized,
  invalid_credentials: codes.unauthorized,
  expired_credentials: codes.unauthorized,
  role_not_granted: codes.forbidden,
  unavailable: codes.unavailable
}

/** The refusal for a reason, with its code. The message goes to whoever connects and to the log: no secrets in it. */
export const refusedFor = (reason: AdmissionReason, message: string): AdmissionRefused =>
  new AdmissionRefused({ code: reasonCodes[reason], reason, message, passing: reason === "unavailable" })
