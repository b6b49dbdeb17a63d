import { createReadStream } from "node:fs"
import type { Readable } from "node:stream"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, Record, Result } from "effect"
import { isJsonObject, type JsonObject, parseJson } from "../../../domain/json.ts"
import { CommandFailed, failCommand, requireSuccess } from "../../CommandFailed.ts"
import { errorMessage, formatSome, systemErrorCode, truncateQuote } from "../../../domain/errorMessage.ts"
import { coerceForm } from "../../../domain/packs/params/coerceParams.ts"
import { collectSubschemas, propertySchemas } from "../../../domain/schemas/jsonSchema.ts"
import { didYouMean } from "../../config/didYouMean.ts"

/** In bytes. A Server accepts smaller messages unless it is configured otherwise. */
const maxBytes = 16 * 1024 * 1024

const reasons: { readonly [code: string]: string } = {
  ENOENT: "the file does not exist",
  ERR_ENCODING_INVALID_ENCODED_DATA: "it is not a text in UTF-8"
}

const readFailure = (source: string) => (error: unknown) => {
  const reason =
    error instanceof NodeStream.MaxBytesError
      ? `it is larger than ${error.maxBytes} bytes`
      : (reasons[systemErrorCode(error) ?? ""] ?? errorMessage(error))
  return new CommandFailed({ message: `Cannot read ${source}: ${reason}` })
}

const readAll = (source: string, open = (): Readable => createReadStream(source), max = maxBytes) =>
  NodeStream.toUint8Array(open, { maxBytes: max, onError: readFailure(source) })

/** Reads a file of any content, or stdin for `-`, of at most `max` bytes. */
export const readBytes = (file: string, max: number) =>
  file === "-" ? readAll("stdin", () => process.stdin, max) : readAll(file, undefined, max)

const readText = (source: string, open?: () => Readable) =>
  Effect.flatMap(readAll(source, open), (bytes) =>
    Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
      catch: readFailure(source)
    })
  )

/** One argument by its key: a text to convert by the tool's schema, or a JSON value. */
export type GivenArgument =
  | { readonly key: string; readonly text: string }
  | { readonly key: string; readonly json: unknown }

type GivenArguments =
  | { readonly _tag: "Whole"; readonly params: JsonObject }
  | { readonly _tag: "ByKey"; readonly given: ReadonlyArray<GivenArgument> }

const parseWhole = (text: string, source: string): Effect.Effect<JsonObject, CommandFailed> => {
  const value = parseJson(text)
  if (isJsonObject(value)) return Effect.succeed(value)
  return failCommand(value === undefined ? `${source} is not JSON` : `${source} must be a JSON object`)
}

/** Reads the value of `--args`: JSON, `@FILE`, or `-` for stdin. Without a value there are no arguments. */
const readWholeArguments = (value: string | undefined): Effect.Effect<JsonObject, CommandFailed> => {
  if (value === undefined) return Effect.succeed({})
  if (value === "-")
    return Effect.flatMap(
      readText("stdin", () => process.stdin),
      (text) => parseWhole(text, "stdin")
    )
  if (!value.startsWith("@")) return parseWhole(value, "--args")
  const file = value.slice(1)
  return Effect.flatMap(readText(file), (text) => parseWhole(text, file))
}

const expected = "expected KEY=VALUE, KEY=@FILE, KEY:=JSON, @FILE or -"

const readArgument = Effect.fnUntraced(function* (word: string): Effect.fn.Return<GivenArgument, CommandFailed> {
  const [, key = "", operator, value = ""] = /^([^=]*?)(:?=)(.*)$/s.exec(word) ?? []
  if (key === "") return yield* failCommand(`Invalid argument '${truncateQuote(word)}': ${expected}`)
  if (operator === ":=") {
    const json = parseJson(value)
    return json === undefined
      ? yield* failCommand(`The value of '${truncateQuote(key)}' is not JSON: ${truncateQuote(value)}`)
      : { key, json }
  }
  if (value.startsWith("@@")) return { key, text: value.slice(1) }
  return { key, text: value.startsWith("@") ? yield* readText(value.slice(1)) : value }
})

/** True for a word that stands for all arguments. */
const isWhole = (word: string): boolean => word === "-" || word.startsWith("@") || word.startsWith("{")

/**
 * Reads the arguments of a call: words of the form `KEY=VALUE`, one word or `--args` for all of them. Fails before a
 * connection is opened.
 */
export const readArguments = Effect.fnUntraced(function* (
  words: ReadonlyArray<string>,
  args: string | undefined
): Effect.fn.Return<GivenArguments, CommandFailed> {
  const [first, ...others] = words
  if (first === undefined) return { _tag: "Whole", params: yield* readWholeArguments(args) }
  if (args !== undefined) return yield* failCommand("Give the arguments by --args or as words, not both")
  if (others.length === 0 && isWhole(first)) return { _tag: "Whole", params: yield* readWholeArguments(first) }
  const given = yield* Effect.forEach(words, readArgument)
  const keys = given.map(({ key }) => key)
  const repeated = keys.find((key, index) => keys.indexOf(key) < index)
  return repeated === undefined
    ? { _tag: "ByKey", given }
    : yield* failCommand(`The argument '${repeated}' is given twice: give a list as JSON, '${repeated}:=[…]'`)
})

/** True when a schema states that it accepts further keys, or names none at all. */
const isOpen = (parts: ReadonlyArray<JsonObject>, names: ReadonlyArray<string>): boolean =>
  names.length === 0 ||
  parts.some(
    ({ additionalProperties, patternProperties }) =>
      additionalProperties === true || isJsonObject(additionalProperties) || isJsonObject(patternProperties)
  )

/**
 * Converts texts to the types of a tool's schema: numbers, booleans, and arrays and objects as JSON. A text stays a text
 * where the schema accepts one, or where no conversion fits. Fails for a key that the schema does not have.
 */
export const convertArguments = (schema: JsonObject, given: ReadonlyArray<GivenArgument>) => {
  const parts = collectSubschemas(schema, schema, "all")
  const names = [...propertySchemas(parts).keys()]
  const unknown = given.find(({ key }) => !names.includes(key))
  if (unknown !== undefined && !isOpen(parts, names)) {
    const suggestion = didYouMean(unknown.key, names) || `: it has ${formatSome(names)}`
    return Result.fail(`has no argument '${truncateQuote(unknown.key)}'${suggestion}`)
  }
  const texts = given.flatMap((one) => ("text" in one ? [[one.key, one.text] as const] : []))
  const values = given.flatMap((one) => ("json" in one ? [[one.key, one.json] as const] : []))
  return Result.succeed(
    Object.fromEntries([...Object.entries(coerceForm(schema, Object.fromEntries(texts))), ...values])
  )
}

interface ToolSchema {
  readonly schema: JsonObject
  /** What a message says of the schema: `The tool 'add'`. */
  readonly subject: string
}

/** Converts arguments by key as {@link convertArguments}; those that are given as a whole stay as they are. */
export const toCallParams = (read: GivenArguments, { schema, subject }: ToolSchema) =>
  read._tag === "Whole"
    ? Effect.succeed(read.params)
    : requireSuccess(convertArguments(schema, read.given), (reason) => `${subject} ${reason}`)

/** Reads arguments as words, converted by a schema. */
export const readParams = (words: ReadonlyArray<string>, tool: ToolSchema) =>
  Effect.flatMap(readArguments(words, undefined), (read) => toCallParams(read, tool))

/** Reads the arguments of a prompt, which MCP has as texts. */
export const readTexts = (words: ReadonlyArray<string>) =>
  Effect.map(readParams(words, { schema: {}, subject: "The prompt" }), (params) =>
    Record.map(params, (value) => (typeof value === "string" ? value : JSON.stringify(value)))
  )
