import { Effect, Option } from "effect"
import type { Approval, ApprovalAnswer } from "../../domain/approvals/Approval.ts"
import type { InputSources } from "../../application/computer/inputs/Inputs.ts"
import { defaultInputValue } from "../../domain/config/inputValues.ts"
import type { Input } from "../../domain/config/computerConfig.ts"
import type { Dialogue, Prompter } from "./Dialogue.ts"
import { definedFields, type Field, fieldsOf, foreignFields } from "./foreignFields.ts"
import { type Context, fieldsWithChoices, findChoice, maxAttempts, maxTextLines } from "./questionContext.ts"

const maxArgumentLines = 40

const choicesOf = ({ options }: Extract<Input, { readonly type: "pickString" }>) => ({
  texts: options.map(({ value }) => value),
  labels: options.map(({ label }) => label)
})

/** An empty line selects the default, if there is one. */
const nonEmpty = Option.filter((text: string) => text !== "")

/** The rows of a terminal that remain beside these lines and a question, at least one. */
const remainingRows = (rows: number, lines: number): number => Math.max(1, rows - lines - 4)

/** Shows what an input is for. Its texts may come from the author of a project. */
const inputContext =
  (input: Input): Context =>
  ({ columns, rows }) => {
    const preset = input.type === "promptString" && input.password === true ? undefined : defaultInputValue(input)
    const about = definedFields([
      { label: "input", value: input.id },
      { label: "about", value: input.description || undefined, maxLines: maxTextLines },
      { label: "default", value: preset, maxLines: maxTextLines }
    ])
    const choices = input.type === "pickString" ? choicesOf(input) : { texts: [] }
    const max = remainingRows(rows, 1 + about.length * maxTextLines)
    return ["An MCP server needs a value:", ...fieldsWithChoices(about, choices, { columns, kind: "options", max })]
  }

/** Asks for the value of an input: none for an empty line, and after several texts that are not among its options. */
export const promptForInput = Effect.fnUntraced(function* (input: Input, { readLine }: Prompter) {
  const isPick = input.type === "pickString"
  const hidden = input.type === "promptString" && input.password === true
  const hint = hidden ? ` [hidden${input.default === undefined ? "" : ", has a default"}]` : ""
  let prompt = isPick ? "Number or text: " : `Value${hint}: `
  for (let left = maxAttempts; left > 0; left--) {
    const entered = nonEmpty(yield* readLine({ context: inputContext(input), prompt, hidden }))
    if (!isPick || Option.isNone(entered)) return entered
    const index = findChoice(entered.value, choicesOf(input))
    if (index !== undefined) return Option.fromUndefinedOr(choicesOf(input).texts[index])
    prompt = `Not one of the ${input.options.length} options. Number or text: `
  }
  return Option.none<string>()
})

/** Asks for the values of inputs. A closed terminal gives no value. */
export const makeInputPrompt =
  ({ interact }: Dialogue): NonNullable<InputSources["prompt"]> =>
  (input) =>
    interact((prompter) => promptForInput(input, prompter))

const changeFields = (change: Approval["change"]): ReadonlyArray<Field> =>
  (change?.differences ?? []).flatMap(({ after, before, part }) => [
    { label: `${part} before`, value: before, maxLines: maxTextLines },
    { label: `${part} now`, value: after, maxLines: maxTextLines }
  ])

/** Shows a call. The tool comes first, and the arguments take the rows that remain, so that all fits the screen. */
const consentContext =
  ({ change, computer, params, requester, server, tool }: Approval): Context =>
  ({ columns, rows }) => {
    const names = fieldsOf({ tool, server, computer, agent: requester })
    const changes = changeFields(change)
    const changeLines = changes.length * maxTextLines
    const maxLines = Math.min(maxArgumentLines, remainingRows(rows, 2 + names.length + changeLines))
    return [
      "A tool call needs your consent:",
      ...(change === undefined ? [] : ["The tool has changed since it was approved:"]),
      ...foreignFields([...names, ...changes, { label: "arguments", value: params, maxLines }], columns)
    ]
  }

/** The name of the user at the terminal among the approvers. */
export const terminalApprover = "terminal"

const parseConsent = (text: string): ApprovalAnswer => {
  const [, once, always] = /^\s*(?:(y|yes)|(a|always))\s*$/i.exec(text) ?? []
  if (once === undefined && always === undefined) return { action: "deny" }
  return { action: "allow", scope: once === undefined ? "tool" : "once" }
}

/**
 * Asks for consent to a tool call. Answers other than yes and always, and a closed terminal, mean no. The question ends
 * when another approver answers.
 */
export const makeConsentPrompt =
  ({ interact }: Dialogue) =>
  (approval: Approval): Effect.Effect<ApprovalAnswer & { readonly by: string }> =>
    interact(
      Effect.fnUntraced(function* ({ readLine }) {
        const answer = yield* readLine({
          context: consentContext(approval),
          prompt: "Run it? y(es), N(o), a(lways this tool in this office): ",
          discardTypeahead: true
        })
        return { ...parseConsent(Option.getOrElse(answer, () => "")), by: terminalApprover }
      }),
      "question withdrawn: the call was decided elsewhere, was cancelled or timed out"
    )
