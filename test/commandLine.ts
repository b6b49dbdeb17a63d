/** A whole number of the command line, or the usual one. Throws an error that names the flag and its bounds. */
export const wholeNumber = (
  flag: string,
  text: string | undefined,
  defaultValue: number,
  [least, most]: readonly [least: number, most: number]
): number => {
  const value = text === undefined ? defaultValue : Number(text)
  // No text is the number 0 to JavaScript.
  if (text?.trim() !== "" && Number.isInteger(value) && value >= least && value <= most) return value
  throw new Error(`--${flag} must be a whole number from ${least} to ${most}`)
}
