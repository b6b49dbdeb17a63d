import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Logger, Option } from "effect"
import { type Command, Param } from "effect/cli"
import { readCommands } from "../../../../scripts/reference/commands.ts"
import { agentFlags } from "../../../../src/main/cli/agent/flags.ts"
import {
  CommandLine,
  DeclaredRules,
  describeFlag,
  type FlagRule,
  warnOfFlagsWithoutEffect
} from "../../../../src/main/cli/flags/flagRules.ts"
import { rootCommand } from "../../../../src/main/cli/root.ts"
import { temporaryFile } from "../../processes.ts"
import { parserOf } from "../flagRows.ts"
import { a2cInProcess } from "../inProcess.ts"

interface DeclaredRule {
  readonly path: string
  readonly config: Command.Command.Config
  readonly rules: ReadonlyArray<FlagRule<never, string>>
  readonly rule: string
  /** Name of the flag, and its words on a command line. */
  readonly name: string
  readonly words: ReadonlyArray<string>
}

/** A value of each flag of a rule that takes one. */
const values: { readonly [name: string]: string } = {
  "allow-host": "tools.example",
  "allow-origin": "https://a.example",
  "api-keys": "keys.json",
  "app-origin": "https://apps.example",
  "app-port": "7073",
  audit: "a.log",
  "audit-keep": "3",
  "audit-max-bytes": "5000",
  config: "mcp.json",
  "dpe-url": "https://docs.example",
  expires: "2030-01-31",
  host: "127.0.0.1",
  http: "0",
  "jwt-jwks": "https://idp.example/keys",
  "jwt-public-key": "public.pem",
  "jwt-secret-file": "secret",
  key: "k",
  list: "keys.json",
  "max-body": "10",
  "max-upload": "10",
  "mcp-token": "t",
  memory: "300",
  name: "desk*",
  office: "team",
  output: "a.txt",
  pin: "desk/*",
  port: "0",
  protocol: "0.4",
  redis: "redis://a.example",
  "redis-prefix": "{b}",
  revoke: "keys.json",
  right: "agent",
  subject: "desk",
  token: "t",
  tokens: "tokens.json"
}

/** The words of a flag, with a value where it takes one. */
const wordsOf = (flag: string, config: Command.Command.Config): ReadonlyArray<string> => {
  const [word = "", ...given] = flag.split(" ")
  const name = word.replace(/^--/, "")
  const description = Object.values({ ...agentFlags, ...config }).map((param) => describeFlag(param))
  const isBoolean = description.some((one) => one?.isBoolean === true && [one.name, `no-${one.name}`].includes(name))
  if (isBoolean || given.length > 0) return [word, ...given]
  return [word, values[name] ?? assert.fail(`a value of ${word} is missing here`)]
}

const declaredRules = (command: Command.Command.Any, path: ReadonlyArray<string> = []): ReadonlyArray<DeclaredRule> => {
  const children = command.subcommands.flatMap(({ commands }) =>
    commands.flatMap((child) => declaredRules(child, [...path, child.name]))
  )
  const { config = {}, rules = [] } = Context.get(command.annotations, DeclaredRules) ?? {}
  const own = rules.flatMap(({ flags, rule }) =>
    flags.map((flag) => {
      const name = describeFlag(config[flag])?.name ?? assert.fail(`${path.join(" ")} has no flag ${flag}`)
      return { path: path.join(" "), config, rules, rule, name, words: wordsOf(`--${name}`, config) }
    })
  )
  return [...own, ...children]
}

const declared = declaredRules(rootCommand)

const title = ({ name, path, rule }: DeclaredRule): string => `${path} --${name}, ${rule}`

/** The warnings for a command line. */
const warningsFor = Effect.fnUntraced(function* (
  { config, path, rules }: DeclaredRule,
  args: ReadonlyArray<string>,
  env: { readonly [name: string]: string } = {}
) {
  const all = path.startsWith("agent") ? { ...agentFlags, ...config } : config
  const office = path.startsWith("agent") ? ["--office", "team"] : []
  const hasArgument = Object.values(config).some((param) => Param.isParam(param) && param.kind === "argument")
  const words = [...office, ...args, ...(hasArgument ? ["word"] : [])]
  const options = yield* parserOf(all)(words)
  const lines: Array<unknown> = []
  const log = Logger.layer([Logger.make(({ message }) => void lines.push(message))])
  yield* warnOfFlagsWithoutEffect(config, rules as ReadonlyArray<FlagRule<unknown, string>>, options).pipe(
    Effect.provideService(CommandLine, words),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.provide(log)
  )
  return lines
})

/** The words of the other flag of a rule, by which it is met or broken. */
const otherWords = ({ config, rule }: DeclaredRule): ReadonlyArray<string> =>
  wordsOf(rule.slice(rule.indexOf("--")), config)

const isRequirement = ({ rule }: DeclaredRule): boolean => rule.startsWith("only with")

describe("a rule of a flag", () => {
  it.effect.each(declared.map((one) => [title(one), one] as const))(
    "warns once when it is broken, and is silent when it is met or its flag is missing: %s",
    ([, one]) =>
      Effect.gen(function* () {
        const [met, broken] = isRequirement(one) ? [otherWords(one), []] : [[], otherWords(one)]
        const warning = ["flags without effect", { flags: [`--${one.name}`], rule: one.rule }]
        assert.deepStrictEqual(yield* warningsFor(one, [...one.words, ...broken]), [warning])
        assert.notInclude(JSON.stringify(yield* warningsFor(one, [...one.words, ...met])), one.rule)
        assert.deepStrictEqual(yield* warningsFor(one, broken), [])
      })
  )

  it.live("stands in the help of its flag", () =>
    Effect.gen(function* () {
      const commands = yield* readCommands
      const missing = declared.filter(({ name, path, rule }) => {
        const doc = commands.find((command) => command.path === `a2c ${path}`)?.doc
        const flag = doc?.flags.find((one) => one.name === name)
        const help = Option.getOrElse(flag?.description ?? Option.none(), () => "")
        const words = rule.slice(0, rule.indexOf("--"))
        return !help.includes(words) || !help.slice(help.indexOf(words)).includes(rule.slice(words.length))
      })
      assert.deepStrictEqual(missing.map(title), [])
    })
  )
})

describe("the warning of a flag without effect", () => {
  const publish = (...args: ReadonlyArray<string>) =>
    Effect.map(
      Effect.scoped(a2cInProcess("agent", "--server", "http://127.0.0.1:1", "--office", "team", "mcp", ...args)),
      ({ stderr }) => /flags without effect.*/.exec(stderr)?.[0]
    )

  const withVariables =
    (env: { readonly [name: string]: string }) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.provideService(effect, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))

  it.live("stands on stderr before the command connects, with all flags of a rule", () =>
    Effect.gen(function* () {
      const line = yield* publish("--host", "0.0.0.0", "--page")
      assert.strictEqual(line, 'flags without effect flags=["--host","--page"] rule="only with --http"')
    })
  )

  it.live("names the form in which the flag is given", () =>
    Effect.gen(function* () {
      assert.include(yield* publish("--no-page"), '["--no-page"]')
      assert.include(yield* publish("--host=0.0.0.0"), '["--host"]')
    })
  )

  it.live("names the variable that gives the flag", () =>
    Effect.gen(function* () {
      assert.include(yield* withVariables({ A2C_MCP_TOKEN: "t" })(publish()), '["A2C_MCP_TOKEN"]')
    })
  )

  it.live("is not due to variables of other programs", () =>
    Effect.gen(function* () {
      const rule = declared.find(({ name, path }) => path === "tools serve" && name === "host") ?? assert.fail()
      assert.deepStrictEqual(yield* warningsFor(rule, ["--mcp", "stdio"], { HOST: "h", PORT: "1" }), [])
    })
  )

  it.live("is due to a flag in the file of a Server", () =>
    Effect.gen(function* () {
      // Without its key, the certificate ends the command.
      const file = yield* temporaryFile("server.yaml", "audit-keep: 3\ntls-cert: cert.pem\n")
      const { stderr } = yield* a2cInProcess("server", "--config", file)
      assert.include(stderr, 'flags without effect flags=["--audit-keep"] rule="only with --audit"')
    })
  )
})
