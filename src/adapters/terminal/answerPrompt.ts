import { Effect, Option } from "effect"
import type { ParamsCheck } from "../../application/shared/paramsCheck.ts"
import type { Question } from "../../domain/approvals/Approval.ts"
import { asObject, type JsonObject } from "../../domain/json.ts"
import type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"
import { findProblems, parseEntry, Unfinished } from "../../domain/schemas/formValue.ts"
import { type FieldOf, type FormField, type FormMember, formOfSchema } from "../../domain/schemas/schemaForm.ts"
import { findTextFormat } from "../../domain/schemas/textFormats.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"
import { formatNumberOf } from "../../domain/text/format.ts"
import type { Dialogue, Prompter } from "./Dialogue.ts"
import type { LineQuestion } from "./LineReader.ts"
import { definedFields, type Field, fieldsOf, foreignFields } from "./foreignFields.ts"
import { type Context, fieldsWithChoices, findChoice, maxTextLines } from "./questionContext.ts"

const maxMessageLines = 8

/** Where a question comes from. Names are foreign text. */
export type QuestionOrigin = Partial<Pick<Question, "tool" | "server" | "computer">>

const questionContext =
  (title: string, request: InputRequest, origin: QuestionOrigin, more: ReadonlyArray<Field> = []): Context =>
  ({ columns }) => {
    const { computer, server, tool } = origin
    const message = { label: "message", value: request.message, maxLines: maxMessageLines }
    return [title, ...foreignFields([...fieldsOf({ tool, server, computer }), message, ...more], columns)]
  }

type ChoiceField = FieldOf<"Choice">

const choicesOf = ({ choices }: ChoiceField) => ({
  texts: choices.map(({ value }) => (typeof value === "string" ? value : JSON.stringify(value))),
  labels: choices.map(({ label }) => label)
})

/** The choice of a field, or of the items of a list. */
const choiceOf = (field: FormField): ChoiceField | undefined => {
  if (field._tag === "Choice") return field
  return field._tag === "List" && field.item._tag === "Choice" ? field.item : undefined
}

const fieldContext =
  ({ field, name }: FormMember, problem: string | undefined): Context =>
  ({ columns, rows }) => {
    const about = definedFields([
      { label: "field", value: name },
      { label: "title", value: field.title },
      { label: "about", value: field.description, maxLines: maxTextLines },
      { label: "default", value: isHidden(field) ? undefined : field.initial, maxLines: maxTextLines },
      { label: "invalid", value: problem, maxLines: maxTextLines }
    ])
    const choice = choiceOf(field)
    const max = rows - 6 - about.length * maxTextLines
    return fieldsWithChoices(about, choice ? choicesOf(choice) : { texts: [] }, { columns, kind: "values", max })
  }

const isHidden = (field: FormField): boolean => field._tag === "Text" && field.isSecret === true

/** What the user enters for a field, the value of a text, and what is wrong with an unfinished one. */
interface Entry {
  readonly kind: string
  readonly parse: (text: string) => unknown
  readonly wanted?: string
}

const parseChoice = (field: ChoiceField, word: string): unknown => {
  const index = findChoice(word, choicesOf(field))
  return index === undefined ? new Unfinished(word) : field.choices[index]?.value
}

const parseFlag = (text: string): unknown => {
  const [, yes, no] = /^\s*(?:(y|yes|true)|(n|no|false))\s*$/i.exec(text) ?? []
  return yes === undefined && no === undefined ? new Unfinished(text) : yes !== undefined
}

const parseChoices = (field: ChoiceField, text: string): unknown => {
  const items = text.split(",").flatMap((one) => (one.trim() === "" ? [] : [parseChoice(field, one)]))
  return items.find((item) => item instanceof Unfinished) ?? items
}

const wantedChoice = "enter the number or the text of one of the values"
const wantedChoices = "enter the numbers or the texts of values, with commas"

/** The limits of an entry: ` from 1 to 100`, `, at least 3 characters`. */
const formatBounds = ({ max, min }: FieldOf<"Text" | "Number" | "List">, noun?: string): string => {
  const format = (bound: number) => (noun === undefined ? bound : formatNumberOf(bound, noun))
  if (min !== undefined && max !== undefined) return `${noun === undefined ? "" : ","} from ${min} to ${format(max)}`
  if (min !== undefined) return `, at least ${format(min)}`
  return max === undefined ? "" : `, at most ${format(max)}`
}

const kindOfText = (field: FieldOf<"Text">): string => {
  const wanted = findTextFormat(field.format)?.wanted.replace(/^an? ./, (start) => start.slice(-1).toUpperCase())
  return `${wanted ?? "Text"}${formatBounds(field, "character")}${isHidden(field) ? ", hidden" : ""}`
}

const entryOf = (field: FormField): Entry => {
  const parse = (text: string) => parseEntry(field, true, text)
  const choice = choiceOf(field)
  if (field._tag === "Text") return { kind: kindOfText(field), parse: (text) => text }
  if (field._tag === "Number") return { kind: `${field.integer ? "Integer" : "Number"}${formatBounds(field)}`, parse }
  if (field._tag === "Flag") return { kind: "y(es) or n(o)", parse: parseFlag, wanted: "enter y or n" }
  const size = field._tag === "List" ? formatBounds(field, "value") : ""
  if (choice === undefined) return { kind: field._tag === "List" ? `JSON list${size}` : "JSON", parse }
  const kind = choice === field ? "Number of the value, or the value" : `Numbers of the values, with commas${size}`
  return choice === field
    ? { kind, parse: (text) => parseChoice(choice, text), wanted: wantedChoice }
    : { kind, parse: (text) => parseChoices(choice, text), wanted: wantedChoices }
}

/** A value of a field, `undefined` for an empty one; none when the terminal is closed. */
const promptForField = Effect.fnUntraced(function* (
  member: FormMember,
  schema: JsonObject,
  { readLine }: Prompter,
  check: ParamsCheck
): Effect.fn.Return<Option.Option<unknown>> {
  const { field, required } = member
  const { initial } = field
  const { kind, parse, wanted } = entryOf(field)
  // Another default is foreign text: the lines above show it in quotes.
  const shown = typeof initial === "number" ? ` ${initial}` : ""
  const hint = initial !== undefined ? `Enter for the default${shown}` : required ? "required" : "Enter for none"
  let problem: string | undefined
  while (true) {
    const entered = yield* readLine({
      context: fieldContext(member, problem),
      prompt: `${kind} (${hint}): `,
      hidden: isHidden(field)
    })
    if (Option.isNone(entered)) return Option.none()
    const text = entered.value
    if (text === "" && initial === undefined && !required) return Option.some(undefined)
    const value = text === "" ? initial : parse(text)
    const isRefused = value instanceof Unfinished && wanted !== undefined
    const found = isRefused ? `'${value.text.trim()}': ${wanted}` : findProblems(field, value)[0]?.message
    const error = found ?? (yield* check(schema, value))[0]
    if (error === undefined) return Option.some(value)
    problem = error.replace(/^the arguments: /, "")
  }
})

/** Shows what the user entered, without secrets. */
const answerContext =
  (members: ReadonlyArray<FormMember>, content: JsonObject): Context =>
  ({ columns }) => {
    const fields = members
      .filter(({ name }) => Object.hasOwn(content, name))
      .map(({ field, name }) => `${name}: ${isHidden(field) ? "(hidden)" : JSON.stringify(content[name])}`)
      .map((value) => ({ label: "", value }))
    return [fields.length === 0 ? "The answer is empty." : "The answer:", ...foreignFields(fields, columns)]
  }

/** Asks for a word about a question, until it is one. An empty line means `otherwise`, and a closed terminal `cancel`. */
const promptForReply = Effect.fnUntraced(function* <A extends "accept" | "decline">(
  { readLine }: Prompter,
  { context, ...options }: LineQuestion & { readonly context: Context },
  otherwise: A
) {
  let problem: string | undefined
  const withProblem: Context = (size) => [
    ...context(size),
    ...foreignFields(definedFields([{ label: "invalid", value: problem }]), size.columns)
  ]
  while (true) {
    const read = yield* readLine({ ...options, context: withProblem })
    const entered = Option.getOrElse(read, () => "close").trim()
    if (entered === "") return otherwise
    const [, yes, no, decline, close] = /^(?:(y|yes)|(n|no)|(d|decline)|(c|close))$/i.exec(entered) ?? []
    if (yes ?? no ?? decline ?? close) return yes ? "accept" : no ? "change" : decline ? "decline" : "cancel"
    problem = `'${entered}': enter one of the letters below`
  }
})

const refusals = "(ecline it), c(lose it without an answer): "

/** Asks whether to begin: only a yes does. */
const promptToBegin = (prompter: Prompter, context: Context, question: string) =>
  Effect.map(
    promptForReply(prompter, { context, prompt: `${question} y(es), D${refusals}`, discardTypeahead: true }, "decline"),
    (reply) => (reply === "change" ? "decline" : reply)
  )

/** Asks for the fields of a form, one by one, and for a confirmation of all. */
export const promptForForm = Effect.fnUntraced(function* (
  request: Extract<InputRequest, { readonly mode: "form" }>,
  origin: QuestionOrigin,
  prompter: Prompter,
  check: ParamsCheck
): Effect.fn.Return<InputAnswer> {
  const title = questionContext("An MCP server asks for input:", request, origin)
  const begin = yield* promptToBegin(prompter, title, "Answer it?")
  if (begin !== "accept") return { action: begin }
  const form = formOfSchema(request.schema)
  const members = form._tag === "Group" ? form.members : []
  const properties = asObject(request.schema["properties"])
  let content: JsonObject = {}
  while (true) {
    for (const member of members) {
      const { field, name } = member
      // What was entered before a change is the default.
      const known = Object.hasOwn(content, name) ? { ...member, field: { ...field, initial: content[name] } } : member
      const value = yield* promptForField(known, asObject(properties[name]), prompter, check)
      if (Option.isNone(value)) return { action: "cancel" }
      if (value.value !== undefined) content = { ...content, [name]: value.value }
    }
    const prompt = `Send it? Y(es), n(o, change it), d${refusals}`
    const reply = yield* promptForReply(prompter, { context: answerContext(members, content), prompt }, "accept")
    if (reply === "accept") return { action: reply, content }
    if (reply !== "change") return { action: reply }
  }
})

/** Shows the page alone in a line, so that it can be copied. Only the user opens it. */
const promptForPage = Effect.fnUntraced(function* (
  request: Extract<InputRequest, { readonly mode: "url" }>,
  origin: QuestionOrigin,
  prompter: Prompter,
  printAbove: Dialogue["printAbove"]
): Effect.fn.Return<InputAnswer> {
  // The host as a browser reads it: without a user before it, and with escapes of foreign letters.
  const { host, href } = URL.canParse(request.url) ? new URL(request.url) : { host: "unknown", href: request.url }
  yield* Effect.sync(() => printAbove(`${escapeForTerminal(href)}\n`))
  const title = "An MCP server asks you to open the page above:"
  const context = questionContext(title, request, origin, [{ label: "host", value: host }])
  return { action: yield* promptToBegin(prompter, context, "Do you open it?") }
})

const endings = { decline: "(question declined)\n", cancel: "(question closed without an answer)\n" }

/**
 * Asks for the answer to a question of an MCP server, field by field, and says how it ended without one. A closed terminal
 * closes it. The question ends when another responder answers.
 */
export const makeAnswerPrompt =
  ({ interact, printAbove }: Dialogue, check: ParamsCheck) =>
  (request: InputRequest, origin: QuestionOrigin = {}): Effect.Effect<InputAnswer> =>
    interact(
      (prompter) =>
        Effect.tap(
          request.mode === "url"
            ? promptForPage(request, origin, prompter, printAbove)
            : promptForForm(request, origin, prompter, check),
          ({ action }) => Effect.sync(() => action !== "accept" && printAbove(endings[action]))
        ),
      "question withdrawn: it was answered elsewhere, or its call has ended"
    )
