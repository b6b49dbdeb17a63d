import { Clock, Context, Duration, Effect, Layer, Stream } from "effect"
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
    /**
     * False once an identity is revoked. It must be the object that `authenticate` returned. Expiry does not count.
     * Called once a second for every connection.
     */
    readonly isStillValid: (identity: Identity) => boolean
    /** Emits when the result of `isStillValid` may have changed for any identity. */
    readonly changes: Stream.Stream<void>
  }
>()("a2c-smcp/application/ports/Authenticator") {
  /** Admits every connection with all rights: for Servers that only this machine reaches. */
  static readonly layerAllowAll: Layer.Layer<Authenticator> = Layer.sync(Authenticator, () => allowAll)
}

const anonymous = Effect.succeed<Identity>({ subject: "anonymous", grants: allGrants, expiresAt: undefined })

/** The authenticator of {@link Authenticator.layerAllowAll}. */
export const allowAll: Authenticator["Service"] = {
  requiresCredentials: false,
  authenticate: () => anonymous,
  isStillValid: () => true,
  changes: Stream.never
}

/**
 * The rejection of an identity that has expired or is revoked. `now` is the wall clock: timers do not notice when it is
 * changed, or when the machine was suspended.
 */
export const checkCredentials = (authenticator: Authenticator["Service"], identity: Identity, now: number) => {
  const isUnexpired = identity.expiresAt === undefined || identity.expiresAt > now
  if (!isUnexpired) return admissionRejected("expired_credentials", "The credentials have expired")
  return authenticator.isStillValid(identity)
    ? undefined
    : admissionRejected("invalid_credentials", "The credentials are not valid any more")
}

/** Rejects an authenticated identity that has expired or is revoked. */
export const checkIdentity = (
  authenticator: Authenticator["Service"],
  authenticating: Effect.Effect<Identity, AdmissionRejected>
) =>
  Effect.flatMap(authenticating, (identity) =>
    Clock.clockWith(
      (clock) => checkCredentials(authenticator, identity, clock.currentTimeMillisUnsafe()) ?? Effect.succeed(identity)
    )
  )

/** Interval of the check of all credentials, and so the longest time that expired ones are accepted. */
const credentialCheckInterval = Duration.seconds(1)

/** Ends what has invalid credentials, each second and at each change that the authenticator reports, as long as the scope. */
export const watchCredentials = Effect.fnUntraced(function* (
  { changes }: Authenticator["Service"],
  endInvalid: () => void
) {
  const ending = Effect.sync(endInvalid)
  yield* Stream.runForEach(changes, () => ending).pipe(
    Effect.catchCause((cause) => Effect.logError("credential change watch failed", cause)),
    Effect.forkScoped({ startImmediately: true })
  )
  yield* Effect.sleep(credentialCheckInterval).pipe(
    Effect.andThen(ending),
    Effect.catchCause((cause) => Effect.logError("credential check failed", cause)),
    Effect.forever,
    Effect.forkScoped
  )
})

/** The codes of reasons other than invalid credentials. */
const reasonCodes: { readonly [Reason in AdmissionReason]?: number } = {
  role_not_granted: errorCodes.forbidden,
  unavailable: errorCodes.unavailable
}

/** The rejection for a reason, with its code. The message goes to the client and to the log: no secrets in it. */
export const admissionRejected = (reason: AdmissionReason, message: string): AdmissionRejected =>
  new AdmissionRejected({
    code: reasonCodes[reason] ?? errorCodes.unauthorized,
    reason,
    message,
    retryable: reason === "unavailable"
  })
