import { Config, Effect, Option, Redacted, Result } from "effect"
import type { CliError, Flag } from "effect/cli"
import { isJsonObject } from "../../../domain/json.ts"
import { formatDiagnostic, readTextFile } from "../../config/configFiles.ts"
import { parseJsonc } from "../../config/jsonc.ts"
import { parseYaml } from "../../config/yaml.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { failCommand } from "../../CommandFailed.ts"
import { describeFlag, type FlagDescription } from "../flags/flagRules.ts"
import { currentNameOf, variablesOf } from "../flags/setting.ts"
import { loggingFlags, otlpFlag } from "../flags/globalFlags.ts"
import { configFlagName, configVariable, serverFlags } from "./flags.ts"

/** In characters; the file has few lines per flag. */
const maxFileLength = 256 * 1024

type Parser = Pick<Flag.Flag<unknown>, "parse">

type FileFlag = FlagDescription & Parser

type Flags = { readonly [key: string]: Parser | Flags }

const describe = (flag: Parser): ReadonlyArray<FileFlag> => {
  const description = describeFlag(flag)
  return description === undefined ? [] : [{ ...description, parse: flag.parse }]
}

const describeAll = (flags: Flags): ReadonlyArray<FileFlag> =>
  Object.values(flags).flatMap((flag) =>
    typeof flag.parse === "function" ? describe({ ...flag, parse: flag.parse }) : describeAll(flag as Flags)
  )

const knownFlags: ReadonlyMap<string, FileFlag> = new Map(
  [...describeAll(serverFlags), ...[...loggingFlags, otlpFlag].flatMap(({ flag }) => describe(flag))]
    .filter(({ name }) => name !== configFlagName)
    // Effect's own flag has no variable; this command reads one.
    .map((flag): [string, FileFlag] => [
      flag.name,
      flag.name === "log-level" ? { ...flag, variable: "A2C_LOG_LEVEL" } : flag
    ])
)

/** The texts by which a command line would give a value; a reason when the type does not fit. */
const textsOf = (value: unknown, { isBoolean, isList }: FileFlag): Result.Result<ReadonlyArray<string>, string> => {
  const items: ReadonlyArray<unknown> = isList && Array.isArray(value) ? value : [value]
  const expected = isBoolean ? "true or false" : isList ? "a list of texts" : "a text or number"
  const isItem = (item: unknown) =>
    isBoolean ? typeof item === "boolean" : typeof item === "string" || typeof item === "number"
  return items.length > 0 && items.every(isItem)
    ? Result.succeed(items.map(String))
    : Result.fail(`expected ${expected}`)
}

/** The reason of an invalid value. It does not repeat the value, which may be a secret. */
const reasonOf = (error: CliError.CliError): string =>
  error._tag === "InvalidValue"
    ? `expected ${error.expected.replace(/^Expected:? /, "").replace("a string representing ", "")}`
    : error._tag === "UserError"
      ? error.message
      : "the value is invalid"

const argumentsOf = Effect.fnUntraced(function* (key: string, value: unknown) {
  const flag = knownFlags.get(key)
  if (flag === undefined) return yield* Effect.fail(`unknown flag${didYouMean(key, [...knownFlags.keys()])}`)
  const texts = yield* Effect.fromResult(textsOf(value, flag))
  const [, parsed] = yield* Effect.mapError(flag.parse({ flags: { [key]: texts }, arguments: [] }), reasonOf)
  if (Redacted.isRedacted(parsed) && parsed.label !== undefined) {
    return yield* Effect.fail(`a secret must not be in this file: give "@FILE", or the variable ${flag.variable}`)
  }
  return texts.map((text) => `--${key}=${text}`)
})

/** Reads a file of flags: YAML, or JSON with comments. Gives the arguments of each flag. */
const readFlagsFile = Effect.fnUntraced(function* (file: string) {
  const fail = (errors: ReadonlyArray<Omit<Parameters<typeof formatDiagnostic>[0], "file" | "severity">>) =>
    failCommand(errors.map((error) => formatDiagnostic({ ...error, file, severity: "error" })).join("\n"))
  const text = yield* Effect.catch(readTextFile(file), (issue) => fail([{ path: [], issue }]))
  if (text.length > maxFileLength) return yield* fail([{ path: [], issue: "the file is too long" }])
  const { errors, locate, value } = /\.jsonc?$/.test(file) ? parseJsonc(text) : parseYaml(text)
  if (errors.length > 0) return yield* fail(errors)
  // A file with comments only has no value.
  if (value !== null && !isJsonObject(value)) {
    return yield* fail([{ path: [], issue: "expected the names of flags with values, as port: 7070" }])
  }
  const [entries, problems] = yield* Effect.partition(Object.entries(value ?? {}), ([given, one]) => {
    const key = currentNameOf(given)
    return Effect.mapBoth(argumentsOf(key, one), {
      onFailure: (issue) => ({ path: [given], issue, ...locate([given]) }),
      onSuccess: (words) => ({ key, words })
    })
  })
  return problems.length > 0 ? yield* fail(problems) : entries
})

/** Flags with a value that may stand before the command. */
const globalValueFlags: ReadonlySet<string> = new Set(["--log-level", "--log-format", "--otlp", "--completions"])

/** The position of the first word that is neither a flag nor its value. */
const commandIndex = (args: ReadonlyArray<string>): number =>
  args.findIndex((word, index) => !word.startsWith("-") && !globalValueFlags.has(args[index - 1] ?? ""))

const hasFlag = (args: ReadonlyArray<string>, name: string): boolean =>
  args.some((word) => word === `--${name}` || word === `--no-${name}` || word.startsWith(`--${name}=`))

const valueOfFlag = (args: ReadonlyArray<string>, name: string): string | undefined => {
  const index = args.findIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`))
  const word = args[index]
  return word?.includes("=") === true ? word.slice(word.indexOf("=") + 1) : args[index + 1]
}

const isSubcommand = (rest: ReadonlyArray<string>): boolean =>
  rest.some((word, index) => ["key", "status"].includes(word) && !rest[index - 1]?.startsWith("--"))

const readVariable = (name: string) => Effect.orDie(Config.option(Config.String(name)))

/**
 * Adds the flags of the file of `a2c server --config` to the command line: they have the effect of flags, but flags and
 * variables that are given win. Other command lines stay unchanged.
 */
export const expandServerConfig = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const at = commandIndex(args)
  const rest = args.slice(at + 1)
  if (args[at] !== "server" || isSubcommand(rest)) return args
  if (args.some((word) => ["--help", "-h", "--version"].includes(word))) return args
  const isGiven = hasFlag(rest, configFlagName)
  const fromVariable = Option.getOrUndefined(yield* readVariable(configVariable))
  const file = isGiven ? valueOfFlag(rest, configFlagName) : fromVariable
  if (file === undefined || file === "") return args
  const added: Array<string> = []
  for (const { key, words } of yield* readFlagsFile(file)) {
    const variables = variablesOf(key, knownFlags.get(key)?.variable)
    const values = yield* Effect.forEach(variables, readVariable)
    if (!values.some(Option.isSome) && !hasFlag(args, key)) added.push(...words)
  }
  return [...args.slice(0, at + 1), ...added, ...rest]
})
