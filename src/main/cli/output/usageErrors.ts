import { parseArgs } from "node:util"
import { Option } from "effect"
import { CliError, type HelpDoc } from "effect/cli"
import { didYouMean } from "../../config/didYouMean.ts"
import { variableInHelp } from "../flags/setting.ts"

/** What is wrong with a command line, and what it shows of its command. */
export interface Usage {
  readonly args: ReadonlyArray<string>
  readonly commandPath: ReadonlyArray<string>
  readonly helpDoc: HelpDoc.HelpDoc
}

const flagsOf = ({ flags, globalFlags = [], inheritedFlags = [] }: HelpDoc.HelpDoc): ReadonlyArray<HelpDoc.FlagDoc> => [
  ...flags,
  ...inheritedFlags,
  ...globalFlags
]

/** The words of a command line behind the names of its command that are neither flags nor their values. */
const operandsOf = ({ args, commandPath, helpDoc }: Usage): ReadonlyArray<string> => {
  const withValue = flagsOf(helpDoc).filter(({ type }) => type !== "boolean")
  const options = Object.fromEntries(withValue.map(({ name }) => [name, { type: "string" } as const]))
  return parseArgs({ args: [...args], options, strict: false }).positionals.slice(commandPath.length - 1)
}

/** The required flags and arguments that a command line and the environment leave out. */
const missingParts = (usage: Usage, environment: NodeJS.ProcessEnv): ReadonlyArray<string> => {
  const { args, helpDoc } = usage
  const isGiven = ({ aliases, description, name }: HelpDoc.FlagDoc): boolean =>
    environment[variableInHelp(Option.getOrElse(description, () => "")) ?? ""] !== undefined ||
    args.some((word) => [`--${name}`, ...aliases].includes(word.split("=", 1)[0] ?? ""))
  return [
    ...flagsOf(helpDoc).flatMap((flag) => (flag.required && !isGiven(flag) ? [`--${flag.name}`] : [])),
    ...(helpDoc.args ?? [])
      .filter(({ required }) => required)
      .slice(operandsOf(usage).length)
      .map(({ name }) => `<${name}>`)
  ]
}

const unknownFlag = (option: string, { commandPath, helpDoc }: Usage): string => {
  const names = flagsOf(helpDoc).map(({ name }) => `--${name}`)
  return names.includes(option)
    ? `${option} belongs behind '${commandPath.join(" ")}'`
    : `Unknown flag ${option}${didYouMean(option, names)}`
}

const unknownSubcommand = (word: string, { commandPath, helpDoc }: Usage): string => {
  const names = (helpDoc.subcommands ?? []).flatMap(({ commands }) => commands.map(({ name }) => name))
  return `'${commandPath.join(" ")}' has no subcommand '${word}'${didYouMean(word, names)}`
}

/** The message about a word at the place of a subcommand; `undefined` without one. */
export const explainUnknownSubcommand = (usage: Usage): string | undefined => {
  const [word] = operandsOf(usage)
  return word === undefined || (usage.helpDoc.subcommands ?? []).length === 0
    ? undefined
    : unknownSubcommand(word, usage)
}

/** An invalid value as it was typed, since the error has numbers and sizes as they were understood. */
const invalidValue = ({ expected, kind, option, value }: CliError.InvalidValue, args: ReadonlyArray<string>) => {
  const typed = args.flatMap((word, index) => {
    const [name, attached] = word.split(/=(.*)/s, 2)
    return name === `--${option}` ? [attached ?? args[index + 1] ?? ""] : []
  })
  const shown = typed.length === 1 ? (typed[0] ?? value) : value
  const wanted = expected
    .replace("a string representing a finite number", "a number")
    .replace("an integer", "a whole number")
  return new CliError.InvalidValue({ kind, option, value: shown, expected: wanted }).message
}

/** Explains the errors of a command line: all missing parts at once, and names that are similar to unknown ones. */
export const explainUsageErrors = (
  errors: ReadonlyArray<CliError.NonShowHelpErrors>,
  usage: Usage,
  environment: NodeJS.ProcessEnv
): ReadonlyArray<string> => {
  const unknownFlags = errors.filter(({ _tag }) => _tag === "UnrecognizedOption")
  // The value of an unknown flag looks like a subcommand or an argument.
  const relevant = unknownFlags.length > 0 ? unknownFlags : errors
  return relevant.map((error) => {
    if (error._tag === "UnrecognizedOption") return unknownFlag(error.option, usage)
    if (error._tag === "UnknownSubcommand") return unknownSubcommand(error.subcommand, usage)
    if (error._tag === "InvalidValue") return invalidValue(error, usage.args)
    const isMissing = error._tag === "MissingArgument" || error._tag === "MissingOption"
    const missing = isMissing ? missingParts(usage, environment) : []
    return missing.length === 0 ? error.message : `Missing ${missing.join(", ")}`
  })
}
