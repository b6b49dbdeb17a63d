import { Effect, Option, Result } from "effect"
import type { Question } from "../../domain/approvals/Approval.ts"
import { fieldFormatProblem } from "../../domain/approvals/approvalsState.ts"
import { isJsonObject, type JsonObject, parseJson } from "../../domain/json.ts"
import type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"
import { type FormField, formOfSchema } from "../../domain/schemas/schemaForm.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"
import type { Dialogue, Prompter } from "./Dialogue.ts"
import { definedFields, type Field, foreignFields } from "./foreignFields.ts"
import type { Context } from "./questionContext.ts"

/** Maximum lines of a message, and of a description or a default. */
const maxMessageLines = 8
const maxTextLines = 3

/** Maximum attempts at a value: a terminal that is fed by a program must not loop forever. */
const maxAttempts = 3

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
    const names = Object.entries({ tool, server, computer }).map(([label, value]) => ({ label, value }))
    const message = { label: "message", value: request.message, maxLines: maxMessageLines }
    return [title, ...foreignFields([...definedFields(names), message, ...more], columns)]
  }

const formatChoice = (value: unknown, label: string | undefined): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return label === undefined || label === text ? text : `${text} (${label})`
}

/** The choice of a field, or of the items of a list. */
const choiceOf = (field: FormField): Extract<FormField, { readonly _tag: "Choice" }> | undefined => {
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
    const { labels, values = [] } = choiceOf(field) ?? {}
    const shown = values.slice(0, Math.max(1, rows - 6 - about.length * maxTextLines))
    const choices = shown.map(
      (value, index): Field => ({ label: `${index + 1})`, value: formatChoice(value, labels?.[index]) })
    )
    const omitted = values.length - shown.length
    return [...foreignFields([...about, ...choices], columns), ...(omitted > 0 ? [`(${omitted} more values)`] : [])]
  }

const isHidden = (field: FormField): boolean => field._tag === "Text" && field.isSecret === true

const kindOf = (field: FormField): string => {
  switch (field._tag) {
    case "Text":
      return isHidden(field) ? "Text, hidden" : "Text"
    case "Number":
      return field.integer ? "Integer" : "Number"
    case "Flag":
      return "y(es) or n(o)"
    case "Choice":
      return "Number of the value, or the value"
    case "List":
      return choiceOf(field) === undefined ? "JSON list" : "Numbers of the values, with commas"
    case "Group":
    case "Variants":
    case "Json":
      return "JSON"
  }
}

/** The value that a word chooses: by its text, else by its label, else by its number. */
const parseChoice = (
  { labels = [], values }: Extract<FormField, { readonly _tag: "Choice" }>,
  word: string
): Result.Result<unknown, string> => {
  const texts = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
  const found = [texts.indexOf(word), labels.indexOf(word), /^\d{1,9}$/.test(word) ? Number(word) - 1 : -1]
  const index = found.find((one) => one >= 0 && one < values.length)
  return index === undefined ? Result.fail("not one of the values") : Result.succeed(values[index])
}

const parseEntered = (field: FormField, text: string): Result.Result<unknown, string> => {
  const word = text.trim()
  switch (field._tag) {
    case "Text":
      return Result.succeed(text)
    case "Number":
      return word !== "" && Number.isFinite(Number(word)) ? Result.succeed(Number(word)) : Result.fail("not a number")
    case "Flag": {
      if (/^(y|yes|true)$/i.test(word)) return Result.succeed(true)
      return /^(n|no|false)$/i.test(word) ? Result.succeed(false) : Result.fail("neither y nor n")
    }
    case "Choice":
      return parseChoice(field, word)
    case "List": {
      const choice = choiceOf(field)
      if (choice === undefined) break
      const words = word.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]))
      return Result.all(words.map((one) => parseChoice(choice, one)))
    }
    case "Group":
    case "Variants":
    case "Json":
  }
  const value = parseJson(word)
  return value === undefined ? Result.fail("not JSON") : Result.succeed(value)
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
  const hint = initial !== undefined ? "Enter for the default" : required ? "required" : "Enter for none"
  let problem: string | undefined
  for (let left = maxAttempts; left > 0; left--) {
    const entered = yield* readLine({
      context: fieldContext(member, problem),
      prompt: `${kindOf(field)} (${hint}): `,
      hidden: isHidden(field)
    })
    const text = Option.getOrElse(entered, () => "")
    if (text === "" && initial === undefined && !required) return Option.some(undefined)
    const parsed =
      text !== ""
        ? parseEntered(field, text)
        : initial === undefined
          ? Result.fail("a value is required")
          : Result.succeed(initial)
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
    const entered = members.filter(({ name }) => Object.hasOwn(content, name))
    return [
      entered.length === 0 ? "The answer is empty." : "The answer:",
      ...foreignFields(
        entered.map(({ field, name }, index) => ({
          label: `${index + 1})`,
          value: isHidden(field) ? `${name}: (hidden)` : `${name}: ${JSON.stringify(content[name])}`
        })),
        columns
      )
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
