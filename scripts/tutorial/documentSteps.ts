/** One block of a page, with the machine that the text before it names in bold. */
export interface Step {
  readonly machine: string
  readonly kind: "commands" | "file" | "output"
  readonly text: string
  /** The name of a `file`: the last one in backquotes before the block. */
  readonly file: string
  /** The line of the block in its section, for messages. */
  readonly line: number
}

const kinds: { readonly [language: string]: Step["kind"] } = {
  sh: "commands",
  json: "file",
  ts: "file",
  text: "output"
}

/** The blocks of a Markdown text in their order. `machines` are the names that bold text may have. */
export const documentSteps = (markdown: string, machines: ReadonlyArray<string>): ReadonlyArray<Step> => {
  const [first = ""] = machines
  const steps: Array<Step> = []
  for (const match of markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    const [, language = "", text = ""] = match
    const kind = kinds[language]
    if (kind === undefined) continue
    const before = markdown.slice(0, match.index)
    const named = [...before.matchAll(/\*\*([a-z]+)\*\*/g)].map(([, name = ""]) => name)
    const machine = named.findLast((name) => machines.includes(name)) ?? first
    const file = [...before.matchAll(/`([\w.-]+\.(?:json|mts))`/g)].at(-1)?.[1] ?? ""
    steps.push({ machine, kind, text, file, line: before.split("\n").length })
  }
  return steps
}

/** The commands of a block: one per line, without comments, and joined where a line ends with a backslash. */
export const commandsOf = (block: string): ReadonlyArray<string> =>
  block
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s+)# .*$/, ""))
    .filter((line) => line !== "")

/** The section of a Markdown text below this heading, without those that follow. */
export const sectionOf = (markdown: string, heading: string): string => {
  const section = markdown.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))
  if (section === undefined) throw new Error(`no section ${heading}`)
  return section
}
