import { createHash, timingSafeEqual } from "node:crypto"
import { Redacted } from "effect"

/** The token of `Bearer TOKEN`; `undefined` for other text. */
export const bearerToken = (text: string): string | undefined => /^bearer +(\S*) *$/i.exec(text)?.[1]

/** The password of `Basic …`, by which a browser sends what its user types; `undefined` for other text. */
export const basicPassword = (text: string): string | undefined => {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(text)?.[1]
  return encoded === undefined ? undefined : /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8"))?.[1]
}

export const sha256 = (text: string) => createHash("sha256").update(text).digest()

/** Compares secrets in constant time. */
export const isSameSecret = (one: string, other: string): boolean => timingSafeEqual(sha256(one), sha256(other))

/** True for the configured token. An empty token never matches, not even an empty configured one. */
export const isToken = (presented: string, token: Redacted.Redacted): boolean =>
  presented !== "" && isSameSecret(presented, Redacted.value(token))
