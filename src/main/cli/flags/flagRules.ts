import { parseArgs } from "node:util"
import { Config, Context, Effect, Option, Predicate } from "effect"
import { type Command, Param } from "effect/cli"
import { variableInHelp } from "./setting.ts"

/** A flag as its command declares it. */
export interface FlagDescription {
  readonly name: string
  readonly help: string
  readonly isBoolean: boolean
  readonly isList: boolean
  readonly variable: string | undefined
}

/** The properties of a flag below its checks, defaults and fallbacks; `undefined` without a flag. */
export const describeFlag = (param: unknown, isList = false): FlagDescription | undefined => {
  if (Predicate.hasProperty(param, "param")) {
    return describeFlag(param.param, isList || Predicate.isTagged(param, "Variadic"))
  }
  if (!Predicate.hasProperty(param, "name") || !Predicate.hasProperty(param, "primitiveType")) return undefined
  const { name, primitiveType } = param
  const description = Predicate.hasProperty(param, "description") ? param.description : undefined
  const help = Option.isOption(description) ? String(Option.getOrElse(description, () => "")) : ""
  const isBoolean = Predicate.isTagged(primitiveType, "Boolean")
  return { name: String(name), help, isBoolean, isList, variable: variableInHelp(help) }
}

/** The names of the flags of a part of a command's configuration. */
export const flagNames = (part: unknown): ReadonlyArray<string> => {
  const flag = describeFlag(part)
  if (flag !== undefined) return [flag.name]
  return Predicate.isObject(part) ? Object.values(part).flatMap(flagNames) : []
}

/** The words of the command line, also those that a file of flags adds. */
export const CommandLine = Context.Reference<ReadonlyArray<string>>("a2c-smcp/main/cli/flags/CommandLine", {
  defaultValue: () => process.argv.slice(2)
})

/** Flags that have an effect only with another flag, or only without it. */
export interface FlagRule<Options, Name extends string = keyof Options & string> {
  readonly flags: ReadonlyArray<Name>
  /** The other flag. The help of each flag and the warning have these words. */
  readonly rule: `only with --${string}` | `not with --${string}`
  readonly isMet: (options: Options) => boolean
}

/** The rules of a command, for the tests of all rules. */
export const DeclaredRules = Context.Reference<
  { readonly config: Command.Command.Config; readonly rules: ReadonlyArray<FlagRule<never, string>> } | undefined
>("a2c-smcp/main/cli/flags/DeclaredRules", { defaultValue: () => undefined })

/** The rules of a flag in one text: those that differ in the other flag alone share their first words. */
const formatRules = (rules: ReadonlyArray<string>): string =>
  Array.from(
    Map.groupBy(rules, (rule) => rule.slice(0, rule.indexOf("--"))),
    ([words, group]) => `${words}${group.map((rule) => rule.slice(words.length)).join(" or ")}`
  ).join("; ")

/** Adds the rules to the help of their flags, before its notes about variable and default. */
export const describeRules = <const C extends Command.Command.Config, Options>(
  config: C,
  rules: ReadonlyArray<FlagRule<Options, keyof C & string>>
): C => {
  const described = Object.entries(config).flatMap(([key, param]) => {
    const own = rules.filter(({ flags }) => flags.some((flag) => flag === key)).map(({ rule }) => rule)
    if (own.length === 0 || !Param.isParam(param)) return []
    const text = `; ${formatRules(own)}`
    const help = describeFlag(param)?.help.replace(/(?= \[(?:env |default: ))|$/, () => text) ?? text
    return [[key, Param.withDescription(param, help)]]
  })
  return Object.assign({}, config, Object.fromEntries(described))
}

/** The variable of a flag, when it is set. Variables without the prefix also belong to other programs. */
const setVariable = (variable: string | undefined) =>
  variable?.startsWith("A2C_") === true
    ? Effect.map(Effect.orDie(Config.option(Config.String(variable))), (text) =>
        Option.isSome(text) && text.value !== "" ? [variable] : []
      )
    : Effect.succeed([])

/** How a flag is given: by its words, or by its variable. */
const sourceOf = Effect.fnUntraced(function* (param: unknown) {
  const { name, variable } = describeFlag(param) ?? {}
  const { tokens } = parseArgs({ args: [...(yield* CommandLine)], strict: false, tokens: true })
  const given = tokens.find((token) => token.kind === "option" && [name, `no-${name}`].includes(token.name))
  return given?.kind === "option" ? [given.rawName] : yield* setVariable(variable)
})

/** Warns of flags that have no effect beside the others: one line for each rule. */
export const warnOfFlagsWithoutEffect = Effect.fnUntraced(function* <Options>(
  config: Command.Command.Config,
  rules: ReadonlyArray<FlagRule<Options, string>>,
  options: Options
) {
  const reported = new Set<string>()
  for (const { flags, isMet, rule } of rules) {
    if (isMet(options)) continue
    const others = flags.filter((flag) => !reported.has(flag))
    for (const flag of others) reported.add(flag)
    const given = (yield* Effect.forEach(others, (flag) => sourceOf(config[flag]))).flat()
    if (given.length > 0) yield* Effect.logWarning("flags without effect", { flags: given, rule })
  }
})
