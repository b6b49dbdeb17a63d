import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer, Option } from "effect"
import { CliOutput, Command, type HelpDoc } from "effect/cli"
import { cliConfigLayer } from "../../src/main/cli/completion/completionScripts.ts"
import { envVariableOf } from "../../src/main/cli/flags/setting.ts"
import { rootCommand } from "../../src/main/cli/root.ts"
import { code, codes, page, plain, table } from "./markdown.ts"

/** A flag or an argument, as the help of a command describes it. */
interface Setting {
  readonly name: string
  readonly help: string
  readonly variable: string | undefined
  readonly default: string
}

interface CommandDoc {
  readonly path: string
  readonly doc: HelpDoc.HelpDoc
}

const pathsOf = (
  command: Command.Command.Any,
  path: ReadonlyArray<string> = []
): ReadonlyArray<ReadonlyArray<string>> => [
  path,
  ...command.subcommands.flatMap(({ commands }) => commands.flatMap((child) => pathsOf(child, [...path, child.name])))
]

const formatter = CliOutput.defaultFormatter({ colors: false })

/** What `a2c … --help` formats. */
const readHelp = Effect.fnUntraced(function* (path: ReadonlyArray<string>) {
  const docs: Array<HelpDoc.HelpDoc> = []
  const formatHelpDoc = (doc: HelpDoc.HelpDoc) => {
    docs.push(doc)
    return ""
  }
  yield* Command.runWith(rootCommand, { version: "0" })([...path, "--help"]).pipe(
    Effect.provideService(Console.Console, { ...globalThis.console, log: () => undefined }),
    Effect.provide(Layer.mergeAll(NodeServices.layer, cliConfigLayer, CliOutput.layer({ ...formatter, formatHelpDoc })))
  )
  return docs.map((doc): CommandDoc => ({ path: ["a2c", ...path].join(" "), doc }))
})

/** The commands of `a2c` with their help. */
export const readCommands = Effect.map(Effect.forEach(pathsOf(rootCommand), readHelp), (docs) => docs.flat())

/** Splits a help text: `port [env A2C_PORT; default: 7070] (choices: …)`. */
const splitHelp = (name: string, description: Option.Option<string>): Setting => {
  const text = Option.getOrElse(description, () => "")
  const [, help = "", notes = "", choices] =
    /^(.*?)(?: \[(env .*?|default: .*?)\])?(?: \(choices: (.*)\))?$/s.exec(text) ?? []
  const [, variable, format] = /^env (\w+)(?:, ([^;]*))?/.exec(notes) ?? []
  const [, shown = ""] = /(?:^|; )default: (.*)$/s.exec(notes) ?? []
  const values = choices === undefined ? "" : `; one of ${codes(choices.split(", "))}`
  return {
    name,
    variable,
    help: `${plain(help)}${values}${format === undefined ? "" : `; ${format} in the variable`}`,
    default: shown === "" ? "" : code(shown)
  }
}

/** The type in the help is a word in capitals, a set of values, or a type of the language. */
const formatFlag = ({ aliases, name, type }: HelpDoc.FlagDoc): string => {
  const value =
    type === "boolean"
      ? ""
      : ` ${type === "choice" || type.startsWith("<") ? "VALUE" : type === "string" ? "TEXT" : type.toUpperCase()}`
  return codes([...aliases, `--${name}${value}`])
}

const flagTable = (flags: ReadonlyArray<HelpDoc.FlagDoc>): string =>
  table(
    ["flag", "meaning", "default", "variable"],
    flags.map((flag) => {
      const { default: shown, help, variable } = splitHelp(flag.name, flag.description)
      return [
        formatFlag(flag),
        `${help}${flag.required && shown === "" ? "; required" : ""}`,
        shown,
        variable === undefined ? "" : code(variable)
      ]
    })
  )

const argumentTable = (args: ReadonlyArray<HelpDoc.ArgDoc> = []): string =>
  table(
    ["argument", "meaning", "default", "variable"],
    args.map(({ description, name, required, variadic }) => {
      const { default: shown, help, variable } = splitHelp(name, description)
      const notes = [...(required ? ["required"] : []), ...(variadic ? ["may be repeated"] : [])]
      return [code(name), [help, ...notes].join("; "), shown, variable === undefined ? "" : code(variable)]
    })
  )

const sectionOf = ({ doc, path }: CommandDoc, globals: ReadonlySet<string>): string => {
  const own = (doc.globalFlags ?? []).filter(({ name }) => !globals.has(name))
  const inherited = doc.inheritedFlags ?? []
  return [
    `## ${path}`,
    `${plain(doc.description)}.`,
    `\`\`\`text\n${doc.usage}\n\`\`\``,
    argumentTable(doc.args),
    flagTable([...doc.flags, ...own]),
    inherited.length === 0 ? "" : `Flags of the command above it: ${codes(inherited.map(({ name }) => `--${name}`))}.`
  ]
    .filter((block) => block !== "")
    .join("\n\n")
}

export const commandsPage = (commands: ReadonlyArray<CommandDoc>): string => {
  const [root, ...others] = commands
  const everywhere = root?.doc.globalFlags ?? []
  const globals = new Set(everywhere.map(({ name }) => name))
  return page(
    "Commands",
    "Every command of `a2c` with its arguments and flags. [cli.md](../cli.md) explains their use.",
    "A flag takes precedence over its variable, a variable over a key of `a2c server --config`. `--no-NAME` turns a flag without a value off.",
    "## Flags of every command",
    flagTable(everywhere),
    ...others.map((command) => sectionOf(command, globals))
  )
}

/** Variables that no flag has, with their meaning. */
const otherVariables: { readonly [name: string]: string } = {
  A2C_API_KEYS: "`NAME=KEY` pairs, separated by commas: keys of Agents and Computers without a file",
  A2C_JWT_SECRET: "secret that signs JWTs, instead of `--jwt-secret-file`",
  A2C_LOG_LEVEL: "as `--log-level`",
  A2C_SMCP_ID: "value of the input `id` of a configuration; any id in capitals, with `_` for other characters",
  A2C_TOKEN: "key or token of a member, instead of `--token-file`",
  A2C_WORKER: "set by `a2c server --workers` in the processes that it starts",
  NODE_DISABLE_COMPILE_CACHE: "`1` turns the cache of compiled code off",
  NODE_USE_ENV_PROXY: "`1` sends HTTP requests through the proxies of `HTTP_PROXY` and `HTTPS_PROXY`",
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "collector of metrics alone",
  OTEL_EXPORTER_OTLP_PROTOCOL: "`http/protobuf`, the default, or `http/json`",
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "collector of traces alone",
  XDG_CACHE_HOME: "folder of caches, by default `~/.cache`",
  XDG_CONFIG_HOME: "folder of stored OAuth credentials, by default `~/.config`",
  XDG_RUNTIME_DIR: "folder of the socket that commands share",
  XDG_STATE_HOME: "folder of histories and approvals, by default `~/.local/state`"
}

export const variablesPage = (commands: ReadonlyArray<CommandDoc>): string => {
  const uses = commands.flatMap(({ doc, path }) =>
    [...doc.flags, ...(doc.args ?? []), ...(doc.globalFlags ?? [])].flatMap((setting) => {
      const { help, variable } = splitHelp(setting.name, setting.description)
      const shown = "aliases" in setting ? code(`--${setting.name}`) : code(setting.name)
      return variable === undefined ? [] : [{ variable, help, shown, path: code(path) }]
    })
  )
  const byVariable = Map.groupBy(uses, ({ variable }) => variable)
  const names = [...new Set([...byVariable.keys(), ...Object.keys(otherVariables)])].sort()
  return page(
    "Environment variables",
    "Every variable that `a2c` reads. Where a flag has a variable, the flag takes precedence.",
    `The variable of a flag follows from its name: \`--max-offices\` has \`${envVariableOf("max-offices")}\`. The table has the exceptions.`,
    table(
      ["variable", "flag or argument", "meaning", "commands"],
      names.map((name) => {
        const found = byVariable.get(name) ?? []
        const paths = new Set(found.map(({ path }) => path))
        return [
          code(name),
          [...new Set(found.map(({ shown }) => shown))].join(", "),
          found[0]?.help ?? otherVariables[name] ?? "",
          paths.has("`a2c`") ? "all" : [...paths].join(", ")
        ]
      })
    )
  )
}
