import { Option, Result } from "effect"
import { admissionRejected } from "../../application/ports/Authenticator.ts"
import type { AdmissionRejected, Handshake } from "../../application/ports/Transport.ts"
import { isJsonObject } from "../../domain/json.ts"

/** Longest accepted credential, in characters: tokens with many claims fit, and hashing stays cheap. */
const maxCredentialLength = 8192

/** Some clients send the value of an `Authorization` header in other places. */
const stripBearerPrefix = (text: string): string => text.replace(/^bearer +/i, "").trim()

const bearerToken = (header: string): string => (/^bearer /i.test(header) ? stripBearerPrefix(header) : "")

/** The first value that is set. Any type: a value that is not a string is invalid. */
const findCredential = ({ auth, headers }: Handshake): unknown => {
  const token = isJsonObject(auth) ? auth["token"] : undefined
  if (token !== undefined && token !== null && token !== "") return token
  const key = headers["x-api-key"]
  if (key !== undefined && key !== "") return key
  const { authorization } = headers
  return typeof authorization === "string" ? bearerToken(authorization) : authorization
}

/**
 * The credential of a connection: `auth.token` of Socket.IO, else the header `x-api-key`, else a bearer token in
 * `authorization`. Fails when the value cannot be a credential.
 */
export const extractCredential = (handshake: Handshake): Result.Result<Option.Option<string>, AdmissionRejected> => {
  const found = findCredential(handshake)
  if (found === undefined) return Result.succeed(Option.none())
  if (typeof found !== "string") {
    return Result.fail(admissionRejected("invalid_credentials", "Credentials must be one string"))
  }
  const credential = stripBearerPrefix(found)
  if (credential.length > maxCredentialLength) {
    return Result.fail(
      admissionRejected("invalid_credentials", `Credentials may have at most ${maxCredentialLength} characters`)
    )
  }
  return Result.succeed(credential === "" ? Option.none() : Option.some(credential))
}
