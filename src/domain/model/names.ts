import { Schema } from "effect"

/** True for a name that is safe in logs and terminals and that UTF-8 can encode. */
const isSingleLine = (text: string): boolean => text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)

/**
 * Gives the reason why a text cannot name a member or an office at a Server; `undefined` for a valid name (spec §13).
 * Invalid are names longer than `maxLength` UTF-16 units, and names with control characters, line breaks or unpaired
 * surrogates.
 */
export const checkName = (field: string, text: string, maxLength: number): string | undefined => {
  if (text.length > maxLength) return `${field} must not be longer than ${maxLength} characters`
  return isSingleLine(text) ? undefined : `${field} must not contain control characters or line breaks`
}

/** The maximum length of a name, office id or request id, in UTF-16 units. */
export const maxIdentifierLength = 256

/** The name of a member, office, request or tool. */
export const Identifier = Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(maxIdentifierLength))
