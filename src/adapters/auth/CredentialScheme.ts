import { Effect, type Redacted, Result, Stream } from "effect"
import { type Authenticator, admissionRejected } from "../../application/ports/Authenticator.ts"
import type { AdmissionRejected, Handshake } from "../../application/ports/Transport.ts"
import { bearerToken, isToken } from "./secrets.ts"
import { isJsonObject } from "../../domain/json.ts"
import { allGrants, type Identity } from "../../domain/model/Identity.ts"

/** One kind of credentials. */
export interface CredentialScheme extends Pick<Authenticator["Service"], "changes"> {
  /** True for a credential in the format of this scheme. */
  readonly recognizes: (credential: string) => boolean
  readonly authenticate: (credential: string) => Effect.Effect<Identity, AdmissionRejected>
  /** As `isStillValid` of {@link Authenticator}; true for identities of other schemes. */
  readonly isStillValid: (identity: Identity) => boolean
}

/** What a scheme without revocation has, which recognizes every credential. */
export const lasting = { recognizes: () => true, isStillValid: () => true, changes: Stream.never }

/** Longest accepted credential, in characters: tokens with many claims fit, and hashing stays cheap. */
const maxCredentialLength = 8192

const missingCredentials = admissionRejected(
  "missing_credentials",
  "This Server requires credentials: send auth.token, x-api-key or authorization: Bearer"
)

const unknownCredentials = admissionRejected("invalid_credentials", "The format of the credentials is not supported")

/** The first value that is set, of any type: `auth.token`, else the header `x-api-key`, else a bearer token. */
const findCredential = ({ auth, headers }: Handshake): unknown => {
  const token = isJsonObject(auth) ? auth["token"] : undefined
  if (token !== undefined && token !== null && token !== "") return token
  const key = headers["x-api-key"]
  if (key !== undefined && key !== "") return key
  const { authorization } = headers
  return typeof authorization === "string" ? bearerToken(authorization) : authorization
}

const extractCredential = (handshake: Handshake): Result.Result<string, AdmissionRejected> => {
  const found = findCredential(handshake) ?? ""
  if (typeof found !== "string") {
    return Result.fail(admissionRejected("invalid_credentials", "Credentials must be one string"))
  }
  // Some clients send the value of an `Authorization` header in other places.
  const credential = bearerToken(found) ?? found.trim()
  if (credential.length > maxCredentialLength) {
    return Result.fail(
      admissionRejected("invalid_credentials", `Credentials may have at most ${maxCredentialLength} characters`)
    )
  }
  return credential === "" ? Result.fail(missingCredentials) : Result.succeed(credential)
}

/** Combines schemes: the first one that recognizes a credential decides. */
export const makeSchemeAuthenticator = (schemes: ReadonlyArray<CredentialScheme>): Authenticator["Service"] => ({
  requiresCredentials: true,
  authenticate: (handshake) =>
    Effect.flatMap(
      Effect.fromResult(extractCredential(handshake)),
      (credential) =>
        schemes.find(({ recognizes }) => recognizes(credential))?.authenticate(credential) ??
        Effect.fail(unknownCredentials)
    ),
  isStillValid: (identity) => schemes.every(({ isStillValid }) => isStillValid(identity)),
  changes: Stream.mergeAll(
    schemes.map(({ changes }) => changes),
    { concurrency: "unbounded" }
  )
})

const invalidToken = admissionRejected("invalid_credentials", "The token is not valid")

export const authenticateOperatorByToken = (token: Redacted.Redacted): Authenticator["Service"] => {
  const identity: Identity = { subject: "operator", isShared: true, grants: allGrants, expiresAt: undefined }
  return makeSchemeAuthenticator([
    {
      ...lasting,
      authenticate: (credential) => (isToken(credential, token) ? Effect.succeed(identity) : Effect.fail(invalidToken))
    }
  ])
}
