import { Effect } from "effect"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import type { CallExplanation } from "../../../domain/policy/CallExplanation.ts"
import { Computer } from "../../../application/computer/Computer.ts"
import { asObject, stringOrEmpty } from "../../../domain/json.ts"
import { isAppOnly } from "../../../domain/tools/appTools.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { readParams, readTexts } from "../arguments/argumentSource.ts"
import { makeCallProgress } from "../output/callProgress.ts"
import {
  formatColumns,
  formatExplanation,
  formatJson,
  formatPromptArguments,
  formatPromptMessages,
  formatToolResult,
  truncateLine
} from "../output/format.ts"
import { failCommand, failUnknownTool, toCommandFailed } from "../../CommandFailed.ts"
import { defaultSubject } from "../flags/sharedFlags.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { completeFirst, type ReplCommand } from "./ReplCommand.ts"
import { requireServer, serverNames } from "./serverCommands.ts"
import { isOffered } from "../../../application/computer/servers/ServersSnapshot.ts"

const currentCatalogue = Computer.use(({ catalogue: offered }) => offered)
const toolNames = Effect.map(currentCatalogue, ({ entries }) => [...entries.keys()])

const requireTool = Effect.fnUntraced(function* (name: string) {
  const { entries, hidden } = yield* currentCatalogue
  const entry = entries.get(name)
  if (entry !== undefined) return entry
  const states = yield* Computer.use(({ servers }) => servers)
  const starting = [...states].filter(([, { _tag }]) => _tag === "Starting").map(([server]) => server)
  const later = starting.length === 0 ? "" : `; still starting: ${starting.join(", ")}`
  const hiddenTool = hidden.find((tool) => tool.name === name || tool.originalName === name)
  return yield* hiddenTool === undefined
    ? failUnknownTool(name, "at this Computer", [...entries.keys()], later)
    : failCommand(`The tool '${name}' of ${hiddenTool.server} is hidden: ${hiddenTool.reason}`)
})

const consentOf = ({ decision, steps }: CallExplanation): string => {
  if (steps.length > 0) return "the policy decides: explain shows how"
  return decision.action === "allow" ? "runs without consent" : "needs consent to run for an Agent"
}

const describeTool = Effect.fnUntraced(function* ({ originalName, server, tool }: CatalogueEntry) {
  const request = { tool: tool.name, params: {}, subject: defaultSubject }
  const explanation = yield* Computer.use(({ explain }) => explain(request))
  return [
    escapeForTerminal(
      `${tool.name}, of ${server}${originalName === tool.name ? "" : ` where it is called ${originalName}`}`
    ),
    ...(explanation === undefined ? [] : [consentOf(explanation)]),
    ...(tool.description === "" ? [] : [tool.description]),
    "parameters:",
    formatJson(tool.paramsSchema),
    ...(tool.returnSchema === null ? [] : ["result:", formatJson(tool.returnSchema)])
  ].join("\n")
})

const parameterProperties = ({ tool: { paramsSchema } }: CatalogueEntry) => asObject(paramsSchema["properties"])

const requireArguments = Effect.fnUntraced(function* (name: string, words: ReadonlyArray<string>) {
  const { tool } = yield* requireTool(name)
  if (words.includes("-")) return yield* failCommand("The shell reads stdin itself: give arguments as words or @FILE")
  return yield* readParams(words, { schema: tool.paramsSchema, subject: `The tool '${name}'` })
})

/** Completes the name of a tool, then the names of its arguments. */
const completeArguments = Effect.fnUntraced(function* ([name, ...words]: ReadonlyArray<string>) {
  if (name === undefined) return yield* toolNames
  const entry = (yield* currentCatalogue).entries.get(name)
  return Object.keys(entry === undefined ? {} : parameterProperties(entry))
    .map((key) => `${key}=`)
    .filter((start) => !words.some((word) => word.startsWith(start)))
})

export const toolCommands: ReadonlyArray<ReplCommand> = [
  {
    name: "tools",
    parameters: "[SERVER]",
    help: "list the tools of the office, of one server or of all",
    run: Effect.fnUntraced(function* ([server]) {
      if (server !== undefined) yield* requireServer(server)
      const rows = [...(yield* currentCatalogue).entries.values()]
        .filter((entry) => server === undefined || entry.server === server)
        .map(({ server: owner, tool: { description, meta, name } }) => [
          name,
          owner,
          truncateLine(`${isAppOnly(meta) ? "(for its app only) " : ""}${description}`)
        ])
      return formatColumns(rows, "no tools")
    }),
    complete: completeFirst(serverNames)
  },
  {
    name: "tool",
    parameters: "NAME",
    help: "show the description, parameters and result of a tool",
    run: ([name = ""]) => Effect.flatMap(requireTool(name), describeTool),
    complete: completeFirst(toolNames)
  },
  {
    name: "call",
    parameters: "TOOL [{JSON} | KEY=VALUE…]",
    help: "call a tool without consent; Ctrl-C cancels the call",
    run: Effect.fnUntraced(function* ([name = "", ...words]) {
      const params = yield* requireArguments(name, words)
      const { onStatus } = yield* makeCallProgress()
      const result = yield* Computer.use(({ callTool }) => callTool({ tool: name, params }, onStatus))
      if (!result.isError) return formatToolResult(result)
      return yield* failCommand(formatToolResult(result) || "The tool failed")
    }, Effect.scoped),
    complete: completeArguments
  },
  {
    name: "explain",
    parameters: "TOOL [{JSON} | KEY=VALUE…]",
    help: "show how a call of an Agent is decided, and by which rule",
    run: Effect.fnUntraced(function* ([name = "", ...words]) {
      const request = { tool: name, params: yield* requireArguments(name, words), subject: defaultSubject }
      const explanation = yield* Computer.use(({ explain }) => explain(request))
      return explanation === undefined
        ? yield* failUnknownTool(name, "at this Computer", [])
        : formatExplanation(explanation)
    }),
    complete: completeArguments
  }
]

const currentPrompts = Effect.map(
  Computer.use(({ servers }) => servers),
  (states) =>
    [...states].flatMap(([server, state]) =>
      isOffered(state)
        ? state.prompts.map((prompt) => ({
            server,
            name: stringOrEmpty(prompt["name"]),
            prompt,
            session: state.session
          }))
        : []
    )
)

export const promptCommands: ReadonlyArray<ReplCommand> = [
  {
    name: "prompts",
    help: "list the prompts of the MCP servers",
    run: Effect.fnUntraced(function* () {
      const rows = (yield* currentPrompts).map(({ name, prompt, server }) => [
        name,
        server,
        formatPromptArguments(prompt),
        truncateLine(stringOrEmpty(prompt["description"]))
      ])
      return formatColumns(rows, "no prompts")
    })
  },
  {
    name: "prompt",
    parameters: "NAME [KEY=VALUE]…",
    help: "show the messages of a prompt",
    run: Effect.fnUntraced(function* ([name = "", ...words]) {
      const prompts = yield* currentPrompts
      const found = prompts.find((one) => one.name === name)
      if (found?.session.request === undefined) {
        const names = prompts.map((one) => one.name)
        return yield* failCommand(`No prompt '${name}' is here${didYouMean(name, names)}`)
      }
      const params = { name, arguments: yield* readTexts(words) }
      return formatPromptMessages(yield* Effect.mapError(found.session.request("prompts/get", params), toCommandFailed))
    }),
    complete: completeFirst(Effect.map(currentPrompts, (prompts) => prompts.map(({ name }) => name)))
  }
]
