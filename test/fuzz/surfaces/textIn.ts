/**
 * The text that an input is. Escapes of JSON mean what they mean there, because texts come in JSON: so there are halves
 * of surrogate pairs, which bytes in UTF-8 cannot say.
 */
export const textIn = (input: Buffer): string => {
  const text = input.toString("utf8")
  return text.replaceAll(/\\u([0-9a-fA-F]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16))
  )
}

/** The JSON that an input is; a text where it is none. */
export const valueIn = (input: Buffer): unknown => {
  const text = input.toString("utf8")
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
