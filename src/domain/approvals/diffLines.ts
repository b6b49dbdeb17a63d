/** A line of the earlier text, of the later one, or of both. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
}

/** Lines of each text that are compared. When more of them differ, all of them count as replaced. */
export const maxDiffLines = 500

/** Unchanged lines that a part keeps beside a change. */
const contextLines = 3

const toLines = (kind: DiffLine["kind"], texts: ReadonlyArray<string>) => texts.map((text) => ({ kind, text }))

/** Compares lines by their longest common subsequence. Time and memory grow with the product of the lengths. */
const compareLines = (old: ReadonlyArray<string>, next: ReadonlyArray<string>): ReadonlyArray<DiffLine> => {
  const width = next.length + 1
  /** The length of the longest common subsequence of what follows two positions. */
  const lengths = new Uint16Array((old.length + 1) * width)
  const lengthAt = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = next.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        old[row] === next[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1))
    }
  }
  const lines: Array<DiffLine> = []
  let [row, column] = [0, 0]
  while (row < old.length && column < next.length) {
    if (old[row] === next[column]) {
      lines.push({ kind: "same", text: old[row++] ?? "" })
      column++
    } else if (lengthAt(row + 1, column) >= lengthAt(row, column + 1)) {
      lines.push({ kind: "removed", text: old[row++] ?? "" })
    } else {
      lines.push({ kind: "added", text: next[column++] ?? "" })
    }
  }
  return [...lines, ...toLines("removed", old.slice(row)), ...toLines("added", next.slice(column))]
}

/**
 * Compares two texts line by line. The lines that are the same or removed give the earlier text, and those that are the
 * same or added give the later one.
 */
export const diffLines = (before: string, after: string): ReadonlyArray<DiffLine> => {
  const [old, next] = [before.split("\n"), after.split("\n")]
  const shortest = Math.min(old.length, next.length)
  let start = 0
  while (start < shortest && old[start] === next[start]) start++
  let end = 0
  while (end < shortest - start && old.at(-1 - end) === next.at(-1 - end)) end++
  const removed = old.slice(start, old.length - end)
  const added = next.slice(start, next.length - end)
  const changed =
    Math.max(removed.length, added.length) > maxDiffLines
      ? [...toLines("removed", removed), ...toLines("added", added)]
      : compareLines(removed, added)
  return [...toLines("same", old.slice(0, start)), ...changed, ...toLines("same", old.slice(old.length - end))]
}

/** Adjacent lines of one kind. `omitted` counts unchanged lines that are far from a change, and has no text. */
export interface DiffPart {
  readonly kind: DiffLine["kind"] | "omitted"
  readonly text: string
  readonly count: number
}

const toPart = (kind: DiffLine["kind"], lines: ReadonlyArray<DiffLine>): DiffPart => ({
  kind,
  text: lines.map(({ text }) => text).join("\n"),
  count: lines.length
})

/** Joins adjacent lines of one kind, and leaves out unchanged lines that are far from a change. */
export const groupDiff = (lines: ReadonlyArray<DiffLine>): ReadonlyArray<DiffPart> => {
  const parts: Array<DiffPart> = []
  for (let start = 0, end = 0; start < lines.length; start = end) {
    const kind = lines[start]?.kind ?? "same"
    while (end < lines.length && lines[end]?.kind === kind) end++
    const run = lines.slice(start, end)
    const [before, after] = [start === 0 ? 0 : contextLines, end === lines.length ? 0 : contextLines]
    const count = run.length - before - after
    // The count of one line would take the place of that line.
    if (kind !== "same" || count < 2) parts.push(toPart(kind, run))
    else {
      const last = toPart(kind, run.slice(run.length - after))
      parts.push(toPart(kind, run.slice(0, before)), { kind: "omitted", text: "", count }, last)
    }
  }
  return parts.filter(({ count }) => count > 0)
}
