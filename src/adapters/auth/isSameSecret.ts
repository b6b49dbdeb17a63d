import { createHash, timingSafeEqual } from "node:crypto"

const sha256 = (text: string) => createHash("sha256").update(text).digest()

/** Compares secrets in constant time. */
export const isSameSecret = (one: string, other: string): boolean => timingSafeEqual(sha256(one), sha256(other))
