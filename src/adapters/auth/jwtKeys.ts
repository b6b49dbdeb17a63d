import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto"
import { Data, Match, Redacted, Result } from "effect"
import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from "jose"
import { asObject, parseJsonObject } from "../../domain/json.ts"
import { environmentProxyProblem } from "../bytes/environmentProxies.ts"
import { withUserAgent } from "../../domain/packageVersion.ts"
import { isLoopbackHost } from "../http/hostAccess.ts"

/** The source of the keys that verify tokens. */
export type JwtKeySource =
  /** A secret shared by the token issuer and the Server. */
  | { readonly _tag: "Secret"; readonly secret: Redacted.Redacted }
  /** A public key: PEM, or a JWK as JSON. */
  | { readonly _tag: "PublicKey"; readonly text: string }
  /** The URL of an identity provider's key set (JWKS). */
  | { readonly _tag: "KeySet"; readonly url: string }

/** The configured key cannot verify or make signatures. The message does not quote the key. */
export class InvalidJwtKey extends Data.TaggedError("InvalidJwtKey")<{ readonly message: string }> {}

/** The key set cannot be fetched, so no token can be verified. */
export class KeySetUnreachable extends Data.TaggedError("KeySetUnreachable")<{ readonly cause: unknown }> {}

/** No key of the set matches a token, but the set may be older than the key: it was fetched before the token arrived. */
export class KeySetOutdated extends Data.TaggedError("KeySetOutdated") {}

type VerificationKey = Uint8Array | KeyObject | JWTVerifyGetKey

/** A source of verification keys and their algorithms, which a token must not choose. */
export interface JwtKey {
  /** Runs a verification, and repeats it where a newer key set or another candidate key may verify the token. */
  readonly verify: <A>(attempt: (key: VerificationKey) => Promise<A>) => Promise<A>
  readonly algorithms: ReadonlyArray<string>
}

/** RFC 7518 §3.2: a key of HS256 has at least as many bits as its hash. */
const minSecretBytes = 32

/** RFC 7518 §3.3. */
const minModulusBits = 2048

const rsaAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
const edwardsAlgorithms = ["EdDSA", "Ed25519"]
const curveAlgorithms: { readonly [curve: string]: ReadonlyArray<string> } = {
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"]
}

/** Without HMAC: with it, a public key could be used as a shared secret. */
const asymmetricAlgorithms = [...rsaAlgorithms, ...Object.values(curveAlgorithms).flat(), ...edwardsAlgorithms]

/** Timeout of a key set fetch, and lifetime of a fetched key set, in milliseconds. */
const fetchTimeout = 5000
const keySetMaxAge = 10 * 60 * 1000

/** Minimum interval of fetches for tokens that no key matches, in milliseconds. */
const keySetCooldown = 30_000

type JwtKeyResult = Result.Result<JwtKey, InvalidJwtKey>

const invalidKey = (message: string): Result.Result<never, InvalidJwtKey> => Result.fail(new InvalidJwtKey({ message }))

const fixedKey = (key: Uint8Array | KeyObject, algorithms: ReadonlyArray<string>): JwtKeyResult =>
  Result.succeed({ verify: (attempt) => attempt(key), algorithms })

const secretBytes = (secret: string): Result.Result<Uint8Array, InvalidJwtKey> => {
  const key = new TextEncoder().encode(secret)
  return key.length < minSecretBytes
    ? invalidKey(`The token secret must have at least ${minSecretBytes} bytes`)
    : Result.succeed(key)
}

const algorithmsOf = ({ asymmetricKeyDetails: details = {}, asymmetricKeyType }: KeyObject) => {
  if (asymmetricKeyType === "rsa") return (details.modulusLength ?? 0) < minModulusBits ? [] : rsaAlgorithms
  if (asymmetricKeyType === "ec") return curveAlgorithms[details.namedCurve ?? ""] ?? []
  return asymmetricKeyType === "ed25519" ? edwardsAlgorithms : []
}

const publicKey = (text: string): JwtKeyResult => {
  const jwk = parseJsonObject(text)
  const isPrivate = jwk === undefined ? /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text) : jwk["d"] !== undefined
  if (isPrivate) return invalidKey("The token key is a private key: give the public key instead")
  const parsed = Result.try(() => createPublicKey(jwk === undefined ? text : { key: jwk, format: "jwk" }))
  // OpenSSL reports only "unsupported".
  if (Result.isFailure(parsed)) return invalidKey("The token key must be a public key, as PEM or JWK")
  const algorithms = algorithmsOf(parsed.success)
  return algorithms.length === 0
    ? invalidKey("The token key must be RSA with 2048 bits or more, P-256, P-384, P-521 or Ed25519")
    : fixedKey(parsed.success, algorithms)
}

const isVerificationKey = (jwk: unknown): boolean => {
  const parsed = Result.try(() => createPublicKey({ key: asObject(jwk), format: "jwk" }))
  return Result.isSuccess(parsed) && algorithmsOf(parsed.success).length > 0
}

/** Fetches a key set without its unusable keys: one that cannot be imported would end the search for a token's key. */
const fetchUsableKeys: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options).catch((error: unknown) => {
    const problem = environmentProxyProblem(new URL(url), error instanceof Error ? error.cause : error)
    throw problem === undefined ? error : new Error(problem)
  })
  if (response.status !== 200) return response
  const set = asObject(await response.json())
  const keys = set["keys"]
  return Response.json(Array.isArray(keys) ? { keys: keys.filter(isVerificationKey) } : set)
}

/** True when no key of a set verifies a token. */
const isKeyNotMatched = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed

/** Tries all keys of the set that suit a token without a key id: during a rotation there are several. */
const tryEachKey = async <A>(getKey: JWTVerifyGetKey, attempt: (key: VerificationKey) => Promise<A>): Promise<A> => {
  try {
    return await attempt(getKey)
  } catch (cause) {
    if (!(cause instanceof errors.JWKSMultipleMatchingKeys)) throw cause
    for await (const key of cause) {
      try {
        return await attempt(async () => key)
      } catch (other) {
        if (!isKeyNotMatched(other)) throw other
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

const remoteKeySet = (text: string): JwtKeyResult => {
  const url = URL.parse(text)
  if (url === null || !(url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname)))) {
    return invalidKey("The key set URL must be https: over http the keys could be replaced in transit")
  }
  const fetched = createRemoteJWKSet(url, {
    timeoutDuration: fetchTimeout,
    cacheMaxAge: keySetMaxAge,
    cooldownDuration: keySetCooldown,
    headers: withUserAgent(),
    [customFetch]: fetchUsableKeys
  })
  const whenReachable = async <A>(use: () => Promise<A>): Promise<A> => {
    try {
      return await use()
    } catch (cause) {
      const isUsable = isKeyNotMatched(cause) || cause instanceof errors.JWKSMultipleMatchingKeys
      if (isUsable && fetched.jwks()?.keys.length !== 0) throw cause
      throw new KeySetUnreachable({ cause: isUsable ? new Error("the key set has no keys") : cause })
    }
  }
  const getKey: JWTVerifyGetKey = (header, token) => whenReachable(() => fetched(header, token))
  return Result.succeed({
    algorithms: asymmetricAlgorithms,
    verify: async (attempt) => {
      const isRecent = fetched.coolingDown || fetched.reloading
      try {
        return await tryEachKey(getKey, attempt)
      } catch (cause) {
        if (!isKeyNotMatched(cause)) throw cause
        if (isRecent) throw new KeySetOutdated()
        // It was fetched for this token.
        if (fetched.coolingDown) throw cause
        await whenReachable(fetched.reload)
        return tryEachKey(getKey, attempt)
      }
    }
  })
}

/** Makes a verification key. A key set is fetched when the first token arrives. */
export const makeJwtKey: (source: JwtKeySource) => JwtKeyResult = Match.typeTags<JwtKeySource, JwtKeyResult>()({
  Secret: ({ secret }) => Result.flatMap(secretBytes(Redacted.value(secret)), (key) => fixedKey(key, ["HS256"])),
  PublicKey: ({ text }) => publicKey(text),
  KeySet: ({ url }) => remoteKeySet(url)
})

/** Makes the key of signatures of a private key, PEM or JWK, or else of a secret; with an algorithm that Servers accept. */
export const makeSigningKey = (
  text: string
): Result.Result<{ readonly key: Uint8Array | KeyObject; readonly alg: string }, InvalidJwtKey> => {
  const jwk = parseJsonObject(text)
  if (jwk === undefined && !text.includes("-----BEGIN ")) {
    return Result.map(secretBytes(text), (key) => ({ key, alg: "HS256" }))
  }
  const parsed = Result.try(() => createPrivateKey(jwk === undefined ? text : { key: jwk, format: "jwk" }))
  const [alg] = Result.isSuccess(parsed) ? algorithmsOf(parsed.success) : []
  return Result.isFailure(parsed) || alg === undefined
    ? invalidKey(
        "The token key must be a private key without a passphrase, as PEM or JWK: RSA of 2048 bits or more, P-256, P-384, P-521 or Ed25519"
      )
    : Result.succeed({ key: parsed.success, alg })
}
