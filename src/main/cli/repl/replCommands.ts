import { Effect, Result } from "effect"
import type { Prompter } from "../../../adapters/terminal/Dialogue.ts"
import type { Completions } from "../../../adapters/terminal/LineReader.ts"
import { formatFields } from "../output/format.ts"
import { type CommandFailed, failCommand } from "../../CommandFailed.ts"
import { approvalCommands } from "./approvalCommands.ts"
import { inputCommands } from "./inputCommands.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { officeCommands } from "./officeCommands.ts"
import { serverCommands } from "./serverCommands.ts"
import { arityOf, type ReplCommand, type ReplServices, usage } from "./ReplCommand.ts"
import { promptCommands, toolCommands } from "./toolCommands.ts"

/** A part of a word: in single quotes, in double quotes, escaped, or plain. */
const wordPart = String.raw`'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|([^\s'"\\]+)`
const wordPattern = new RegExp(`^(?:${wordPart})+`)
const partPattern = new RegExp(wordPart, "g")

/**
 * Splits a line into words like a shell. Single quotes keep every character. In double quotes a backslash escapes `"`
 * and `\`, outside of quotes any character. Unlike in a shell, a word that begins with `{` or `[` extends to the end of
 * the line, for JSON without quotes. Fails with the missing part.
 */
export const splitWords = (line: string): Result.Result<ReadonlyArray<string>, string> => {
  const words: Array<string> = []
  let rest = line.trimStart()
  while (rest !== "") {
    if (/^[{[]/.test(rest)) return Result.succeed([...words, rest.trimEnd()])
    const [word = ""] = wordPattern.exec(rest) ?? []
    rest = rest.slice(word.length)
    if (rest.startsWith("\\")) return Result.fail("no character follows the backslash at the end of the line")
    if (/^['"]/.test(rest)) return Result.fail(`the quote ${rest[0]} is not closed`)
    const parts = Array.from(
      word.matchAll(partPattern),
      ([, single, double, escaped, plain]) => single ?? double?.replaceAll(/\\(["\\])/g, "$1") ?? escaped ?? plain
    )
    words.push(parts.join(""))
    rest = rest.trimStart()
  }
  return Result.succeed(words)
}

/** Quotes a word for {@link splitWords}, which restores it. */
export const quoteWord = (word: string): string =>
  /^[^\s'"\\{[][^\s'"\\]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

const nameWordsAt = (commands: ReadonlyArray<ReplCommand>, position: number): ReadonlyArray<string> => [
  ...new Set(commands.flatMap(({ name }) => name.split(" ").slice(position, position + 1)))
]

const replCommands: ReadonlyArray<ReplCommand> = [
  ...officeCommands,
  ...toolCommands,
  ...promptCommands,
  ...approvalCommands,
  ...serverCommands,
  ...inputCommands,
  {
    name: "help",
    parameters: "[COMMAND]",
    arity: [0, 2],
    help: "list all commands, or show the usage of one",
    run: Effect.fnUntraced(function* (words) {
      const wanted = words.join(" ")
      const found = replCommands.filter(({ name }) => words.every((word, at) => name.split(" ")[at] === word))
      if (found.length === 0) return yield* failCommand(unknownCommandMessage(wanted))
      return formatFields(found.map((command) => [usage(command), command.help]))
    }),
    complete: (words) => Effect.sync(() => nameWordsAt(replCommands.filter(hasNamePrefix(words)), words.length))
  },
  {
    name: "exit",
    help: "end the shell and the Computer, as Ctrl-D does",
    endsRepl: true,
    run: () => Effect.succeed("")
  }
]

const hasNamePrefix =
  (words: ReadonlyArray<string>) =>
  ({ name }: ReplCommand): boolean => {
    const own = name.split(" ")
    return words.length < own.length && words.every((word, at) => own[at] === word)
  }

const unknownCommandMessage = (wanted: string): string => {
  const names = replCommands.map(({ name }) => name)
  return `Unknown command '${wanted}'${didYouMean(wanted, names) || "; help lists all commands"}`
}

/** Finds the command that the words begin with, two-word names first, and the words after its name. */
const findCommand = (words: ReadonlyArray<string>) => {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(" ")
    const command = words.length < length ? undefined : replCommands.find((one) => one.name === name)
    if (command !== undefined) return { command, rest: words.slice(length) }
  }
  return undefined
}

interface ParsedLine {
  /** Runs the command; succeeds with the text to print. */
  readonly run: (prompter: Prompter) => Effect.Effect<string, CommandFailed, ReplServices>
  readonly endsRepl: boolean
}

/** Parses a line; fails with the expected usage. A blank line does nothing. */
export const parseLine = (line: string): Result.Result<ParsedLine, string> => {
  const split = splitWords(line)
  if (Result.isFailure(split)) return Result.fail(`Cannot parse this line: ${split.failure}`)
  const words = split.success
  if (words.length === 0) return Result.succeed({ run: () => Effect.succeed(""), endsRepl: false })
  const found = findCommand(words)
  if (found === undefined) {
    const isGroup = replCommands.some(hasNamePrefix(words.slice(0, 1)))
    return Result.fail(unknownCommandMessage(words.slice(0, isGroup ? 2 : 1).join(" ")))
  }
  const { command, rest } = found
  const [min, max] = arityOf(command)
  return rest.length < min || rest.length > max
    ? Result.fail(`Expected ${usage(command)}`)
    : Result.succeed({ run: (prompter) => command.run(rest, prompter), endsRepl: command.endsRepl === true })
}

/** Returns whether a line may hold a secret; a line that does not parse counts by its first words. */
export const isPrivate = (line: string): boolean => {
  const words = Result.getOrElse(splitWords(line), () => line.trim().split(/\s+/))
  return findCommand(words)?.command.isPrivate === true
}

/** Completes the last word of a line: commands, servers, tools and their parameters, inputs. */
export const complete = Effect.fnUntraced(function* (line: string): Effect.fn.Return<Completions, never, ReplServices> {
  const word = /\S*$/.exec(line)?.[0] ?? ""
  const before = Result.getOrElse(splitWords(line.slice(0, line.length - word.length)), () => undefined)
  if (before === undefined) return { candidates: [], word }
  const found = findCommand(before)
  const next = nameWordsAt(replCommands.filter(hasNamePrefix(before)), before.length)
  const arguments_ = (yield* found?.command.complete?.(found.rest) ?? Effect.succeed([])).map(quoteWord)
  return { candidates: [...new Set([...next, ...arguments_])].filter((one) => one.startsWith(word)), word }
})
