import { Effect, Result } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import type { CatalogueEntry } from "../../domain/tools/catalogue.ts"
import { brief, columns, json, showResult } from "../commands/show.ts"
import { CommandFailed, refuse } from "../failure.ts"
import { meant } from "./nearest.ts"
import { readJson } from "./readJson.ts"
import { knownServer, serverNames } from "./serverNames.ts"
import type { ShellCommand } from "./ShellCommand.ts"

const catalogue = Computer.use(({ catalogue: offered }) => offered)
const toolNames = Effect.map(catalogue, ({ entries }) => [...entries.keys()])

const knownTool = Effect.fnUntraced(function* (name: string) {
  const { entries, hidden } = yield* catalogue
  const entry = entries.get(name)
  if (entry !== undefined) return entry
  const states = yield* Computer.use(({ servers }) => servers)
  const starting = [...states].filter(([, { _tag }]) => _tag === "Starting").map(([server]) => server)
  const later = starting.length === 0 ? "" : `; still starting: ${starting.join(", ")}`
  const banned = hidden.find((tool) => tool.name === name || tool.original === name)
  return yield* refuse(
    banned === undefined
      ? `No tool '${name}' is here${meant(name, [...entries.keys()]) || later}`
      : `The tool '${name}' of ${banned.server} is hidden: ${banned.reason}`
  )
})

const tools: ShellCommand = {
  name: "tools",
  takes: "[SERVER]",
  words: [0, 1],
  help: "the tools the office can call, of one server or of all",
  run: Effect.fnUntraced(function* ([server]) {
    if (server !== undefined) yield* knownServer(server)
    const rows = [...(yield* catalogue).entries.values()]
      .filter((entry) => server === undefined || entry.server === server)
      .map(({ server: owner, tool: { description, name } }) => [name, owner, brief(description)])
    return rows.length === 0 ? "no tools" : columns(rows)
  }),
  complete: (words) => (words.length === 0 ? serverNames : Effect.succeed([]))
}

const describe = ({ autoApply, original, server, tool }: CatalogueEntry): string =>
  [
    `${tool.name}, of ${server}${original === tool.name ? "" : ` where it is called ${original}`}`,
    autoApply ? "runs without asking" : "asks before it runs for an Agent",
    ...(tool.description === "" ? [] : [tool.description]),
    "takes:",
    json(tool.paramsSchema),
    ...(tool.returnSchema === null ? [] : ["gives:", json(tool.returnSchema)])
  ].join("\n")

const tool: ShellCommand = {
  name: "tool",
  takes: "NAME",
  words: [1, 1],
  help: "what a tool does, takes and gives",
  run: ([name = ""]) => Effect.map(knownTool(name), describe),
  complete: (words) => (words.length === 0 ? toolNames : Effect.succeed([]))
}

const propertiesOf = ({ tool: { paramsSchema } }: CatalogueEntry): JsonObject => {
  const { properties } = paramsSchema
  return isJsonObject(properties) ? properties : {}
}

/** A value as it was typed: text where the schema wants text, else JSON if it is some, else text. */
const valueOf = (schema: unknown, text: string): unknown =>
  isJsonObject(schema) && schema["type"] === "string" ? text : Result.getOrElse(readJson(text), () => text)

/** The arguments of a call: one JSON object, or `key=value` words. */
const readArguments = (
  entry: CatalogueEntry,
  words: ReadonlyArray<string>
): Result.Result<JsonObject, string> => {
  const [first = "{}", ...others] = words
  if (others.length === 0 && /^\s*[{[]/.test(first)) {
    return Result.flatMap(
      Result.mapError(readJson(first), (why) => `the arguments are no JSON: ${why}`),
      (value) =>
        isJsonObject(value)
          ? Result.succeed(value)
          : Result.fail("the arguments are no JSON object: expected {…} or KEY=VALUE words")
    )
  }
  const properties = propertiesOf(entry)
  const pairs: Array<readonly [string, unknown]> = []
  for (const word of words) {
    const [, key = "", text = ""] = /^([^=]+)=(.*)$/s.exec(word) ?? []
    if (key === "") return Result.fail(`'${word}' is no argument: expected {…} or KEY=VALUE words`)
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined
    pairs.push([key, valueOf(schema, text)])
  }
  return Result.succeed(Object.fromEntries(pairs))
}

const call: ShellCommand = {
  name: "call",
  takes: "TOOL [{JSON} | KEY=VALUE…]",
  words: [1, Number.POSITIVE_INFINITY],
  help: "call a tool, without asking for consent; Ctrl-C cancels the call",
  run: Effect.fnUntraced(function* ([name = "", ...words]) {
    const entry = yield* knownTool(name)
    const params = readArguments(entry, words)
    if (Result.isFailure(params)) return yield* refuse(params.failure)
    const result = yield* Computer.use(({ callTool }) => callTool({ tool: name, params: params.success }))
    if (!result.isError) return showResult(result)
    return yield* new CommandFailed({ message: showResult(result) || "The tool failed" })
  }),
  complete: Effect.fnUntraced(function* ([name, ...words]) {
    if (name === undefined) return yield* toolNames
    const entry = (yield* catalogue).entries.get(name)
    return Object.keys(entry === undefined ? {} : propertiesOf(entry))
      .map((key) => `${key}=`)
      .filter((start) => !words.some((word) => word.startsWith(start)))
  })
}

/** What can be done with tools. */
export const toolCommands: ReadonlyArray<ShellCommand> = [tools, tool, call]
