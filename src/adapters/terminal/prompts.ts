import { Effect, Option } from "effect"
import type { ConfirmRequest } from "../../application/computer/ComputerSettings.ts"
import type { ConsentDecision } from "../../application/computer/calls/Consent.ts"
import type { InputSources } from "../../application/computer/inputs/Inputs.ts"
import { defaultInputValue, type InputValue } from "../../domain/config/inputValues.ts"
import type { Input } from "../../domain/config/computerConfig.ts"
import type { Dialogue, Prompter } from "./Dialogue.ts"
import { escapeForTerminal, formatArguments } from "./escapeForTerminal.ts"

const gutter = "  | "

/** Maximum attempts at a choice: a terminal that is fed by a program must not loop forever. */
const maxAttempts = 3

type StringInput = Extract<Input, { readonly type: "promptString" }>
type PickInput = Extract<Input, { readonly type: "pickString" }>

const formatTitle = ({ description, id }: Input): string =>
  `Value of "${escapeForTerminal(id)}"${description === "" ? "" : ` (${escapeForTerminal(description)})`}`

/** An empty line selects the default, if there is one. */
const nonEmpty = Option.filter((text: string) => text !== "")

const formatDefault = (value: InputValue | undefined): string =>
  value === undefined ? "" : ` [${escapeForTerminal(String(value))}]`

const promptForString = (input: StringInput, { readLine }: Prompter) => {
  const hidden = input.password === true
  const hiddenHint = input.default === undefined ? " [hidden]" : " [hidden, has a default]"
  const hint = hidden ? hiddenHint : formatDefault(input.default)
  return Effect.map(readLine({ prompt: `${formatTitle(input)}${hint}: `, hidden }), nonEmpty)
}

/** The option with this text, else the one with this number. */
const parsePick = ({ options }: PickInput, entered: string): string | undefined => {
  const text = entered.trim()
  const option = options.find((candidate) => candidate.trim() === text)
  if (option !== undefined) return option
  return /^\d{1,9}$/.test(text) ? options[Number(text) - 1] : undefined
}

const promptForPick = Effect.fnUntraced(function* (input: PickInput, { readLine, print }: Prompter) {
  const hint = formatDefault(defaultInputValue(input))
  yield* print(
    formatTitle(input),
    ...input.options.map((option, index) => `  ${index + 1}) ${escapeForTerminal(option)}`)
  )
  for (let left = maxAttempts; left > 0; left--) {
    const entered = nonEmpty(yield* readLine({ prompt: `Number or text${hint}: ` }))
    if (Option.isNone(entered)) return Option.none<string>()
    const option = parsePick(input, entered.value)
    if (option !== undefined) return Option.some(option)
    yield* print(`Not one of the ${input.options.length} options.`)
  }
  return Option.none<string>()
})

/** Asks for the values of inputs. An empty line and a closed terminal give no value. */
export const makeInputPrompt =
  ({ interact }: Dialogue): NonNullable<InputSources["prompt"]> =>
  (input) =>
    interact((prompter) =>
      input.type === "promptString" ? promptForString(input, prompter) : promptForPick(input, prompter)
    )

const decisions: ReadonlyMap<string, ConsentDecision> = new Map([
  ["y", "allow"],
  ["yes", "allow"],
  ["a", "allow_always"],
  ["always", "allow_always"]
])

/** Asks for consent to a tool call. Answers other than yes and always, and a closed terminal, mean no. */
export const makeConsentPrompt =
  ({ interact }: Dialogue) =>
  ({ agent, params, server, tool }: ConfirmRequest): Effect.Effect<ConsentDecision> =>
    interact(
      Effect.fnUntraced(function* ({ columns, readLine, print }) {
        const shown = formatArguments(params, columns - gutter.length)
        yield* print(
          `Agent "${escapeForTerminal(agent)}" wants to call "${escapeForTerminal(tool)}" of server "${escapeForTerminal(server)}" with`,
          ...shown.map((text) => `${gutter}${text}`)
        )
        const answer = yield* readLine({
          prompt: "Run it? y(es), N(o), a(lways this tool, until I stop): ",
          discardTypeahead: true
        })
        return (
          decisions.get(
            Option.getOrElse(answer, () => "")
              .trim()
              .toLowerCase()
          ) ?? "deny"
        )
      }),
      "question cancelled: the call was cancelled or timed out"
    )
