const controlCharacters = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** Zero-width characters, bidirectional controls and others that show nothing: also blank Braille and annotation marks. */
const invisibleCharacters = /[\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/u

/** Emoji with the joiners, variation selectors and tags that they consist of. */
const emoji = /\p{RGI_Emoji}/gv

/** Visible ASCII characters, and spaces between them: most names. */
const plainName = /^[!-~](?:[ -~]*[!-~])?$/

/**
 * Gives the reason why a text cannot name a member or an office at a Server; `undefined` for a valid name (spec §13).
 * `maxLength` is in UTF-16 units. A valid name shows all of its characters, and UTF-8 can encode it.
 */
export const checkName = (field: string, text: string, maxLength: number): string | undefined => {
  if (text.length > maxLength) return `${field} must not be longer than ${maxLength} characters`
  if (plainName.test(text)) return undefined
  if (!text.isWellFormed() || controlCharacters.test(text)) {
    return `${field} must not contain control characters or line breaks`
  }
  if (text !== text.trim()) return `${field} must not begin or end with white space`
  return invisibleCharacters.test(text.replaceAll(emoji, ""))
    ? `${field} must not contain invisible characters`
    : undefined
}

export const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text)

/**
 * The form in which names are compared for uniqueness: equal for names that differ only in compatible characters (NFKC)
 * or in the style of an emoji. The key of a key is the key itself.
 */
export const nameKey = (name: string): string =>
  // Most names are ASCII, and every routed call looks one up.
  isAscii(name) ? name : name.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "").normalize("NFKC")
