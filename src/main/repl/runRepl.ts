import { Cause, Console, Effect, Exit, Result, Stream } from "effect"
import type { LineReader } from "../../adapters/terminal/LineReader.ts"
import { Computer } from "../../application/computer/Computer.ts"
import { type CommandFailed, failCommand } from "../cli/CommandFailed.ts"
import { complete, isPrivate, parseLine } from "./replCommands.ts"
import { PromptUser, type ReplServices } from "./ReplCommand.ts"

/** Where results and complaints go. */
interface Output {
  readonly print: (text: string) => Effect.Effect<void>
  readonly printError: (text: string) => Effect.Effect<void>
}

const processOutput: Output = { print: Console.log, printError: Console.error }

/** Waits until every server runs or has failed to, so that commands find what is configured. It always comes to that. */
const awaitServersStarted = Computer.use(({ changes }) =>
  changes.pipe(
    Stream.filter((states) =>
      [...states.values()].every((state) => state._tag !== "Starting" || state.attempt > 1)
    ),
    Stream.runHead,
    Effect.asVoid
  )
)

/** Why a command ended without a result, for a person; what nobody expected is logged in full. */
const explainFailure = (cause: Cause.Cause<CommandFailed>): Effect.Effect<string> => {
  const expected = cause.reasons.find(Cause.isFailReason)
  if (expected !== undefined) return Effect.succeed(expected.error.message)
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed("interrupted")
  return Effect.as(
    Effect.logError("a command of the shell failed", cause),
    "Internal error: the log says more"
  )
}

/** Runs lines one after the other and counts how they went. */
const makeLineRunner = ({ printError, print }: Output, interruption: Effect.Effect<void>) => {
  const count = { all: 0, failed: 0 }

  /** Runs a line, and says whether the shell ends with it. */
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
    const exit = yield* Effect.exit(Effect.raceFirst(parsed.success.run, whenInterrupted))
    if (Exit.isFailure(exit)) {
      count.failed++
      yield* printError(yield* explainFailure(exit.cause))
      return false
    }
    if (exit.value !== "") yield* print(exit.value)
    return parsed.success.endsRepl
  })

  const finish = Effect.suspend(() =>
    count.failed === 0 ? Effect.void : failCommand(`${count.failed} of ${count.all} commands failed`)
  )
  return { run, finish }
}

/** Runs one command of the shell and prints what it gives on stdout. */
export const runCommand = Effect.fnUntraced(function* (
  line: string
): Effect.fn.Return<void, CommandFailed, ReplServices> {
  const parsed = parseLine(line)
  if (Result.isFailure(parsed)) return yield* failCommand(parsed.failure)
  const text = yield* parsed.success.run
  if (text !== "") yield* processOutput.print(text)
})

/**
 * Runs commands in order once the servers have started, each whether or not the one before it failed, up to `exit`.
 * Results go to stdout, complaints to stderr; fails at the end when one of them failed.
 */
export const runCommands = Effect.fnUntraced(function* (
  lines: ReadonlyArray<string>
): Effect.fn.Return<void, CommandFailed, ReplServices> {
  yield* awaitServersStarted
  const { finish, run } = makeLineRunner(processOutput, Effect.never)
  for (const line of lines) if (yield* run(line)) break
  yield* finish
})

/** How a shell is run. */
export interface ReplOptions {
  /** The name of the Computer, for the prompt. */
  readonly name: string
  readonly reader: LineReader
}

/**
 * Runs what a person types, or what comes through a pipe, until `exit` or the end of the input. Ctrl-C stops the
 * command that runs, or discards the line; on an empty line it ends the shell. A command that fails never ends the
 * shell; through a pipe the shell fails at its end when one did.
 */
export const runRepl = Effect.fnUntraced(function* ({
  name,
  reader
}: ReplOptions): Effect.fn.Return<void, CommandFailed, ReplServices> {
  const { awaitInterrupt, isTerminal } = reader
  const context = yield* Effect.context<ReplServices>()
  const { office } = yield* Computer
  const { finish, run } = makeLineRunner(reader, awaitInterrupt)
  if (isTerminal) yield* reader.print("Type help for the commands, exit or Ctrl-D to end.")
  else yield* awaitServersStarted
  yield* reader.captureInterrupts(
    Effect.gen(function* () {
      while (true) {
        const currentOffice = yield* office
        const line = yield* reader.read({
          text: `${name}${currentOffice === undefined ? "" : `@${currentOffice}`}> `,
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
        if (yield* Effect.provideService(run(line.text), PromptUser, reader.ask)) break
      }
    })
  )
  if (!isTerminal) yield* finish
})
