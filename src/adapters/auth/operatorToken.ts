import { Effect, type Redacted, Stream } from "effect"
import { admissionRejected, type Authenticator } from "../../application/ports/Authenticator.ts"
import { allGrants, type Identity } from "../../domain/model/Identity.ts"
import { makeSchemeAuthenticator } from "./CredentialScheme.ts"
import { isToken } from "./secrets.ts"

const invalidToken = admissionRejected("invalid_credentials", "The token is not valid")

/** Authenticates operators by one token. */
export const authenticateOperatorByToken = (token: Redacted.Redacted): Authenticator["Service"] => {
  const identity: Identity = { subject: "operator", isShared: true, grants: allGrants, expiresAt: undefined }
  return makeSchemeAuthenticator([
    {
      recognizes: () => true,
      authenticate: (credential) => (isToken(credential, token) ? Effect.succeed(identity) : Effect.fail(invalidToken)),
      isStillValid: () => true,
      changes: Stream.empty
    }
  ])
}
