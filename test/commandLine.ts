/**
 * Parses a whole number of the command line, or returns the default. Throws an error with the flag and its bounds.
 */
export const wholeNumber = (
  flag: string,
  text: string | undefined,
  defaultValue: number,
  [least, most]: readonly [least: number, most: number]
): number => {
  const value = text === undefined ? defaultValue : Number(text)
  // JavaScript converts an empty text to 0.
  if (text?.trim() !== "" && Number.isInteger(value) && value >= least && value <= most) return value
  throw new Error(`--${flag} must be a whole number from ${least} to ${most}`)
}
