import { Clock, Data, Duration, Effect, Redacted, Result, Schema } from "effect"
import { errors, jwtVerify, SignJWT } from "jose"
import { admissionRejected } from "../../application/ports/Authenticator.ts"
import type { AdmissionRejected } from "../../application/ports/Transport.ts"
import { definedOnly } from "../../domain/objects.ts"
import { type Grants, Right } from "../../domain/model/Identity.ts"
import type { PublicMembership, Role } from "../../domain/model/Membership.ts"
import { grantsOfMember } from "../../domain/office/grants.ts"
import { makeDecoder } from "../../domain/validation.ts"
import { formatNetworkError } from "../bytes/networkErrors.ts"
import { type CredentialScheme, lasting } from "./CredentialScheme.ts"
import {
  type InvalidJwtKey,
  type JwtKey,
  type JwtKeySource,
  KeySetOutdated,
  KeySetUnreachable,
  makeJwtKey,
  makeSigningKey
} from "./jwtKeys.ts"

/** Which tokens are accepted, and their grants. */
export interface JwtOptions {
  readonly source: JwtKeySource
  /** Required `iss`; any by default. */
  readonly issuer?: string
  /** Required `aud`; any by default. */
  readonly audience?: string
  /** Grants of a token without the claim `a2c`; none by default. */
  readonly defaultGrants?: Grants
}

/** Accepted clock skew of token issuers. */
const clockTolerance = Duration.seconds(10)

const noGrants: Grants = { rights: [], offices: [], names: [] }

const Patterns = Schema.optionalKey(Schema.Array(Schema.String))

const decodeClaims = makeDecoder(
  Schema.Struct({
    sub: Schema.String.check(
      Schema.isPattern(/^[^\p{Cc}]{1,256}$/u, { message: "Expected 1 to 256 characters, none of control" })
    ),
    // Required: a token cannot be revoked.
    exp: Schema.Finite,
    // Members that the claim omits grant nothing.
    a2c: Schema.optionalKey(Schema.Struct({ rights: Schema.Array(Right), offices: Patterns, names: Patterns }))
  })
)

/** Three parts of Base64 between dots. */
const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]+$/

const uncheckable = (reason: string): AdmissionRejected =>
  admissionRejected("unavailable", `Tokens cannot be checked right now: ${reason}`)

const toAdmissionRejected = (error: unknown): AdmissionRejected => {
  if (error instanceof errors.JWTExpired) return admissionRejected("expired_credentials", "The token has expired")
  // Its message names a claim, but no value of the token.
  if (error instanceof errors.JWTClaimValidationFailed) {
    return admissionRejected("invalid_credentials", `The token is not valid: ${error.message}`)
  }
  if (error instanceof KeySetUnreachable) return uncheckable("the key set of their issuer cannot be reached")
  return error instanceof KeySetOutdated
    ? uncheckable("no known key matches, and the key set of their issuer is fetched again within 30 seconds")
    : admissionRejected("invalid_credentials", "The token is not valid")
}

/** `fetch` puts the network error into its cause. */
const fetchErrorReason = ({ cause }: KeySetUnreachable): string =>
  formatNetworkError(cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause)

const verifyToken = (token: string, { algorithms, verify }: JwtKey, options: JwtOptions, now: number) => {
  const verifyOptions = {
    algorithms: [...algorithms],
    clockTolerance: Duration.toSeconds(clockTolerance),
    currentDate: new Date(now),
    ...definedOnly({ issuer: options.issuer, audience: options.audience })
  }
  return Effect.tryPromise(() => verify(async (key) => (await jwtVerify(token, key, verifyOptions)).payload)).pipe(
    Effect.tapError(({ cause }) =>
      cause instanceof KeySetUnreachable
        ? Effect.logError("JWT key set fetch failed", { reason: fetchErrorReason(cause) })
        : Effect.void
    ),
    Effect.mapError(({ cause }) => toAdmissionRejected(cause))
  )
}

/** Authenticates by JWT: `sub` is the subject, `exp` the expiry, and the claim `a2c` the grants. */
export const make = Effect.fnUntraced(function* (
  options: JwtOptions
): Effect.fn.Return<CredentialScheme, InvalidJwtKey> {
  const key = yield* Effect.fromResult(makeJwtKey(options.source))
  const { defaultGrants = noGrants } = options
  return {
    ...lasting,
    recognizes: (credential) => jwtPattern.test(credential),
    authenticate: Effect.fnUntraced(function* (token) {
      const payload = yield* verifyToken(token, key, options, yield* Clock.currentTimeMillis)
      const { a2c, exp, sub } = yield* Effect.mapError(Effect.fromResult(decodeClaims(payload)), (reason) =>
        admissionRejected("invalid_credentials", `The token is not valid: ${reason}`)
      )
      const grants = a2c === undefined ? defaultGrants : { ...noGrants, ...a2c }
      return { subject: sub, grants, expiresAt: exp * 1000 + Duration.toMillis(clockTolerance) }
    })
  }
})

/** The one member that may join by a token, and what else the Server requires. */
export interface MemberTokenOptions extends Omit<PublicMembership, "role"> {
  /** The secret that the Server has, or the private key of its public key as PEM or JWK. */
  readonly key: Redacted.Redacted
  /** `computer` by default. */
  readonly role?: Role
  /** 10 minutes by default, a day at most: a token cannot be revoked. */
  readonly ttl?: Duration.Duration
  /** The name by default. */
  readonly subject?: string
  /** `iss` and `aud`, if the Server requires them. */
  readonly issuer?: string
  readonly audience?: string
}

/** The options make no token. */
export class InvalidMemberToken extends Data.TaggedError("InvalidMemberToken")<{ readonly message: string }> {}

const isTokenTtl = Duration.between({ minimum: Duration.seconds(1), maximum: Duration.days(1) })

const orInvalid = <A>(result: Result.Result<A, string>) =>
  Effect.mapError(Effect.fromResult(result), (message) => new InvalidMemberToken({ message }))

/** Signs a token by which one member may join; `expiresAt` in milliseconds since 1970. */
export const signMemberToken = Effect.fnUntraced(function* (options: MemberTokenOptions) {
  const { audience: aud, issuer: iss, name, office, role = "computer", subject: sub = name } = options
  const { ttl = Duration.minutes(10) } = options
  const { alg, key } = yield* Effect.fromResult(makeSigningKey(Redacted.value(options.key)))
  const a2c = yield* orInvalid(grantsOfMember({ name, office, role }))
  const iat = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const claims = { a2c, sub, iat, exp: iat + Math.ceil(Duration.toSeconds(ttl)), ...definedOnly({ iss, aud }) }
  yield* orInvalid(isTokenTtl(ttl) ? decodeClaims(claims) : Result.fail("ttl must be from 1 second to 1 day"))
  const token = yield* Effect.promise(() => new SignJWT(claims).setProtectedHeader({ alg }).sign(key))
  return { token, expiresAt: claims.exp * 1000 }
})
