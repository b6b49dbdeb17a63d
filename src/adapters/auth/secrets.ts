import { createHash, timingSafeEqual } from "node:crypto"
import { Redacted } from "effect"

export const sha256 = (text: string) => createHash("sha256").update(text).digest()

/** Compares secrets in constant time. */
export const isSameSecret = (one: string, other: string): boolean => timingSafeEqual(sha256(one), sha256(other))

/** True for the configured token. An empty token never matches, not even an empty configured one. */
export const isToken = (presented: string, token: Redacted.Redacted): boolean =>
  presented !== "" && isSameSecret(presented, Redacted.value(token))
