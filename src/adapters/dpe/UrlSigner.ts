import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import type { DpeDocument } from "./resolver.ts"

/** What a signed URL says: which document, and until when it opens it, in milliseconds since 1970. */
interface SignedUrl {
  readonly id: string
  readonly expiresAt: number
}

/** Writes and reads what only this process can sign. */
export interface UrlSigner {
  /** The same document has the same id; without the key nobody can tell which document it is. */
  readonly documentIdOf: (document: DpeDocument) => string
  /** The path and query of a URL, `/dpe/<id>?expires=…&signature=…`. */
  readonly sign: (signedUrl: SignedUrl) => string
  /** Reads what {@link sign} wrote, expired or not; `undefined` for everything else. */
  readonly verify: (target: string) => SignedUrl | undefined
}

/** As long as the hash: a shorter key would be the weakest part, a longer one no stronger. */
const keyBytes = 32

/** Strict, so that a document has one spelling of its URL: 43 characters are 256 bits in base64url. */
const signedUrlPattern = /^\/dpe\/([\w-]{43})\?expires=(\d{1,16})&signature=([\w-]{43})$/

/** A signer with a random key of its own. */
export const makeUrlSigner = (): UrlSigner => {
  const key = randomBytes(keyBytes)
  const signatureOf = (id: string, expires: string): string =>
    createHmac("sha256", key).update(`url\n${id}\n${expires}`).digest("base64url")

  return {
    documentIdOf: ({ bytes, mimeType, uri }) =>
      createHmac("sha256", key)
        .update(`document\n${JSON.stringify([uri, mimeType])}\n`)
        .update(bytes)
        .digest("base64url"),
    sign: ({ expiresAt, id }) =>
      `/dpe/${id}?expires=${expiresAt}&signature=${signatureOf(id, String(expiresAt))}`,
    verify: (target) => {
      const [, id, expires, signature] = signedUrlPattern.exec(target) ?? []
      if (id === undefined || expires === undefined || signature === undefined) return undefined
      // texts and not what they decode to: base64 has several spellings of the same bytes
      const isOurs = timingSafeEqual(Buffer.from(signatureOf(id, expires)), Buffer.from(signature))
      return isOurs ? { id, expiresAt: Number(expires) } : undefined
    }
  }
}
