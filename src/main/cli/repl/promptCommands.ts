import { Effect } from "effect"
import { Computer } from "../../../application/computer/Computer.ts"
import { isOffered } from "../../../application/computer/servers/ServersSnapshot.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import { failCommand, toCommandFailed } from "../../CommandFailed.ts"
import { formatColumns, formatPromptArguments, formatPromptMessages, truncateLine } from "../output/format.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { completeFirst, type ReplCommand } from "./ReplCommand.ts"

/** The prompts of the MCP servers, with their sessions. */
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

const promptsCommand: ReplCommand = {
  name: "prompts",
  help: "list the prompts of the MCP servers",
  run: Effect.fnUntraced(function* () {
    const rows = (yield* currentPrompts).map(({ name, prompt, server }) => [
      name,
      server,
      formatPromptArguments(prompt),
      truncateLine(stringOrEmpty(prompt["description"]))
    ])
    return rows.length === 0 ? "no prompts" : formatColumns(rows)
  })
}

const promptCommand: ReplCommand = {
  name: "prompt",
  parameters: "NAME [KEY=VALUE]…",
  arity: [1, Number.POSITIVE_INFINITY],
  help: "show the messages of a prompt",
  run: Effect.fnUntraced(function* ([name = "", ...words]) {
    const prompts = yield* currentPrompts
    const found = prompts.find((one) => one.name === name)
    if (found?.session.request === undefined) {
      const names = prompts.map((one) => one.name)
      return yield* failCommand(`No prompt '${name}' is here${didYouMean(name, names)}`)
    }
    const pairs: Array<readonly [string, string]> = []
    for (const word of words) {
      const [, key = "", value = ""] = /^([^=]+)=(.*)$/s.exec(word) ?? []
      if (key === "") return yield* failCommand(`Invalid argument '${word}': expected KEY=VALUE`)
      pairs.push([key, value])
    }
    const params = { name, arguments: Object.fromEntries(pairs) }
    return formatPromptMessages(yield* Effect.mapError(found.session.request("prompts/get", params), toCommandFailed))
  }),
  complete: completeFirst(Effect.map(currentPrompts, (prompts) => prompts.map(({ name }) => name)))
}

export const promptCommands: ReadonlyArray<ReplCommand> = [promptsCommand, promptCommand]
