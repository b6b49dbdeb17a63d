import { Clock, Duration, Effect, Schema, Stream } from "effect"
import { errors, jwtVerify } from "jose"
import { admissionRejected } from "../../application/ports/Authenticator.ts"
import type { AdmissionRejected } from "../../application/ports/Transport.ts"
import { makeDecoder } from "../../domain/validation.ts"
import { type Grants, type Identity, Right } from "../../domain/model/Identity.ts"
import { formatNetworkError } from "../bytes/formatNetworkError.ts"
import {
  type JwtKey,
  type JwtKeySource,
  type InvalidJwtKey,
  KeySetUnreachable,
  makeJwtKey
} from "./jwtKeys.ts"
import type { CredentialScheme } from "./CredentialScheme.ts"

/** Which tokens count, and what they are good for. */
export interface JwtOptions {
  readonly source: JwtKeySource
  /** What their `iss` must be; any unless given. */
  readonly issuer?: string
  /** What their `aud` must be, or hold; any unless given. */
  readonly audience?: string
  /** What a token without a claim `a2c` grants; nothing unless given. */
  readonly defaultGrants?: Grants
}

/** How far the clocks of those who issue tokens may be from ours. */
const clockTolerance = Duration.seconds(10)

const noGrants: Grants = { rights: [], offices: [], names: [] }

const Patterns = Schema.Array(Schema.String)

/** What the claim does not name it does not grant. */
const Claim = Schema.Struct({
  rights: Schema.Array(Right),
  offices: Schema.optionalKey(Patterns),
  names: Schema.optionalKey(Patterns)
})

const decodeClaims = makeDecoder(
  Schema.Struct({
    sub: Schema.String.check(
      Schema.isPattern(/^[^\p{Cc}]{1,256}$/u, { message: "Expected 1 to 256 characters, none of control" })
    ),
    // A token cannot be taken back, so it has to end.
    exp: Schema.Finite,
    a2c: Schema.optionalKey(Claim)
  })
)

/** Three parts of Base64 between dots. */
const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]+$/

const toAdmissionRejected = (error: unknown): AdmissionRejected => {
  if (error instanceof errors.JWTExpired)
    return admissionRejected("expired_credentials", "The token has expired")
  // Its message names a claim, and nothing of what the token holds.
  if (error instanceof errors.JWTClaimValidationFailed) {
    return admissionRejected("invalid_credentials", `The token is not valid: ${error.message}`)
  }
  return error instanceof KeySetUnreachable
    ? admissionRejected(
        "unavailable",
        "Tokens cannot be checked right now: the keys of their issuer are out of reach"
      )
    : admissionRejected("invalid_credentials", "The token is not valid")
}

/** The fetch of the platform says in its cause what was wrong. */
const fetchErrorReason = ({ cause }: KeySetUnreachable): string =>
  formatNetworkError(cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause)

const verifyToken = (token: string, { algorithms, key }: JwtKey, options: JwtOptions, now: number) => {
  const verifyOptions = {
    algorithms: [...algorithms],
    clockTolerance: Duration.toSeconds(clockTolerance),
    currentDate: new Date(now),
    ...(options.issuer !== undefined && { issuer: options.issuer }),
    ...(options.audience !== undefined && { audience: options.audience })
  }
  return Effect.tryPromise(async () => (await jwtVerify(token, key, verifyOptions)).payload).pipe(
    Effect.tapError(({ cause }) =>
      cause instanceof KeySetUnreachable
        ? Effect.logError("JWT key set fetch failed", { reason: fetchErrorReason(cause) })
        : Effect.void
    ),
    Effect.mapError(({ cause }) => toAdmissionRejected(cause))
  )
}

/** Takes signed tokens (JWT): `sub` is the subject, `exp` the end, and the claim `a2c` what is granted. */
export const make = Effect.fnUntraced(function* (
  options: JwtOptions
): Effect.fn.Return<CredentialScheme, InvalidJwtKey> {
  const key = yield* Effect.fromResult(makeJwtKey(options.source))
  const { defaultGrants = noGrants } = options

  const authenticate = Effect.fnUntraced(function* (
    token: string
  ): Effect.fn.Return<Identity, AdmissionRejected> {
    const payload = yield* verifyToken(token, key, options, yield* Clock.currentTimeMillis)
    const claims = yield* Effect.mapError(Effect.fromResult(decodeClaims(payload)), (reason) =>
      admissionRejected("invalid_credentials", `The token is not valid: ${reason}`)
    )
    const { a2c, exp, sub } = claims
    const grants = a2c === undefined ? defaultGrants : { ...noGrants, ...a2c }
    return { subject: sub, grants, expiresAt: exp * 1000 + Duration.toMillis(clockTolerance) }
  })

  return {
    recognizes: (credential) => jwtPattern.test(credential),
    authenticate,
    // What was signed counts until it ends.
    isStillValid: () => true,
    changes: Stream.never
  }
})
