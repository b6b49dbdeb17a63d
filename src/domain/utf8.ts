import { Option } from "effect"

// Every runtime has these two, but the language's own types do not know them.
declare const TextEncoder: new () => { readonly encode: (text: string) => Uint8Array }
declare const TextDecoder: new (
  label: string,
  options: { readonly fatal: boolean }
) => { readonly decode: (bytes: Uint8Array) => string }

const encoder = new TextEncoder()
const strictDecoder = new TextDecoder("utf-8", { fatal: true })
const lossyDecoder = new TextDecoder("utf-8", { fatal: false })

/** A text in UTF-8. Halves of surrogate pairs, which UTF-8 cannot say, become U+FFFD. */
export const encodeUtf8 = (text: string): Uint8Array => encoder.encode(text)

/** The text that bytes say in UTF-8, without a leading byte order mark; none when they are not UTF-8. */
export const decodeUtf8: (bytes: Uint8Array) => Option.Option<string> = Option.liftThrowable(
  (bytes: Uint8Array) => strictDecoder.decode(bytes)
)

/** Like {@link decodeUtf8}, for logs and people: U+FFFD stands for whatever is not UTF-8. */
export const decodeUtf8Lossy = (bytes: Uint8Array): string => lossyDecoder.decode(bytes)
