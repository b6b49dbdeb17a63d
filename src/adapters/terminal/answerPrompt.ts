import { Effect, Option, Result } from "effect"
import type { Question } from "../../domain/approvals/Approval.ts"
import { fieldFormatProblem } from "../../domain/approvals/approvalsState.ts"
import { isJsonObject, type JsonObject, parseJson } from "../../domain/json.ts"
import type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"
import { type FormField, formOfSchema } from "../../domain/schemas/schemaForm.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"
import type { Dialogue, Prompter } from "./Dialogue.ts"
import { definedFields, type Field, fieldsOf, foreignFields } from "./foreignFields.ts"
import { type Context, fieldsWithChoices, findChoice, maxAttempts, maxTextLines } from "./questionContext.ts"

/** Maximum lines of a message. */
const maxMessageLines = 8

/** Where a question comes from. Names are foreign text. */
export type QuestionOrigin = Partial<Pick<Question, "tool" | "server" | "computer">>

/** The violations of a schema by a value. */
export type CheckValue = (schema: JsonObject, value: unknown) => Effect.Effect<ReadonlyArray<string>>

type Member = Extract<FormField, { readonly _tag: "Group" }>["members"][number]

const isYes = (entered: Option.Option<string>): boolean =>
  Option.exists(entered, (text) => /^\s*(y|yes)\s*$/i.test(text))

const questionContext =
  (title: string, request: InputRequest, origin: QuestionOrigin, more: ReadonlyArray<Field> = []): Context =>
  ({ columns }) => {
    const { computer, server, tool } = origin
    const message = { label: "message", value: request.message, maxLines: maxMessageLines }
    return [title, ...foreignFields([...fieldsOf({ tool, server, computer }), message, ...more], columns)]
  }

type ChoiceField = Extract<FormField, { readonly _tag: "Choice" }>

const choicesOf = ({ labels, values }: ChoiceField) => ({
  texts: values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))),
  labels
})

/** The choice of a field, or of the items of a list. */
const choiceOf = (field: FormField): ChoiceField | undefined => {
  if (field._tag === "Choice") return field
  return field._tag === "List" && field.item._tag === "Choice" ? field.item : undefined
}

const fieldContext =
  ({ field, name }: Member, problem: string | undefined): Context =>
  ({ columns, rows }) => {
    const about = definedFields([
      { label: "field", value: name },
      { label: "title", value: field.title },
      { label: "about", value: field.description, maxLines: maxTextLines },
      { label: "default", value: isHidden(field) ? undefined : field.initial, maxLines: maxTextLines },
      { label: "invalid", value: problem }
    ])
    const choice = choiceOf(field)
    const max = rows - 6 - about.length * maxTextLines
    return fieldsWithChoices(about, choice ? choicesOf(choice) : { texts: [] }, { columns, kind: "values", max })
  }

const isHidden = (field: FormField): boolean => field._tag === "Text" && field.isSecret === true

const parseChoice = (field: ChoiceField, word: string): Result.Result<unknown, string> => {
  const index = findChoice(word, choicesOf(field))
  return index === undefined ? Result.fail("not one of the values") : Result.succeed(field.values[index])
}

const parseFlag = (text: string): Result.Result<boolean, string> => {
  const [, yes, no] = /^\s*(?:(y|yes|true)|(n|no|false))\s*$/i.exec(text) ?? []
  return yes === undefined && no === undefined ? Result.fail("neither y nor n") : Result.succeed(yes !== undefined)
}

const parseNumber = (text: string): Result.Result<number, string> =>
  text.trim() !== "" && Number.isFinite(Number(text)) ? Result.succeed(Number(text)) : Result.fail("not a number")

const parseEnteredJson = (text: string): Result.Result<unknown, string> => {
  const value = parseJson(text.trim())
  return value === undefined ? Result.fail("not JSON") : Result.succeed(value)
}

/** What the user enters for a field. */
interface Entry {
  readonly kind: string
  readonly parse: (text: string) => Result.Result<unknown, string>
}

const entryOf = (field: FormField): Entry => {
  switch (field._tag) {
    case "Text":
      return { kind: isHidden(field) ? "Text, hidden" : "Text", parse: Result.succeed }
    case "Number":
      return { kind: field.integer ? "Integer" : "Number", parse: parseNumber }
    case "Flag":
      return { kind: "y(es) or n(o)", parse: parseFlag }
    case "Choice":
      return { kind: "Number of the value, or the value", parse: (text) => parseChoice(field, text) }
    case "List": {
      const choice = choiceOf(field)
      if (choice === undefined) return { kind: "JSON list", parse: parseEnteredJson }
      const parse = (text: string) =>
        Result.all(text.split(",").flatMap((one) => (one.trim() === "" ? [] : [parseChoice(choice, one)])))
      return { kind: "Numbers of the values, with commas", parse }
    }
    case "Group":
    case "Variants":
    case "Json":
      return { kind: "JSON", parse: parseEnteredJson }
  }
}

/** A value of a field, `undefined` for an empty one; none when the user gave no valid one. */
const promptForField = Effect.fnUntraced(function* (
  member: Member,
  schema: JsonObject,
  { readLine }: Prompter,
  check: CheckValue
): Effect.fn.Return<Option.Option<unknown>> {
  const { field, required } = member
  const { initial } = field
  const { kind, parse } = entryOf(field)
  const hint = initial !== undefined ? "Enter for the default" : required ? "required" : "Enter for none"
  let problem: string | undefined
  for (let left = maxAttempts; left > 0; left--) {
    const entered = yield* readLine({
      context: fieldContext(member, problem),
      prompt: `${kind} (${hint}): `,
      hidden: isHidden(field)
    })
    const text = Option.getOrElse(entered, () => "")
    if (text === "" && initial === undefined && !required) return Option.some(undefined)
    const parsed =
      text !== "" ? parse(text) : initial === undefined ? Result.fail("a value is required") : Result.succeed(initial)
    if (Result.isFailure(parsed)) problem = parsed.failure
    else {
      const error = fieldFormatProblem(schema, parsed.success) ?? (yield* check(schema, parsed.success))[0]
      if (error === undefined) return Option.some(parsed.success)
      problem = error.replace(/^the arguments: /, "")
    }
  }
  return Option.none()
})

/** Shows what the user entered, without secrets. */
const answerContext =
  (members: ReadonlyArray<Member>, content: JsonObject): Context =>
  ({ columns }) => {
    const texts = members
      .filter(({ name }) => Object.hasOwn(content, name))
      .map(({ field, name }) => `${name}: ${isHidden(field) ? "(hidden)" : JSON.stringify(content[name])}`)
    return [
      texts.length === 0 ? "The answer is empty." : "The answer:",
      ...fieldsWithChoices([], { texts }, { columns, kind: "", max: texts.length })
    ]
  }

/** Asks for the fields of a form, one by one, and for a confirmation of all. */
export const promptForForm = Effect.fnUntraced(function* (
  request: Extract<InputRequest, { readonly mode: "form" }>,
  origin: QuestionOrigin,
  prompter: Prompter,
  check: CheckValue
): Effect.fn.Return<InputAnswer> {
  const { readLine } = prompter
  const begin = yield* readLine({
    context: questionContext("An MCP server asks for input:", request, origin),
    prompt: "Answer it? y(es), N(o): ",
    discardTypeahead: true
  })
  if (!isYes(begin)) return { action: "decline" }
  const form = formOfSchema(request.schema)
  const members = form._tag === "Group" ? form.members : []
  const { properties } = request.schema
  let content: JsonObject = {}
  for (const member of members) {
    const { name } = member
    const schema = isJsonObject(properties) && isJsonObject(properties[name]) ? properties[name] : {}
    const value = yield* promptForField(member, schema, prompter, check)
    if (Option.isNone(value)) return { action: "cancel" }
    if (value.value !== undefined) content = { ...content, [name]: value.value }
  }
  const send = yield* readLine({ context: answerContext(members, content), prompt: "Send it? y(es), N(o): " })
  return isYes(send) ? { action: "accept", content } : { action: "cancel" }
})

/** Shows the page alone in a line, so that it can be copied. Only the user opens it. */
const promptForPage = Effect.fnUntraced(function* (
  request: Extract<InputRequest, { readonly mode: "url" }>,
  origin: QuestionOrigin,
  { readLine }: Prompter,
  printAbove: Dialogue["printAbove"]
): Effect.fn.Return<InputAnswer> {
  // The host as a browser reads it: without a user before it, and with escapes of foreign letters.
  const { host, href } = URL.canParse(request.url) ? new URL(request.url) : { host: "unknown", href: request.url }
  yield* Effect.sync(() => printAbove(`${escapeForTerminal(href)}\n`))
  const opened = yield* readLine({
    context: questionContext("An MCP server asks you to open the page above:", request, origin, [
      { label: "host", value: host }
    ]),
    prompt: "Do you open it? y(es), N(o): ",
    discardTypeahead: true
  })
  return isYes(opened) ? { action: "accept" } : { action: "decline" }
})

/**
 * Asks for the answer to a question of an MCP server, field by field. Answers other than yes and a closed terminal
 * decline it. The question ends when another responder answers.
 */
export const makeAnswerPrompt =
  ({ interact, printAbove }: Dialogue, check: CheckValue) =>
  (request: InputRequest, origin: QuestionOrigin = {}): Effect.Effect<InputAnswer> =>
    interact(
      (prompter) =>
        request.mode === "url"
          ? promptForPage(request, origin, prompter, printAbove)
          : promptForForm(request, origin, prompter, check),
      "question withdrawn: it was answered elsewhere, or its call has ended"
    )
