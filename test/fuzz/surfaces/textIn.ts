import { parseJsonOrThrow } from "../../../src/domain/json.ts"

/** Decodes an input to text with JSON escapes, which can express lone surrogates where UTF-8 bytes cannot. */
export const textIn = (input: Buffer): string => {
  const text = input.toString("utf8")
  return text.replaceAll(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** Parses an input as JSON; invalid JSON gives the text. */
export const valueIn = (input: Buffer): unknown => {
  const text = input.toString("utf8")
  try {
    return parseJsonOrThrow(text)
  } catch {
    return text
  }
}
