import { createPublicKey, type KeyObject } from "node:crypto"
import { Data, Redacted, Result } from "effect"
import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from "jose"
import { isJsonObject } from "../../domain/json.ts"
import { isLoopbackHost } from "../http/hostAccess.ts"

/** What tokens are signed with. */
export type JwtKeySource =
  /** A secret that whoever issues tokens shares with the Server. */
  | { readonly _tag: "Secret"; readonly secret: Redacted.Redacted }
  /** A public key: PEM, or a JWK as JSON. */
  | { readonly _tag: "PublicKey"; readonly text: string }
  /** Where an identity provider publishes its keys. */
  | { readonly _tag: "KeySet"; readonly url: string }

/** Signatures cannot be checked with what was given; the message says why and holds nothing of it. */
export class InvalidJwtKey extends Data.TaggedError("InvalidJwtKey")<{ readonly message: string }> {}

/** The keys of tokens are elsewhere and cannot be had, which is not the fault of any token. */
export class KeySetUnreachable extends Data.TaggedError("KeySetUnreachable")<{ readonly cause: unknown }> {}

/** What checks signatures, and the algorithms it may be used with: a token does not choose them. */
export interface JwtKey {
  readonly key: Uint8Array | KeyObject | JWTVerifyGetKey
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

/** All of them are for pairs of keys: with a shared secret among them, a public key could pass for one. */
const asymmetricAlgorithms = [
  ...rsaAlgorithms,
  ...Object.values(curveAlgorithms).flat(),
  ...edwardsAlgorithms
]

/** How long keys may take to come, and how long those that came are used, in milliseconds. */
const fetchTimeout = 5000
const keySetMaxAge = 10 * 60 * 1000

/** Keys are fetched no more often than this because of tokens that name an unknown one, in milliseconds. */
const keySetCooldown = 30_000

type JwtKeyResult = Result.Result<JwtKey, InvalidJwtKey>

const invalidKey = (message: string): JwtKeyResult => Result.fail(new InvalidJwtKey({ message }))

const secretKey = (secret: string): JwtKeyResult => {
  const key = new TextEncoder().encode(secret)
  return key.length < minSecretBytes
    ? invalidKey(`The secret of the tokens has fewer than ${minSecretBytes} bytes: it can be guessed`)
    : Result.succeed({ key, algorithms: ["HS256"] })
}

const algorithmsOf = ({ asymmetricKeyDetails: details = {}, asymmetricKeyType }: KeyObject) => {
  if (asymmetricKeyType === "rsa") return (details.modulusLength ?? 0) < minModulusBits ? [] : rsaAlgorithms
  if (asymmetricKeyType === "ec") return curveAlgorithms[details.namedCurve ?? ""] ?? []
  return asymmetricKeyType === "ed25519" ? edwardsAlgorithms : []
}

const parseJsonOrUndefined = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const parsePublicKey = (text: string): KeyObject | undefined => {
  const jwk = parseJsonOrUndefined(text)
  try {
    return isJsonObject(jwk) ? createPublicKey({ key: jwk, format: "jwk" }) : createPublicKey(text)
  } catch {
    // What OpenSSL says of a bad file helps nobody: "unsupported".
    return undefined
  }
}

const isPrivate = (text: string): boolean => {
  const jwk = parseJsonOrUndefined(text)
  return isJsonObject(jwk) ? jwk["d"] !== undefined : /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)
}

const publicKey = (text: string): JwtKeyResult => {
  if (isPrivate(text)) {
    return invalidKey(
      "The key of the tokens is a private one: this Server needs the public one, and only that"
    )
  }
  const key = parsePublicKey(text)
  if (key === undefined) return invalidKey("The key of the tokens is no public key, as PEM or as JWK")
  const algorithms = algorithmsOf(key)
  return algorithms.length === 0
    ? invalidKey("The key of the tokens must be RSA of 2048 bits or more, P-256, P-384, P-521 or Ed25519")
    : Result.succeed({ key, algorithms })
}

/** The keys were there, and none, or more than one, is what the token means. */
const isKeyNotMatched = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys

const remoteKeySet = (text: string): JwtKeyResult => {
  const url = URL.parse(text)
  if (
    url === null ||
    !(url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname)))
  ) {
    return invalidKey(
      "The keys of the tokens must be at an https URL: over http anybody on the way could give others"
    )
  }
  const fetched = createRemoteJWKSet(url, {
    timeoutDuration: fetchTimeout,
    cacheMaxAge: keySetMaxAge,
    cooldownDuration: keySetCooldown
  })
  const key: JWTVerifyGetKey = async (header, token) => {
    try {
      return await fetched(header, token)
    } catch (cause) {
      throw isKeyNotMatched(cause) ? cause : new KeySetUnreachable({ cause })
    }
  }
  return Result.succeed({ key, algorithms: asymmetricAlgorithms })
}

/** What checks the signatures of tokens. Keys that are elsewhere are fetched when the first token comes. */
export const makeJwtKey = (source: JwtKeySource): JwtKeyResult => {
  switch (source._tag) {
    case "Secret":
      return secretKey(Redacted.value(source.secret))
    case "PublicKey":
      return publicKey(source.text)
    case "KeySet":
      return remoteKeySet(source.url)
  }
}
