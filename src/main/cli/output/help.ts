import { Context, Option } from "effect"
import { CliOutput, type HelpDoc } from "effect/cli"
import type { Colour } from "../../../adapters/log/colours.ts"
import { wrapText, wrapWords } from "./columns.ts"

/** Titles of groups of flags, with the names of their flags. The others come first. */
export const FlagGroups = Context.Reference<{ readonly [title: string]: ReadonlyArray<string> }>(
  "a2c-smcp/main/cli/FlagGroups",
  { defaultValue: () => ({}) }
)

interface Entry {
  readonly name: string
  readonly type?: string | undefined
  readonly about: string
  readonly colour: Colour
}

/** The width from which descriptions stand beside the names, and the longest name that they stand beside. */
const minTwoColumns = 60
const maxNameColumns = 28

const flagEntry = ({ aliases, description, name, type }: HelpDoc.FlagDoc): Entry => ({
  name: [`--${name}`, ...aliases].join(", "),
  // The description lists the values of a choice.
  type: type === "boolean" ? undefined : type.startsWith("<") ? "choice" : type,
  about: Option.getOrElse(description, () => ""),
  colour: "green"
})

const argumentEntry = ({ description, name, required, type, variadic }: HelpDoc.ArgDoc): Entry => ({
  name: `${name}${variadic && !name.endsWith("...") ? "..." : ""}`,
  type,
  about: `${Option.getOrElse(description, () => "")}${required ? "" : " (optional)"}`,
  colour: "green"
})

const commandEntry = ({ alias, description, name, shortDescription }: HelpDoc.SubcommandDoc): Entry => ({
  name: [name, alias].filter(Boolean).join(", "),
  about: shortDescription ?? description,
  colour: "cyan"
})

/** Words of a command line; a quoted one stays whole. */
const wordsOf = (commandLine: string): ReadonlyArray<string> => commandLine.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []

/** Formats help in at most `columns`, and breaks lines between words only. `paint` colours a text on one line. */
export const formatHelp = (doc: HelpDoc.HelpDoc, columns: number, paint: (colour: Colour, text: string) => string) => {
  const formatEntries = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => {
    const widths = entries.map(({ name, type = "" }) => CliOutput.displayWidth(`${name} ${type}`.trim()))
    const nameColumns = columns < minTwoColumns ? 4 : Math.min(maxNameColumns, Math.max(...widths))
    return entries.flatMap(({ about, name, colour, type }, index) => {
      const head = `  ${paint(colour, name)}${type === undefined ? "" : ` ${paint("dim", type)}`}`
      const [first = "", ...rest] = wrapText(about, columns - nameColumns - 4)
      const hanging = " ".repeat(nameColumns + 4)
      const padding = nameColumns - (widths[index] ?? 0)
      const lines = padding < 0 ? [head, `${hanging}${first}`] : [`${head}${" ".repeat(padding + 2)}${first}`]
      return [...lines, ...rest.map((line) => `${hanging}${line}`)].map((line) => line.trimEnd())
    })
  }
  const section = (title: string, lines: ReadonlyArray<string>) =>
    lines.length === 0 ? [] : [[paint("bold", title), ...lines].join("\n")]
  const entries = <A>(title: string, docs: ReadonlyArray<A> | undefined, entryOf: (one: A) => Entry) =>
    docs === undefined || docs.length === 0 ? [] : section(title, formatEntries(docs.map(entryOf)))
  const example = ({ command, description = "" }: HelpDoc.ExampleDoc): string =>
    [
      ...wrapText(description, columns - 4).map((line) => `  ${paint("dim", `# ${line}`)}`),
      ...wrapWords(wordsOf(command), { columns: columns - 4, hanging: 2, end: " \\" }).map(
        (line) => `  ${paint("cyan", line)}`
      )
    ].join("\n")

  const groups = Object.entries(Context.get(doc.annotations, FlagGroups))
  const grouped = new Set(groups.flatMap(([, names]) => names))
  return [
    wrapText(doc.description, columns).join("\n"),
    ...section(
      "USAGE",
      wrapWords(doc.usage.split(" "), { columns: columns - 2, hanging: 4 }).map((line) => `  ${paint("cyan", line)}`)
    ),
    ...(doc.subcommands ?? []).flatMap(({ commands, group = "SUBCOMMANDS" }) => entries(group, commands, commandEntry)),
    ...entries("ARGUMENTS", doc.args, argumentEntry),
    ...entries(
      "FLAGS",
      doc.flags.filter(({ name }) => !grouped.has(name)),
      flagEntry
    ),
    ...groups.flatMap(([title, names]) =>
      entries(
        `FLAGS: ${title.toUpperCase()}`,
        doc.flags.filter(({ name }) => names.includes(name)),
        flagEntry
      )
    ),
    ...section("EXAMPLES", [(doc.examples ?? []).map(example).join("\n\n")].filter(Boolean)),
    ...entries("INHERITED FLAGS", doc.inheritedFlags, flagEntry),
    ...entries("GLOBAL FLAGS", doc.globalFlags, flagEntry)
  ].join("\n\n")
}
