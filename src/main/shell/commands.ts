import { Effect, Result } from "effect"
import type { Completions } from "../../adapters/node/LineReader.ts"
import { columns } from "../commands/show.ts"
import { type CommandFailed, refuse } from "../failure.ts"
import { inputCommands } from "./inputCommands.ts"
import { meant } from "./nearest.ts"
import { officeCommands } from "./officeCommands.ts"
import { serverCommands } from "./serverCommands.ts"
import { type ShellCommand, type ShellServices, usage } from "./ShellCommand.ts"
import { toolCommands } from "./toolCommands.ts"
import { quoteWord, splitWords } from "./words.ts"

/** The words of the names of some commands, each once. */
const wordsOf = (commands: ReadonlyArray<ShellCommand>, position: number): ReadonlyArray<string> => [
  ...new Set(commands.flatMap(({ name }) => name.split(" ").slice(position, position + 1)))
]

const help: ShellCommand = {
  name: "help",
  takes: "[COMMAND]",
  words: [0, 2],
  help: "all commands, or how one is used",
  run: Effect.fnUntraced(function* (words) {
    const wanted = words.join(" ")
    const found = table.filter(({ name }) => words.every((word, at) => name.split(" ")[at] === word))
    if (found.length === 0) return yield* refuse(unknown(wanted))
    return columns(found.map((command) => [usage(command), command.help]))
  }),
  complete: (words) => Effect.sync(() => wordsOf(table.filter(startsLike(words)), words.length))
}

const exit: ShellCommand = {
  name: "exit",
  takes: "",
  words: [0, 0],
  help: "end the shell and the Computer; Ctrl-D does so, too",
  ends: true,
  run: () => Effect.succeed("")
}

const table: ReadonlyArray<ShellCommand> = [
  ...officeCommands,
  ...toolCommands,
  ...serverCommands,
  ...inputCommands,
  help,
  exit
]

const startsLike =
  (words: ReadonlyArray<string>) =>
  ({ name }: ShellCommand): boolean => {
    const own = name.split(" ")
    return words.length < own.length && words.every((word, at) => own[at] === word)
  }

const unknown = (wanted: string): string => {
  const names = table.map(({ name }) => name)
  return `Unknown command '${wanted}'${meant(wanted, names) || "; help lists them all"}`
}

/** The command that words begin with, of two words before one of one, and what follows its name. */
const commandOf = (words: ReadonlyArray<string>) => {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(" ")
    const command = words.length < length ? undefined : table.find((one) => one.name === name)
    if (command !== undefined) return { command, rest: words.slice(length) }
  }
  return undefined
}

/** A line that was understood: what it does, and what it means for the shell. */
export interface Task {
  /** Does it, and gives what there is to print. */
  readonly run: Effect.Effect<string, CommandFailed, ShellServices>
  readonly ends: boolean
}

/** Reads a line, or says what was expected; a blank line does nothing. */
export const readLine = (line: string): Result.Result<Task, string> => {
  const split = splitWords(line)
  if (Result.isFailure(split)) return Result.fail(`Cannot read this line: ${split.failure}`)
  const words = split.success
  if (words.length === 0) return Result.succeed({ run: Effect.succeed(""), ends: false })
  const found = commandOf(words)
  if (found === undefined) {
    const isGroup = table.some(startsLike(words.slice(0, 1)))
    return Result.fail(unknown(words.slice(0, isGroup ? 2 : 1).join(" ")))
  }
  const { command, rest } = found
  const [least, most] = command.words
  return rest.length < least || rest.length > most
    ? Result.fail(`Expected ${usage(command)}`)
    : Result.succeed({ run: command.run(rest), ends: command.ends === true })
}

/** May this line hold a secret? A line that cannot be read is judged by its first words. */
export const isPrivate = (line: string): boolean => {
  const words = Result.getOrElse(splitWords(line), () => line.trim().split(/\s+/))
  return commandOf(words)?.command.isPrivate === true
}

/** Completes the last word of a line: commands, servers, tools and their parameters, inputs. */
export const complete = Effect.fnUntraced(function* (
  line: string
): Effect.fn.Return<Completions, never, ShellServices> {
  const word = /\S*$/.exec(line)?.[0] ?? ""
  const before = Result.getOrElse(splitWords(line.slice(0, line.length - word.length)), () => undefined)
  if (before === undefined) return { candidates: [], word }
  const found = commandOf(before)
  const next = wordsOf(table.filter(startsLike(before)), before.length)
  const arguments_ = (yield* found?.command.complete?.(found.rest) ?? Effect.succeed([])).map(quoteWord)
  return { candidates: [...new Set([...next, ...arguments_])].filter((one) => one.startsWith(word)), word }
})
