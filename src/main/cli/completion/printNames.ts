import { ConfigProvider, Effect, References } from "effect"
import { Command } from "effect/cli"
import { asObject, objectsIn, parseJson, stringOrEmpty } from "../../../domain/json.ts"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { hostNames } from "../agent/printHostConfig.ts"
import { MayJoin } from "../agent/queries.ts"
import { captureOutput, printLine } from "../output/print.ts"
import { rootCommand } from "../root.ts"
import type { NameSource } from "./completionScripts.ts"

/** A shell waits for its completions. */
const timeout = "1 second"

/** The flags of these names on a command line, with their values. Some shells give words with their quotes. */
const flagsIn = (words: ReadonlyArray<string>, ...names: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.flatMap((word, index) => {
    const [name = "", value] = word.split(/=(.*)/s, 2)
    return names.includes(name) ? [name, (value ?? words[index + 1] ?? "").replace(/^(["'])(.*)\1$/s, "$2")] : []
  })

/** Runs a command for its JSON; `undefined` when it fails. */
const readJson = (args: ReadonlyArray<string>) =>
  captureOutput(Command.runWith(rootCommand, { version: "" })(args)).pipe(
    Effect.provideService(References.MinimumLogLevel, "None"),
    Effect.map(parseJson),
    Effect.timeout(timeout),
    Effect.orElseSucceed(() => undefined)
  )

/** Asks an office through the connection of another command, or joins it where that takes no credentials. */
const readFromOffice = (words: ReadonlyArray<string>, ...query: ReadonlyArray<string>) => {
  const flags = flagsIn(words, "--server", "--office", "--name", "--token-file", "--tls-ca", "--protocol")
  const { A2C_TOKEN: token, A2C_TOKEN_FILE: file } = process.env
  const mayJoin = !flags.includes("--token-file") && token === undefined && file === undefined
  return Effect.provideService(readJson(["agent", "--json", ...flags, ...query]), MayJoin, mayJoin)
}

/** Lists the offices of a Server that shows them to everyone. */
const readOffices = (words: ReadonlyArray<string>) => {
  const [, url = process.env["A2C_SERVER"]] = flagsIn(words, "--server")
  const status = ["server", "status", "--offices", "--json", ...flagsIn(words, "--tls-ca"), ...(url ? [url] : [])]
  return Effect.provide(readJson(status), ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} })))
}

type ReadNames = (words: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<unknown>, unknown, Command.Environment>

const sources: { readonly [S in NameSource]: ReadNames } = {
  hosts: () => hostNames,
  offices: (words) =>
    Effect.map(readOffices(words), (status) => objectsIn(asObject(status)["officeList"]).map(({ office }) => office)),
  computers: (words) =>
    Effect.map(readFromOffice(words, "members"), (members) =>
      objectsIn(members).flatMap(({ name, role }) => (role === "computer" ? [name] : []))
    ),
  tools: (words) =>
    Effect.map(readFromOffice(words, "tools", ...flagsIn(words, "--computer")), (tools) =>
      objectsIn(tools).map(({ name }) => name)
    )
}

/**
 * Prints names for the completion of a command line, one per line, and nothing after a failure: `a2c __complete SOURCE -- WORDS`,
 * where the last word is typed in part. A shell gets no name that a terminal would interpret.
 */
export const printNames = Effect.fnUntraced(function* ([source = "", , ...words]: ReadonlyArray<string>) {
  const read = Object.entries(sources).find(([name]) => name === source)?.[1] ?? (() => Effect.succeed([]))
  const names = yield* Effect.orElseSucceed(read(words.slice(0, -1)), () => [])
  for (const name of new Set(names.map(stringOrEmpty))) {
    if (name !== "" && escapeForTerminal(name) === name) yield* printLine(name)
  }
})
