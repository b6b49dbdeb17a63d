import { parseArgs } from "node:util"

/** An option of a command. */
interface Option<A> {
  /** The word for its value in the help; a flag has none. */
  readonly value?: string
  readonly about: string
  readonly isRepeatable?: boolean
  /** Parses the values on the command line. Throws an error with a message for the user. */
  readonly parse: (texts: ReadonlyArray<string>, name: string) => A
}

type Values<Options> = { readonly [Name in keyof Options]: Options[Name] extends Option<infer A> ? A : never }

type Bounds = readonly [least: number, most: number]

/** Parses a whole number of the command line. Throws an error with the name of its option and its bounds. */
export const wholeNumber = (name: string, text: string, [least, most]: Bounds): number => {
  // JavaScript converts an empty text to 0.
  const value = text.trim() === "" ? Number.NaN : Number(text)
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw new Error(`--${name} must be a whole number from ${least} to ${most}`)
}

export const flag = (about: string): Option<boolean> => ({ about, parse: (texts) => texts.length > 0 })

export const text = (value: string, about: string): Option<string | undefined> => ({
  value,
  about,
  parse: ([first]) => first
})

export const texts = (value: string, about: string): Option<ReadonlyArray<string>> => ({
  value,
  about,
  isRepeatable: true,
  parse: (all) => all
})

export const number = <D extends number | undefined>(
  value: string,
  about: string,
  bounds: Bounds,
  defaultValue: D
): Option<number | D> => ({
  value,
  about,
  parse: ([first], name) => (first === undefined ? defaultValue : wholeNumber(name, first, bounds))
})

/** Makes the parser of a command line and the rows of its help, both with `--help`. */
export const makeCommandLine = <const Options extends { readonly [name: string]: Option<unknown> }>(given: Options) => {
  const options = { ...given, help: flag("print this help") }
  const rows = Object.entries<Option<unknown>>(options)
  const terms = rows.map(([name, { value }]) => `  --${name}${value === undefined ? "" : ` ${value}`}`)
  const width = Math.max(...terms.map(({ length }) => length))
  return {
    /** Throws an error with a message for the user. */
    parse: (args: ReadonlyArray<string>, allowPositionals = false) => {
      const { positionals, values } = parseArgs({
        args: [...args],
        allowPositionals,
        options: Object.fromEntries(
          rows.map(([name, { isRepeatable = false, value }]) => [
            name,
            { type: value === undefined ? ("boolean" as const) : ("string" as const), multiple: isRepeatable }
          ])
        )
      })
      const textsOf = (name: string) => [values[name] ?? []].flat().map(String)
      const parsed = Object.fromEntries(rows.map(([name, { parse }]) => [name, parse(textsOf(name), name)]))
      return { ...(parsed as Values<typeof options>), positionals }
    },
    help: rows.map(([, { about }], index) => `${terms[index]?.padEnd(width)}  ${about}`).join("\n")
  }
}

/** Parses the options of this process. Prints the help and exits with 0, or prints why they are invalid and exits with 2. */
export const optionsOrExit = <Parsed extends { readonly help: boolean }>(
  parse: (args: ReadonlyArray<string>) => Parsed,
  help: string
): Parsed => {
  try {
    const options = parse(process.argv.slice(2))
    if (!options.help) return options
    process.stdout.write(help)
    return process.exit(0)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\nSee --help.\n`)
    return process.exit(2)
  }
}
