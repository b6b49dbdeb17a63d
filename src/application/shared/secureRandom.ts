import { bytesToHex } from "@noble/hashes/utils.js"

/** Web Crypto of Node and browsers; this layer is compiled without the types of either. */
declare const crypto: { readonly getRandomValues: (bytes: Uint8Array) => Uint8Array }

/** Makes random bytes for secrets. Effect's Random does not suffice: it is seedable. */
export const secureRandomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))

/** Makes a random secret of `count` bytes in hexadecimal. */
export const secureRandomHex = (count: number): string => bytesToHex(secureRandomBytes(count))
