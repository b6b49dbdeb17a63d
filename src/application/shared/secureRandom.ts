import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { encodeUtf8 } from "../../domain/utf8.ts"

/** Web Crypto of Node and browsers; this layer is compiled without the types of either. */
declare const crypto: { readonly getRandomValues: (bytes: Uint8Array) => Uint8Array }

/** Makes random bytes for secrets. Effect's Random does not suffice: it is seedable. */
export const secureRandomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))

/** Makes a random secret of `count` bytes in hexadecimal. */
export const secureRandomHex = (count: number): string => bytesToHex(secureRandomBytes(count))

/** Length of the tag of an id in bytes: enough that it cannot be guessed. */
const tagLength = 16

/** Makes ids with a tag, which tells a dropped id from a forged one without a memory of all ids. */
export const makeTaggedIds = (separator: string) => {
  // Half of a hash with a secret at its start tells nothing about other hashes, so this needs no HMAC.
  const keyed = sha256.create().update(secureRandomBytes(32))
  let created = 0
  const format = (number: string): string =>
    `${number}${separator}${bytesToHex(keyed.clone().update(encodeUtf8(number)).digest().subarray(0, tagLength))}`
  return {
    next: () => format(String(created++)),
    isOwn: (id: string): boolean => format(id.split(separator, 1)[0] ?? "") === id
  }
}
