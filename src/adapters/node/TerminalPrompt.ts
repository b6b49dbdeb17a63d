import { Effect, Option } from "effect"
import type { ConfirmRequest } from "../../application/computer/ComputerSettings.ts"
import type { Verdict } from "../../application/computer/Consent.ts"
import type { InputSources } from "../../application/computer/Inputs.ts"
import { defaultOf } from "../../domain/config/inputs.ts"
import type { Input } from "../../domain/protocol/v0_2/config.ts"
import type { Dialogue, Turn } from "./Dialogue.ts"
import { printable, printableJson } from "./printable.ts"

/** How many lines of arguments are shown: more would push the question's beginning out of sight. */
const argumentLines = 40

/** Columns of the gutter that marks what the Agent wrote. */
const gutter = "  | "

/** How often a person may mistype a choice; a terminal that is fed by a program must not loop for ever. */
const attempts = 3

type StringInput = Extract<Input, { readonly type: "promptString" }>
type PickInput = Extract<Input, { readonly type: "pickString" }>

const titleOf = ({ description, id }: Input): string =>
  `Value of "${printable(id)}"${description === "" ? "" : ` (${printable(description)})`}`

/** An empty line is no answer: the default counts then, or nothing. */
const unlessEmpty = Option.filter((text: string) => text !== "")

const askString = (input: StringInput, { line }: Turn) => {
  const hidden = input.password === true
  const hint = hidden
    ? input.default === undefined
      ? " [hidden]"
      : " [hidden, has a default]"
    : input.default === undefined
      ? ""
      : ` [${printable(input.default)}]`
  return Effect.map(line({ prompt: `${titleOf(input)}${hint}: `, hidden }), unlessEmpty)
}

/** What was picked: an option as it is spelled, else the one of that number. */
const picked = ({ options }: PickInput, entered: string): string | undefined => {
  const text = entered.trim()
  const option = options.find((option) => option.trim() === text)
  if (option !== undefined) return option
  return /^\d{1,9}$/.test(text) ? options[Number(text) - 1] : undefined
}

const askPick = Effect.fnUntraced(function* (input: PickInput, { line, say }: Turn) {
  const usual = defaultOf(input)
  const hint = usual === undefined ? "" : ` [${printable(String(usual))}]`
  yield* say(titleOf(input), ...input.options.map((option, index) => `  ${index + 1}) ${printable(option)}`))
  for (let left = attempts; left > 0; left--) {
    const entered = unlessEmpty(yield* line({ prompt: `Number or text${hint}: ` }))
    if (Option.isNone(entered)) return Option.none<string>()
    const option = picked(input, entered.value)
    if (option !== undefined) return Option.some(option)
    yield* say(`That is none of the ${input.options.length} options.`)
  }
  return Option.none<string>()
})

/** Asks the person at a terminal for the values of inputs; an empty line and a closed terminal are no answer. */
export const askAt =
  ({ talk }: Dialogue): NonNullable<InputSources["ask"]> =>
  (input) =>
    talk((turn) => (input.type === "promptString" ? askString(input, turn) : askPick(input, turn)))

const verdictOf = (answer: string): Verdict => {
  switch (answer.trim().toLowerCase()) {
    case "y":
    case "yes":
      return "yes"
    case "a":
    case "always":
      return "always"
    default:
      return "no"
  }
}

/**
 * Shows the person at a terminal who wants to call which tool with what, and asks; whatever is no clear yes is a no.
 * What the Agent wrote stands behind a gutter, and nothing in it can reach the terminal.
 */
export const decideAt =
  ({ talk }: Dialogue) =>
  ({ agent, params, server, tool }: ConfirmRequest): Effect.Effect<Verdict> =>
    talk(
      Effect.fnUntraced(function* ({ columns, line, say }) {
        const shown = printableJson(params, columns - gutter.length, argumentLines)
        yield* say(
          `Agent "${printable(agent)}" wants to call "${printable(tool)}" of server "${printable(server)}" with`,
          ...shown.map((text) => `${gutter}${text}`)
        )
        const answer = yield* line({
          prompt: "Run it? y(es), N(o), a(lways this tool, until I stop): ",
          fresh: true
        })
        return Option.match(answer, { onNone: (): Verdict => "no", onSome: verdictOf })
      }),
      "the question is withdrawn: the call was cancelled or its time is up"
    )
