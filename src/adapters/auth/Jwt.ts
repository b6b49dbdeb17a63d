import { Clock, Duration, Effect, Schema, Stream } from "effect"
import { errors, jwtVerify } from "jose"
import { refusedFor } from "../../application/ports/Authenticator.ts"
import type { AdmissionRefused } from "../../application/ports/Transport.ts"
import { decoder } from "../../domain/explain.ts"
import { type Grants, type Identity, Right } from "../../domain/office/identity.ts"
import { reasonOf } from "../bytes/networkReason.ts"
import { type JwtKey, type JwtSource, type JwtUnusable, KeysOutOfReach, readJwtKey } from "./jwtKeys.ts"
import type { Scheme } from "./schemes.ts"

/** Which tokens count, and what they are good for. */
export interface JwtOptions {
  readonly source: JwtSource
  /** What their `iss` must be; any unless given. */
  readonly issuer?: string
  /** What their `aud` must be, or hold; any unless given. */
  readonly audience?: string
  /** What a token without a claim `a2c` grants; nothing unless given. */
  readonly fallback?: Grants
}

/** How far the clocks of those who issue tokens may be from ours. */
const tolerance = Duration.seconds(10)

const nothing: Grants = { rights: [], offices: [], names: [] }

const Patterns = Schema.Array(Schema.String)

/** What the claim does not name it does not grant. */
const Claim = Schema.Struct({
  rights: Schema.Array(Right),
  offices: Schema.optionalKey(Patterns),
  names: Schema.optionalKey(Patterns)
})

const readClaims = decoder(
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
const shape = /^[\w-]+\.[\w-]+\.[\w-]+$/

const explain = (error: unknown): AdmissionRefused => {
  if (error instanceof errors.JWTExpired) return refusedFor("expired_credentials", "The token has expired")
  // Its message names a claim, and nothing of what the token holds.
  if (error instanceof errors.JWTClaimValidationFailed) {
    return refusedFor("invalid_credentials", `The token is not valid: ${error.message}`)
  }
  return error instanceof KeysOutOfReach
    ? refusedFor(
        "unavailable",
        "Tokens cannot be checked right now: the keys of their issuer are out of reach"
      )
    : refusedFor("invalid_credentials", "The token is not valid")
}

/** The fetch of the platform says in its cause what was wrong. */
const whyOf = ({ cause }: KeysOutOfReach): string =>
  reasonOf(cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause)

const verify = (token: string, { algorithms, key }: JwtKey, options: JwtOptions, now: number) => {
  const wanted = {
    algorithms: [...algorithms],
    clockTolerance: Duration.toSeconds(tolerance),
    currentDate: new Date(now),
    ...(options.issuer !== undefined && { issuer: options.issuer }),
    ...(options.audience !== undefined && { audience: options.audience })
  }
  return Effect.tryPromise(async () => (await jwtVerify(token, key, wanted)).payload).pipe(
    Effect.tapError(({ cause }) =>
      cause instanceof KeysOutOfReach
        ? Effect.logError("the keys of tokens cannot be fetched", { reason: whyOf(cause) })
        : Effect.void
    ),
    Effect.mapError(({ cause }) => explain(cause))
  )
}

/** Takes signed tokens (JWT): `sub` is the subject, `exp` the end, and the claim `a2c` what is granted. */
export const make = Effect.fnUntraced(function* (options: JwtOptions): Effect.fn.Return<Scheme, JwtUnusable> {
  const key = yield* Effect.fromResult(readJwtKey(options.source))
  const { fallback = nothing } = options

  const authenticate = Effect.fnUntraced(function* (
    token: string
  ): Effect.fn.Return<Identity, AdmissionRefused> {
    const payload = yield* verify(token, key, options, yield* Clock.currentTimeMillis)
    const claims = yield* Effect.mapError(Effect.fromResult(readClaims(payload)), (why) =>
      refusedFor("invalid_credentials", `The token is not valid: ${why}`)
    )
    const { a2c, exp, sub } = claims
    const grants = a2c === undefined ? fallback : { ...nothing, ...a2c }
    return { subject: sub, grants, expiresAt: exp * 1000 + Duration.toMillis(tolerance) }
  })

  return {
    recognises: (credential) => shape.test(credential),
    authenticate,
    // What was signed counts until it ends.
    welcome: () => true,
    changes: Stream.never
  }
})
