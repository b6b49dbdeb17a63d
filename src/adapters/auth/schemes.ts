import { Effect, Option, Stream } from "effect"
import { type Authenticator, refusedFor } from "../../application/ports/Authenticator.ts"
import type { AdmissionRefused } from "../../application/ports/Transport.ts"
import type { Identity } from "../../domain/office/identity.ts"
import { shownCredential } from "./credentials.ts"

/** One kind of credentials. */
export interface Scheme extends Pick<Authenticator, "changes"> {
  /** Does a credential look like one of this kind? */
  readonly recognises: (credential: string) => boolean
  readonly authenticate: (credential: string) => Effect.Effect<Identity, AdmissionRefused>
  /** As {@link Authenticator.welcome}; what another scheme gave is welcome as far as this one knows. */
  readonly welcome: (identity: Identity) => boolean
}

const missing = refusedFor(
  "missing_credentials",
  "This Server lets nobody in without credentials: send auth.token, x-api-key or authorization: Bearer"
)

const unknown = refusedFor("invalid_credentials", "The credentials are of no kind that this Server takes")

/** Takes credentials of several kinds: the first scheme that recognises one decides about it alone. */
export const bySchemes = (schemes: ReadonlyArray<Scheme>): Authenticator => ({
  authenticate: (handshake) =>
    Effect.flatMap(
      Effect.fromResult(shownCredential(handshake)),
      Option.match({
        onNone: () => Effect.fail(missing),
        onSome: (credential) =>
          schemes.find(({ recognises }) => recognises(credential))?.authenticate(credential) ??
          Effect.fail(unknown)
      })
    ),
  welcome: (identity) => schemes.every(({ welcome }) => welcome(identity)),
  changes: Stream.mergeAll(
    schemes.map(({ changes }) => changes),
    { concurrency: "unbounded" }
  )
})
