import { Effect } from "effect"
import { Agent } from "../../../../application/agent/Agent.ts"
import { type JsonObject, stringOrEmpty } from "../../../../domain/json.ts"
import { didYouMean } from "../../../config/didYouMean.ts"
import { readArguments } from "../../arguments/argumentSource.ts"
import { failCommand } from "../../../CommandFailed.ts"
import { formatColumns, truncateLine } from "../../output/format.ts"
import { printResult } from "../../output/print.ts"
import { formatPromptArguments, formatPromptMessages } from "../../output/promptText.ts"
import { runAsAgent } from "../actions.ts"
import type * as flags from "../flags.ts"
import { printReplies, queryComputers } from "../queries.ts"

interface FoundPrompt {
  readonly computer: string
  readonly server: string
  readonly prompt: JsonObject
}

const promptsOf = (computer: string, { mcpServers }: Agent["Service"]) =>
  Effect.map(mcpServers(computer), (servers) =>
    servers.flatMap(({ id, prompts }) => prompts.map((prompt): FoundPrompt => ({ computer, server: id, prompt })))
  )

const formatPrompts = (prompts: ReadonlyArray<FoundPrompt>): string =>
  formatColumns(
    prompts.map(({ computer, prompt, server }) => [
      computer,
      server,
      stringOrEmpty(prompt["name"]),
      formatPromptArguments(prompt),
      truncateLine(stringOrEmpty(prompt["description"]))
    ])
  )

/** Lists the prompts of the MCP servers of the Computers. */
export const listPrompts = Effect.fnUntraced(function* (options: flags.QueryOptions) {
  yield* printReplies(options, promptsOf, {
    toJson: (found) => found.flat(),
    format: (found) => formatPrompts(found.flat()),
    none: "no prompts"
  })
}, runAsAgent)

const findPrompt = Effect.fnUntraced(function* (options: flags.PromptOptions) {
  const prompts = (yield* queryComputers(options, promptsOf)).flat()
  const [found, ...others] = prompts.filter(({ prompt }) => prompt["name"] === options.prompt)
  if (found === undefined) {
    const names = prompts.map(({ prompt }) => stringOrEmpty(prompt["name"]))
    return yield* failCommand(
      `No MCP server of this office has a prompt '${options.prompt}'${didYouMean(options.prompt, names)}`
    )
  }
  if (others.length === 0) return found
  const owners = [found, ...others].map(({ computer, server }) => `${server} of ${computer}`).join(", ")
  return yield* failCommand(
    `Several MCP servers have a prompt '${options.prompt}': ${owners}; choose one by --computer`
  )
})

/** Prints the messages of a prompt with its arguments filled in. */
export const getPrompt = Effect.fnUntraced(function* (options: flags.PromptOptions) {
  const given = yield* readArguments(options.words, undefined)
  const entries =
    given._tag === "Whole"
      ? Object.entries(given.params)
      : given.given.map((one) => [one.key, "text" in one ? one.text : one.json] as const)
  // MCP has arguments of prompts as texts.
  const args = Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)])
  )
  const { computer, prompt, server } = yield* findPrompt(options)
  const params = { name: prompt["name"], arguments: args }
  const agent = yield* Agent
  const result = yield* agent.mcpRequest(computer, { server, method: "prompts/get", params })
  yield* printResult(options, result, formatPromptMessages(result))
}, runAsAgent)
