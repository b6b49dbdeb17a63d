/** Web Crypto, which Node and browsers have alike; this layer is compiled without the types of either. */
declare const crypto: { readonly getRandomValues: (bytes: Uint8Array) => Uint8Array }

/** 128 random bits in hexadecimal, from the platform's source for secrets: nobody can guess them. */
export const newInstanceSecret = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")
