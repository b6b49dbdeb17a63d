import { Option, Result } from "effect"
import { admissionRejected } from "../../application/ports/Authenticator.ts"
import type { AdmissionRejected, Handshake } from "../../application/ports/Transport.ts"
import { isJsonObject } from "../../domain/json.ts"

/** Longest credential that is looked at, in characters: tokens with many claims fit, and hashing it costs nothing. */
const maxCredentialLength = 8192

/** Some clients send what belongs into an `Authorization` header everywhere. */
const stripBearerPrefix = (text: string): string => text.replace(/^bearer +/i, "").trim()

const bearerToken = (header: string): string => (/^bearer /i.test(header) ? stripBearerPrefix(header) : "")

/** What stands in the first place that holds something; a place that holds no text is a fault. */
const findCredential = ({ auth, headers }: Handshake): unknown => {
  const token = isJsonObject(auth) ? auth["token"] : undefined
  if (token !== undefined && token !== null && token !== "") return token
  const key = headers["x-api-key"]
  if (key !== undefined && key !== "") return key
  const { authorization } = headers
  return typeof authorization === "string" ? bearerToken(authorization) : authorization
}

/**
 * The credential that a connection shows: `auth.token` of Socket.IO, else the header `x-api-key`, else a bearer token
 * in `authorization`. None when it shows none; fails when what it shows cannot be one.
 */
export const extractCredential = (
  handshake: Handshake
): Result.Result<Option.Option<string>, AdmissionRejected> => {
  const found = findCredential(handshake)
  if (found === undefined) return Result.succeed(Option.none())
  if (typeof found !== "string") {
    return Result.fail(admissionRejected("invalid_credentials", "Credentials must be one text"))
  }
  const credential = stripBearerPrefix(found)
  if (credential.length > maxCredentialLength) {
    return Result.fail(
      admissionRejected(
        "invalid_credentials",
        `Credentials may have at most ${maxCredentialLength} characters`
      )
    )
  }
  return Result.succeed(credential === "" ? Option.none() : Option.some(credential))
}
