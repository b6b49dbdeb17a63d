import { Option, Order } from "effect"

// All runtimes have these two, but TypeScript's ES library does not declare them.
declare const TextEncoder: new () => {
  readonly encode: (text: string) => Uint8Array
  readonly encodeInto: (text: string, into: Uint8Array) => { readonly read: number }
}
declare const TextDecoder: new (
  label: string,
  options: { readonly fatal: boolean }
) => { readonly decode: (bytes: Uint8Array) => string }

const encoder = new TextEncoder()
const strictDecoder = new TextDecoder("utf-8", { fatal: true })
const lossyDecoder = new TextDecoder("utf-8", { fatal: false })

/** Encodes UTF-8. Unpaired surrogates become U+FFFD. */
export const encodeUtf8 = (text: string): Uint8Array => encoder.encode(text)

/** The longest start of a text with at most this many bytes in UTF-8. Splits no character. */
export const truncateUtf8 = (text: string, maxBytes: number): string =>
  text.slice(0, encoder.encodeInto(text, new Uint8Array(maxBytes)).read)

/** Decodes UTF-8 without a leading byte order mark; `None` for invalid UTF-8. */
export const decodeUtf8: (bytes: Uint8Array) => Option.Option<string> = Option.liftThrowable((bytes: Uint8Array) =>
  strictDecoder.decode(bytes)
)

/** Like {@link decodeUtf8}, for logs and people: invalid bytes become U+FFFD. */
export const decodeUtf8Lossy = (bytes: Uint8Array): string => lossyDecoder.decode(bytes)

/** Compares strings by Unicode code points, independent of the locale: in the order of their UTF-8 bytes. */
export const byCodePoints = Order.mapInput(Order.Array(Order.Number), (text: string) =>
  Array.from(text, (character) => character.codePointAt(0) ?? 0)
)
