import { Cause, Effect, Exit, Result } from "effect"
import { type Prompter, prompterOf } from "../../../adapters/terminal/Dialogue.ts"
import type { LineReader } from "../../../adapters/terminal/LineReader.ts"
import { Computer } from "../../../application/computer/Computer.ts"
import { type CommandFailed, failCommand } from "../../CommandFailed.ts"
import { awaitServersStarted } from "../awaitServersStarted.ts"
import { wrapLines } from "../output/columns.ts"
import { print, printError } from "../output/print.ts"
import { errorColumns } from "../output/screen.ts"
import { complete, isPrivate, parseLine } from "./replCommands.ts"
import type { ReplServices } from "./ReplCommand.ts"
import { formatQuantity } from "../../../domain/text/format.ts"

type Output = Pick<LineReader, "print" | "printError">

/** The message of a failed command; a defect is logged with its cause. */
const explainFailure = (cause: Cause.Cause<CommandFailed>): Effect.Effect<string> => {
  const expected = cause.reasons.find(Cause.isFailReason)
  if (expected !== undefined) return Effect.succeed(expected.error.message)
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed("interrupted")
  return Effect.as(Effect.logError("repl command failed", cause), "Internal error: see the log")
}

const makeLineRunner = (output: Output, interruption: Effect.Effect<void>, prompter: Prompter) => {
  const count = { all: 0, failed: 0 }
  /** Indents all lines but the first: they may quote foreign text, and look like nothing else then. */
  const printError = (message: string) => output.printError(wrapLines(message.replaceAll("\n", "\n  "), errorColumns()))

  /** Runs a line; succeeds with true when it ends the shell. */
  const run = Effect.fnUntraced(function* (line: string): Effect.fn.Return<boolean, never, ReplServices> {
    if (line.trim() === "") return false
    count.all++
    const parsed = parseLine(line)
    if (Result.isFailure(parsed)) {
      count.failed++
      yield* printError(parsed.failure)
      return false
    }
    const whenInterrupted = Effect.flatMap(interruption, () => failCommand("interrupted"))
    const exit = yield* Effect.exit(Effect.raceFirst(parsed.success.run(prompter), whenInterrupted))
    if (Exit.isFailure(exit)) {
      count.failed++
      yield* printError(yield* explainFailure(exit.cause))
      return false
    }
    if (exit.value !== "") yield* output.print(exit.value)
    return parsed.success.endsRepl
  })

  const finish = Effect.suspend(() =>
    count.failed === 0 ? Effect.void : failCommand(`${count.failed} of ${formatQuantity(count.all, "command")} failed`)
  )
  return { run, finish }
}

/**
 * Runs commands in order once the servers have started, up to `exit`. A failed command does not stop the next one.
 * Results go to stdout, errors to stderr; fails at the end when a command failed.
 */
export const runCommands = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
  yield* awaitServersStarted
  const output = { print, printError }
  const { finish, run } = makeLineRunner(output, Effect.never, { readLine: () => Effect.succeedNone })
  for (const line of lines) if (yield* run(line)) break
  yield* finish
})

/**
 * Runs the lines of a terminal or a pipe until `exit` or the end of the input. Ctrl-C cancels the running command, or
 * discards the line; on an empty line it ends the shell. A failed command never ends the shell. With a pipe the shell
 * fails at its end when a command failed.
 */
export const runRepl = Effect.fnUntraced(function* (options: { readonly name: string; readonly reader: LineReader }) {
  const { name, reader } = options
  const { awaitInterrupt, isTerminal } = reader
  const context = yield* Effect.context<ReplServices>()
  const { office } = yield* Computer
  const { finish, run } = makeLineRunner(reader, awaitInterrupt, prompterOf(reader))
  if (isTerminal) yield* reader.print("Type help for the commands, exit or Ctrl-D to end.")
  else yield* awaitServersStarted
  yield* reader.captureInterrupts(
    Effect.gen(function* () {
      while (true) {
        const currentOffice = yield* office
        const line = yield* reader.read({
          prompt: `${name}${currentOffice === undefined ? "" : `@${currentOffice}`}> `,
          complete: (typed) => Effect.provideContext(complete(typed), context),
          isPrivate
        })
        if (line._tag === "Closed") {
          if (isTerminal) yield* reader.print("")
          break
        }
        if (line._tag === "Interrupted") {
          if (line.isEmpty) break
          continue
        }
        if (yield* run(line.text)) break
      }
    })
  )
  if (!isTerminal) yield* finish
})
