import { parseArgs } from "node:util"
import { Config, Effect, Option, Redacted, Result } from "effect"
import type { CliError, Flag } from "effect/cli"
import { workerVariable } from "../../../adapters/workers/WorkerIdentity.ts"
import { isJsonObject } from "../../../domain/json.ts"
import { type ConfigDiagnostic, formatDiagnostic, jsonc, readDocument, yaml } from "../../config/documents.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { failCommand } from "../../CommandFailed.ts"
import { describeFlag, type FlagDescription } from "../flags/flagRules.ts"
import { loggingFlags, otlpFlag } from "../flags/globalFlags.ts"
import { configFlagName, configVariable, serverFlags } from "./flags.ts"

type Parser = Pick<Flag.Flag<unknown>, "parse">

type FileFlag = FlagDescription & Parser

const { config: _, limits, ...otherFlags } = serverFlags

const flags: ReadonlyArray<Parser> = [
  ...Object.values({ ...otherFlags, ...limits }),
  ...[...loggingFlags, otlpFlag].map(({ flag }) => flag)
]

const knownFlags: ReadonlyMap<string, FileFlag> = new Map(
  flags.flatMap((flag) => {
    const description = describeFlag(flag)
    if (description === undefined) return []
    // Effect's own flag has no variable; this command reads one.
    const own = description.name === "log-level" && { variable: "A2C_LOG_LEVEL" }
    return [[description.name, { ...description, ...own, parse: flag.parse }] as const]
  })
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
  const fail = (errors: ReadonlyArray<Omit<ConfigDiagnostic, "file" | "severity">>) =>
    failCommand(errors.map((error) => formatDiagnostic({ ...error, file, severity: "error" })).join("\n"))
  const { locate, value } = yield* Effect.catch(readDocument(file, /\.jsonc?$/.test(file) ? jsonc : yaml), fail)
  // A file with comments only has no value.
  if (value !== null && !isJsonObject(value)) {
    return yield* fail([{ path: [], issue: "expected the names of flags with values, as port: 7070" }])
  }
  const [entries, problems] = yield* Effect.partition(Object.entries(value ?? {}), ([key, one]) =>
    Effect.mapBoth(argumentsOf(key, one), {
      onFailure: (issue) => ({ path: [key], issue, ...locate([key]) }),
      onSuccess: (words) => ({ key, words })
    })
  )
  return problems.length > 0 ? yield* fail(problems) : entries
})

/** The flags with a value, some of which may stand before the command. */
const valueFlags = [...knownFlags.values()].flatMap(({ isBoolean, name }) => (isBoolean ? [] : [name]))

const parseOptions = Object.fromEntries(
  [...valueFlags, configFlagName, "completions"].map((name) => [name, { type: "string" } as const])
)

const readVariable = (name: string) => Effect.orDie(Config.option(Config.String(name)))

/**
 * Adds the flags of the file of `a2c server --config` to the command line: they have the effect of flags, but flags and
 * variables that are given win. Other command lines stay unchanged.
 */
export const expandServerConfig = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const { tokens } = parseArgs({ args: [...args], options: parseOptions, strict: false, tokens: true })
  const [command, subcommand] = tokens.filter((token) => token.kind === "positional")
  if (command?.value !== "server" || subcommand !== undefined) return args
  // The command line of a worker has the flags of the file that its primary process has read.
  if (Option.isSome(yield* readVariable(workerVariable))) return args
  const given = new Map(
    tokens.flatMap((token) => (token.kind === "option" ? [[token.name.replace(/^no-/, ""), token.value]] : []))
  )
  if (["help", "h", "version"].some((name) => given.has(name))) return args
  const fromVariable = Option.getOrUndefined(yield* readVariable(configVariable))
  const file = given.has(configFlagName) ? given.get(configFlagName) : fromVariable
  if (file === undefined || file === "") return args
  const added: Array<string> = []
  for (const { key, words } of yield* readFlagsFile(file)) {
    const variable = knownFlags.get(key)?.variable
    const value = variable === undefined ? Option.none() : yield* readVariable(variable)
    if (Option.isNone(value) && !given.has(key)) added.push(...words)
  }
  return args.toSpliced(command.index + 1, 0, ...added)
})
