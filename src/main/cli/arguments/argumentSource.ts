import { Effect } from "effect"
import { isJsonObject, type JsonObject, parseJson } from "../../../domain/json.ts"
import { type CommandFailed, failCommand } from "../../CommandFailed.ts"
import { readStdin, readTextOf } from "./readFiles.ts"
import { truncateQuote } from "../../../domain/errorMessage.ts"

/** One argument by its key: a text to convert by the tool's schema, or a JSON value. */
export type GivenArgument =
  | { readonly key: string; readonly text: string }
  | { readonly key: string; readonly json: unknown }

/** The arguments of a call as the command line gives them. */
export type GivenArguments =
  | { readonly _tag: "Whole"; readonly params: JsonObject }
  | { readonly _tag: "ByKey"; readonly given: ReadonlyArray<GivenArgument> }

const parseWhole = (text: string, source: string): Effect.Effect<JsonObject, CommandFailed> => {
  const value = parseJson(text)
  if (isJsonObject(value)) return Effect.succeed(value)
  return failCommand(value === undefined ? `${source} is not JSON` : `${source} must be a JSON object`)
}

/** Reads the value of `--args`: JSON, `@FILE`, or `-` for stdin. Without a value there are no arguments. */
export const readWholeArguments = (value: string | undefined): Effect.Effect<JsonObject, CommandFailed> => {
  if (value === undefined) return Effect.succeed({})
  if (value === "-") return Effect.flatMap(readStdin, (text) => parseWhole(text, "stdin"))
  if (!value.startsWith("@")) return parseWhole(value, "--args")
  const file = value.slice(1)
  return Effect.flatMap(readTextOf(file), (text) => parseWhole(text, file))
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
  return { key, text: value.startsWith("@") ? yield* readTextOf(value.slice(1)) : value }
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
