import { createHmac, randomBytes } from "node:crypto"
import { isSameSecret } from "../auth/secrets.ts"
import type { DpeDocument } from "./resolver.ts"

/** The length of the hash: a longer key would not be stronger. */
const keyBytes = 32

/** Strict, so each document has one URL: 43 characters are 256 bits in base64url. */
const signedUrlPattern = /^\/dpe\/([\w-]{43})\?expires=(\d{1,16})&signature=([\w-]{43})$/

/** Makes a signer with a random key. Its ids do not reveal the documents. Times are in milliseconds since 1970. */
export const makeUrlSigner = () => {
  const key = randomBytes(keyBytes)
  const signatureOf = (id: string, expires: string): string =>
    createHmac("sha256", key).update(`url\n${id}\n${expires}`).digest("base64url")

  return {
    documentIdOf: ({ bytes, mimeType, uri }: DpeDocument): string =>
      createHmac("sha256", key)
        .update(`document\n${JSON.stringify([uri, mimeType])}\n`)
        .update(bytes)
        .digest("base64url"),
    sign: (id: string, expiresAt: number): string =>
      `/dpe/${id}?expires=${expiresAt}&signature=${signatureOf(id, String(expiresAt))}`,
    /** Parses a signed URL, expired or not; `undefined` for others. */
    verify: (target: string) => {
      const [, id, expires, signature] = signedUrlPattern.exec(target) ?? []
      if (id === undefined || expires === undefined || signature === undefined) return undefined
      // base64 text, because several texts decode to the same bytes
      return isSameSecret(signatureOf(id, expires), signature) ? { id, expiresAt: Number(expires) } : undefined
    }
  }
}
