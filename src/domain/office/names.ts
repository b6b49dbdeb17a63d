/** Would break lines and terminals, or be nothing that UTF-8 can tell from another name. */
const isPlain = (text: string): boolean => text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)

/**
 * Why a text cannot name a member or an office at a Server, or `undefined` when it can: it is longer than so many UTF-16
 * units, or holds control characters, line breaks or halves of characters (spec §13).
 */
export const nameFault = (what: string, text: string, most: number): string | undefined => {
  if (text.length > most) return `${what} must not be longer than ${most} characters`
  return isPlain(text) ? undefined : `${what} must not hold control characters or line breaks`
}
