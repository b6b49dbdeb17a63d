/** A word as code in a cell of a table. */
export const code = (text: string): string => `\`${text}\``

export const codes = (texts: Iterable<string>): string => [...texts].map(code).join(", ")

/** Flags and variables in a text become code. What Markdown and HTML would interpret is escaped outside of code. */
export const plain = (text: string): string =>
  text
    .replaceAll(/(?<![\w`-])--[a-z][\w-]*|(?<![\w`])[A-Z][A-Z\d]*(?:_[A-Z\d]+)+(?![\w`])/g, "`$&`")
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll(/[\\<>*_[\]{}]/g, "\\$&")))
    .join("")

const row = (cells: ReadonlyArray<string>): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`

/** A table, or nothing without rows. A column that is empty in all rows is left out. */
export const table = (headings: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const used = headings.map((_, column) => rows.some((cells) => (cells[column] ?? "") !== ""))
  const keep = (cells: ReadonlyArray<string>) => cells.filter((_, column) => used[column])
  return rows.length === 0
    ? ""
    : [row(keep(headings)), `|${"---|".repeat(keep(headings).length)}`, ...rows.map((cells) => row(keep(cells)))].join(
        "\n"
      )
}

/** A page of blocks with blank lines in between; empty blocks are left out. */
export const page = (title: string, ...blocks: ReadonlyArray<string>): string => {
  const [introduction = "", ...others] = blocks
  const note = "`npm run reference` generates this page from the code."
  return `${[`# ${title}`, `${introduction} ${note}`, ...others].filter((block) => block !== "").join("\n\n")}\n`
}

/** The first sentence of a doc comment, with links as code. */
export const firstSentence = (comment: string): string => {
  const [introduction = ""] = comment.split(/:\s*\n\s*-/)
  const text = introduction
    .replaceAll(/\{@link (?:\w+\.)*(\w+)\}/g, "`$1`")
    .replaceAll(/\s+/g, " ")
    .trim()
  return /^(?:`[^`]*`|[^`])*?[.](?= |$)/.exec(text)?.[0] ?? text
}
