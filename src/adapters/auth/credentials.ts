import { Option, Result } from "effect"
import { refusedFor } from "../../application/ports/Authenticator.ts"
import type { AdmissionRefused, Handshake } from "../../application/ports/Transport.ts"
import { isJsonObject } from "../../domain/json.ts"

/** Longest credential that is looked at, in characters: tokens with many claims fit, and hashing it costs nothing. */
const mostCharacters = 8192

/** Some clients send what belongs into an `Authorization` header everywhere. */
const withoutScheme = (text: string): string => text.replace(/^bearer +/i, "").trim()

const bearer = (header: string): string => (/^bearer /i.test(header) ? withoutScheme(header) : "")

/** What stands in the first place that holds something; a place that holds no text is a fault. */
const shown = ({ auth, headers }: Handshake): unknown => {
  const token = isJsonObject(auth) ? auth["token"] : undefined
  if (token !== undefined && token !== null && token !== "") return token
  const key = headers["x-api-key"]
  if (key !== undefined && key !== "") return key
  const { authorization } = headers
  return typeof authorization === "string" ? bearer(authorization) : authorization
}

/**
 * The credential that a connection shows: `auth.token` of Socket.IO, else the header `x-api-key`, else a bearer token
 * in `authorization`. None when it shows none; fails when what it shows cannot be one.
 */
export const shownCredential = (
  handshake: Handshake
): Result.Result<Option.Option<string>, AdmissionRefused> => {
  const found = shown(handshake)
  if (found === undefined) return Result.succeed(Option.none())
  if (typeof found !== "string") {
    return Result.fail(refusedFor("invalid_credentials", "Credentials must be one text"))
  }
  const credential = withoutScheme(found)
  if (credential.length > mostCharacters) {
    return Result.fail(
      refusedFor("invalid_credentials", `Credentials may have at most ${mostCharacters} characters`)
    )
  }
  return Result.succeed(credential === "" ? Option.none() : Option.some(credential))
}
