import { Effect, Option } from "effect"
import type { ConfirmRequest } from "../../application/computer/ComputerSettings.ts"
import type { ConsentDecision } from "../../application/computer/calls/Consent.ts"
import type { InputSources } from "../../application/computer/inputs/Inputs.ts"
import { defaultInputValue } from "../../domain/config/inputValues.ts"
import type { Input } from "../../domain/config/computerConfig.ts"
import type { Dialogue, Prompter } from "./Dialogue.ts"
import { type Field, foreignFields } from "./foreignFields.ts"
import type { Context } from "./questionContext.ts"

/** Maximum lines of a description or a default. */
const maxTextLines = 3

const maxArgumentLines = 40

/** Maximum attempts at a choice: a terminal that is fed by a program must not loop forever. */
const maxAttempts = 3

type StringInput = Extract<Input, { readonly type: "promptString" }>
type PickInput = Extract<Input, { readonly type: "pickString" }>

/** An empty line selects the default, if there is one. */
const nonEmpty = Option.filter((text: string) => text !== "")

/** The rows of a terminal that remain beside these lines and a question, at least one. */
const remainingRows = (rows: number, lines: number): number => Math.max(1, rows - lines - 4)

/** Shows what an input is for. Its texts may come from the author of a project. */
export const inputContext =
  (input: Input): Context =>
  ({ columns, rows }) => {
    const preset = input.type === "promptString" && input.password === true ? undefined : defaultInputValue(input)
    const about: ReadonlyArray<Field> = [
      { label: "input", value: input.id },
      ...(input.description === "" ? [] : [{ label: "about", value: input.description, maxLines: maxTextLines }]),
      ...(preset === undefined ? [] : [{ label: "default", value: preset, maxLines: maxTextLines }])
    ]
    const options = input.type === "pickString" ? input.options : []
    const shown = options.slice(0, remainingRows(rows, 1 + about.length * maxTextLines))
    const choices = shown.map(
      ({ label, value }, index): Field => ({
        label: `${index + 1})`,
        value: label === value ? value : `${value} (${label})`
      })
    )
    const omitted = options.length - shown.length
    return [
      "An MCP server needs a value:",
      ...foreignFields([...about, ...choices], columns),
      ...(omitted > 0 ? [`(${omitted} more options)`] : [])
    ]
  }

const promptForString = (input: StringInput, { readLine }: Prompter) => {
  const hidden = input.password === true
  const hint = hidden ? ` [hidden${input.default === undefined ? "" : ", has a default"}]` : ""
  return Effect.map(readLine({ context: inputContext(input), prompt: `Value${hint}: `, hidden }), nonEmpty)
}

/** The value of the option with this value or label, else of the one with this number. */
const parsePick = ({ options }: PickInput, entered: string): string | undefined => {
  const text = entered.trim()
  const option =
    options.find(({ value }) => value.trim() === text) ?? options.find(({ label }) => label.trim() === text)
  if (option !== undefined) return option.value
  return /^\d{1,9}$/.test(text) ? options[Number(text) - 1]?.value : undefined
}

const promptForPick = Effect.fnUntraced(function* (input: PickInput, { readLine }: Prompter) {
  let prompt = "Number or text: "
  for (let left = maxAttempts; left > 0; left--) {
    const entered = nonEmpty(yield* readLine({ context: inputContext(input), prompt }))
    if (Option.isNone(entered)) return Option.none<string>()
    const option = parsePick(input, entered.value)
    if (option !== undefined) return Option.some(option)
    prompt = `Not one of the ${input.options.length} options. Number or text: `
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

/** Shows a call. The tool comes first, and the arguments take the rows that remain, so that all fits the screen. */
const consentContext =
  ({ agent, computer, params, server, tool }: ConfirmRequest): Context =>
  ({ columns, rows }) => {
    const names: ReadonlyArray<Field> = [
      { label: "tool", value: tool },
      { label: "server", value: server },
      { label: "computer", value: computer },
      { label: "agent", value: agent }
    ]
    const maxLines = Math.min(maxArgumentLines, remainingRows(rows, 1 + names.length))
    return [
      "A tool call needs your consent:",
      ...foreignFields([...names, { label: "arguments", value: params, maxLines }], columns)
    ]
  }

const decisions: ReadonlyMap<string, ConsentDecision> = new Map([
  ["y", "allow"],
  ["yes", "allow"],
  ["a", "allow_always"],
  ["always", "allow_always"]
])

/** Asks for consent to a tool call. Answers other than yes and always, and a closed terminal, mean no. */
export const makeConsentPrompt =
  ({ interact }: Dialogue) =>
  (request: ConfirmRequest): Effect.Effect<ConsentDecision> =>
    interact(
      Effect.fnUntraced(function* ({ readLine }) {
        const answer = yield* readLine({
          context: consentContext(request),
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
