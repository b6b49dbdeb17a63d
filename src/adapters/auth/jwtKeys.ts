import { createPublicKey, type KeyObject } from "node:crypto"
import { Data, Redacted, Result } from "effect"
import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from "jose"
import { isJsonObject } from "../../domain/json.ts"
import { isOwnHost } from "../node/network.ts"

/** What tokens are signed with. */
export type JwtSource =
  /** A secret that whoever issues tokens shares with the Server. */
  | { readonly _tag: "Secret"; readonly secret: Redacted.Redacted }
  /** A public key: PEM, or a JWK as JSON. */
  | { readonly _tag: "PublicKey"; readonly text: string }
  /** Where an identity provider publishes its keys. */
  | { readonly _tag: "KeySet"; readonly url: string }

/** Signatures cannot be checked with what was given; the message says why and holds nothing of it. */
export class JwtUnusable extends Data.TaggedError("JwtUnusable")<{ readonly message: string }> {}

/** The keys of tokens are elsewhere and cannot be had, which is not the fault of any token. */
export class KeysOutOfReach extends Data.TaggedError("KeysOutOfReach")<{ readonly cause: unknown }> {}

/** What checks signatures, and the algorithms it may be used with: a token does not choose them. */
export interface JwtKey {
  readonly key: Uint8Array | KeyObject | JWTVerifyGetKey
  readonly algorithms: ReadonlyArray<string>
}

/** RFC 7518 §3.2: a key of HS256 has at least as many bits as its hash. */
const leastSecretBytes = 32

/** RFC 7518 §3.3. */
const leastModulusBits = 2048

const rsa = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
const edwards = ["EdDSA", "Ed25519"]
const curves: { readonly [curve: string]: ReadonlyArray<string> } = {
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"]
}

/** All of them are for pairs of keys: with a shared secret among them, a public key could pass for one. */
const pairAlgorithms = [...rsa, ...Object.values(curves).flat(), ...edwards]

/** How long keys may take to come, and how long those that came are used, in milliseconds. */
const fetchTimeout = 5000
const keysAge = 10 * 60 * 1000

/** Keys are fetched no more often than this because of tokens that name an unknown one, in milliseconds. */
const cooldown = 30_000

type Read = Result.Result<JwtKey, JwtUnusable>

const unusable = (message: string): Read => Result.fail(new JwtUnusable({ message }))

const secretKey = (secret: string): Read => {
  const key = new TextEncoder().encode(secret)
  return key.length < leastSecretBytes
    ? unusable(`The secret of the tokens has fewer than ${leastSecretBytes} bytes: it can be guessed`)
    : Result.succeed({ key, algorithms: ["HS256"] })
}

const algorithmsOf = ({ asymmetricKeyDetails: details = {}, asymmetricKeyType }: KeyObject) => {
  if (asymmetricKeyType === "rsa") return (details.modulusLength ?? 0) < leastModulusBits ? [] : rsa
  if (asymmetricKeyType === "ec") return curves[details.namedCurve ?? ""] ?? []
  return asymmetricKeyType === "ed25519" ? edwards : []
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const readPublicKey = (text: string): KeyObject | undefined => {
  const jwk = parse(text)
  try {
    return isJsonObject(jwk) ? createPublicKey({ key: jwk, format: "jwk" }) : createPublicKey(text)
  } catch {
    // What OpenSSL says of a bad file helps nobody: "unsupported".
    return undefined
  }
}

const isPrivate = (text: string): boolean => {
  const jwk = parse(text)
  return isJsonObject(jwk) ? jwk["d"] !== undefined : /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)
}

const publicKey = (text: string): Read => {
  if (isPrivate(text)) {
    return unusable("The key of the tokens is a private one: this Server needs the public one, and only that")
  }
  const key = readPublicKey(text)
  if (key === undefined) return unusable("The key of the tokens is no public key, as PEM or as JWK")
  const algorithms = algorithmsOf(key)
  return algorithms.length === 0
    ? unusable("The key of the tokens must be RSA of 2048 bits or more, P-256, P-384, P-521 or Ed25519")
    : Result.succeed({ key, algorithms })
}

/** The keys were there, and none, or more than one, is what the token means. */
const namesNoKey = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys

const keySet = (text: string): Read => {
  const url = URL.parse(text)
  if (url === null || !(url.protocol === "https:" || (url.protocol === "http:" && isOwnHost(url.hostname)))) {
    return unusable(
      "The keys of the tokens must be at an https URL: over http anybody on the way could give others"
    )
  }
  const fetched = createRemoteJWKSet(url, {
    timeoutDuration: fetchTimeout,
    cacheMaxAge: keysAge,
    cooldownDuration: cooldown
  })
  const key: JWTVerifyGetKey = async (header, token) => {
    try {
      return await fetched(header, token)
    } catch (cause) {
      throw namesNoKey(cause) ? cause : new KeysOutOfReach({ cause })
    }
  }
  return Result.succeed({ key, algorithms: pairAlgorithms })
}

/** What checks the signatures of tokens. Keys that are elsewhere are fetched when the first token comes. */
export const readJwtKey = (source: JwtSource): Read => {
  switch (source._tag) {
    case "Secret":
      return secretKey(Redacted.value(source.secret))
    case "PublicKey":
      return publicKey(source.text)
    case "KeySet":
      return keySet(source.url)
  }
}
