import { Effect, Option, Stream } from "effect"
import { type Authenticator, admissionRejected } from "../../application/ports/Authenticator.ts"
import type { AdmissionRejected } from "../../application/ports/Transport.ts"
import type { Identity } from "../../domain/model/Identity.ts"
import { extractCredential } from "./extractCredential.ts"

/** One kind of credentials. */
export interface CredentialScheme extends Pick<Authenticator["Service"], "changes"> {
  /** True for a credential in the format of this scheme. */
  readonly recognizes: (credential: string) => boolean
  readonly authenticate: (credential: string) => Effect.Effect<Identity, AdmissionRejected>
  /** As `isStillValid` of {@link Authenticator}; true for identities of other schemes. */
  readonly isStillValid: (identity: Identity) => boolean
}

const missingCredentials = admissionRejected(
  "missing_credentials",
  "This Server requires credentials: send auth.token, x-api-key or authorization: Bearer"
)

const unknownCredentials = admissionRejected("invalid_credentials", "The format of the credentials is not supported")

/** Combines schemes: the first one that recognizes a credential decides. */
export const makeSchemeAuthenticator = (schemes: ReadonlyArray<CredentialScheme>): Authenticator["Service"] => ({
  requiresCredentials: true,
  authenticate: (handshake) =>
    Effect.flatMap(
      Effect.fromResult(extractCredential(handshake)),
      Option.match({
        onNone: () => Effect.fail(missingCredentials),
        onSome: (credential) =>
          schemes.find(({ recognizes }) => recognizes(credential))?.authenticate(credential) ??
          Effect.fail(unknownCredentials)
      })
    ),
  isStillValid: (identity) => schemes.every(({ isStillValid }) => isStillValid(identity)),
  changes: Stream.mergeAll(
    schemes.map(({ changes }) => changes),
    { concurrency: "unbounded" }
  )
})
