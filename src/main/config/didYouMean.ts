/** The edit distance: single characters to insert, delete or replace, and neighbours to swap. */
const editDistance = (one: string, other: string): number => {
  let before: ReadonlyArray<number> = []
  let row: ReadonlyArray<number> = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [line, char] of [...one].entries()) {
    const next = [line + 1]
    for (const [column, against] of [...other].entries()) {
      const replaced = (row[column] ?? 0) + (char === against ? 0 : 1)
      const isSwapped = column > 0 && char === other[column - 1] && one[line - 1] === against
      const swapped = isSwapped ? (before[column - 1] ?? 0) + 1 : Infinity
      next.push(Math.min(replaced, swapped, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row.at(-1) ?? 0
}

/** The most similar name: one with this prefix, or one that differs in at most a third of the characters. */
const closestMatch = (word: string, names: ReadonlyArray<string>): string | undefined => {
  const longer = names.find((name) => word !== "" && name.startsWith(word))
  if (longer !== undefined) return longer
  const maxEdits = Math.max(1, Math.floor(word.length / 3))
  const [best] = names
    // Counting the edits of a long word takes long, and each character more is an edit.
    .filter((name) => Math.abs(name.length - word.length) <= maxEdits)
    .map((name) => ({ name, editCount: editDistance(word, name) }))
    .filter(({ editCount }) => editCount <= maxEdits)
    .sort((left, right) => left.editCount - right.editCount)
  return best?.name
}

/** Suggests a similar name at the end of a message about an unknown one; empty without a similar name. */
export const didYouMean = (word: string, names: ReadonlyArray<string>): string => {
  const name = closestMatch(word, names)
  return name === undefined ? "" : `: did you mean '${name}'?`
}
