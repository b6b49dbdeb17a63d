/** Characters that end lines, control terminals, or hide and reorder text. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\s]+/gu

/** Makes one line of a foreign text for the context of a model: visible characters, and at most `maxLength` of them. */
export const singleLine = (text: string, maxLength: number): string => {
  // The bound on what is read keeps long texts cheap.
  const line = text
    .slice(0, 4 * maxLength)
    .replaceAll(invisible, " ")
    .trim()
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…`
}
