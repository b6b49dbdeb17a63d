import { Schema } from "effect"

/** Would break lines and terminals, or be nothing that UTF-8 can tell from another name. */
const isSingleLine = (text: string): boolean => text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)

/**
 * Why a text cannot name a member or an office at a Server, or `undefined` when it can: it is longer than so many UTF-16
 * units, or holds control characters, line breaks or halves of characters (spec §13).
 */
export const checkName = (field: string, text: string, maxLength: number): string | undefined => {
  if (text.length > maxLength) return `${field} must not be longer than ${maxLength} characters`
  return isSingleLine(text) ? undefined : `${field} must not hold control characters or line breaks`
}

/** Longest name, office id or request id we accept, in UTF-16 units. Room for any UUID, URL or sentence. */
export const maxIdentifierLength = 256

/** A non-empty string that names something: a member, an office, a request, a tool. */
export const Identifier = Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(maxIdentifierLength))
