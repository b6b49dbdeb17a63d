import { Cause, Console, Effect, Exit, Result, Stream } from "effect"
import type { LineReader } from "../../adapters/node/LineReader.ts"
import { Computer } from "../../application/computer/Computer.ts"
import { type CommandFailed, refuse } from "../failure.ts"
import { complete, isPrivate, readLine } from "./commands.ts"
import { Asking, type ShellServices } from "./ShellCommand.ts"

/** Where results and complaints go. */
interface Screen {
  readonly print: (text: string) => Effect.Effect<void>
  readonly complain: (text: string) => Effect.Effect<void>
}

const console: Screen = { print: Console.log, complain: Console.error }

/** Waits until every server runs or has failed to, so that commands find what is configured. It always comes to that. */
const started = Computer.use(({ changes }) =>
  changes.pipe(
    Stream.filter((states) =>
      [...states.values()].every((state) => state._tag !== "Starting" || state.attempt > 1)
    ),
    Stream.runHead,
    Effect.asVoid
  )
)

/** Why a command ended without a result, for a person; what nobody expected is logged in full. */
const explain = (cause: Cause.Cause<CommandFailed>): Effect.Effect<string> => {
  const expected = cause.reasons.find(Cause.isFailReason)
  if (expected !== undefined) return Effect.succeed(expected.error.message)
  if (Cause.hasInterruptsOnly(cause)) return Effect.succeed("interrupted")
  return Effect.as(
    Effect.logError("a command of the shell failed", cause),
    "Internal error: the log says more"
  )
}

/** Runs lines one after the other and counts how they went. */
const makeSession = ({ complain, print }: Screen, interruption: Effect.Effect<void>) => {
  const count = { all: 0, failed: 0 }

  /** Runs a line, and says whether the shell ends with it. */
  const run = Effect.fnUntraced(function* (line: string): Effect.fn.Return<boolean, never, ShellServices> {
    if (line.trim() === "") return false
    count.all++
    const task = readLine(line)
    if (Result.isFailure(task)) {
      count.failed++
      yield* complain(task.failure)
      return false
    }
    const stopped = Effect.flatMap(interruption, () => refuse("interrupted"))
    const exit = yield* Effect.exit(Effect.raceFirst(task.success.run, stopped))
    if (Exit.isFailure(exit)) {
      count.failed++
      yield* complain(yield* explain(exit.cause))
      return false
    }
    if (exit.value !== "") yield* print(exit.value)
    return task.success.ends
  })

  const finish = Effect.suspend(() =>
    count.failed === 0 ? Effect.void : refuse(`${count.failed} of ${count.all} commands failed`)
  )
  return { run, finish }
}

/** Runs one command of the shell and prints what it gives on stdout. */
export const runCommand = Effect.fnUntraced(function* (
  line: string
): Effect.fn.Return<void, CommandFailed, ShellServices> {
  const task = readLine(line)
  if (Result.isFailure(task)) return yield* refuse(task.failure)
  const text = yield* task.success.run
  if (text !== "") yield* console.print(text)
})

/**
 * Runs commands in order once the servers have started, each whether or not the one before it failed, up to `exit`.
 * Results go to stdout, complaints to stderr; fails at the end when one of them failed.
 */
export const runCommands = Effect.fnUntraced(function* (
  lines: ReadonlyArray<string>
): Effect.fn.Return<void, CommandFailed, ShellServices> {
  yield* started
  const { finish, run } = makeSession(console, Effect.never)
  for (const line of lines) if (yield* run(line)) break
  yield* finish
})

/** How a shell is run. */
export interface ShellOptions {
  /** The name of the Computer, for the prompt. */
  readonly name: string
  readonly reader: LineReader
}

/**
 * Runs what a person types, or what comes through a pipe, until `exit` or the end of the input. Ctrl-C stops the
 * command that runs, or discards the line; on an empty line it ends the shell. A command that fails never ends the
 * shell; through a pipe the shell fails at its end when one did.
 */
export const runShell = Effect.fnUntraced(function* ({
  name,
  reader
}: ShellOptions): Effect.fn.Return<void, CommandFailed, ShellServices> {
  const { interruption, isTerminal } = reader
  const context = yield* Effect.context<ShellServices>()
  const { office } = yield* Computer
  const { finish, run } = makeSession(reader, interruption)
  if (isTerminal) yield* reader.print("Type help for the commands, exit or Ctrl-D to end.")
  else yield* started
  yield* reader.attended(
    Effect.gen(function* () {
      while (true) {
        const seat = yield* office
        const line = yield* reader.read({
          text: `${name}${seat === undefined ? "" : `@${seat}`}> `,
          complete: (typed) => Effect.provideContext(complete(typed), context),
          isPrivate
        })
        if (line._tag === "Ended") {
          if (isTerminal) yield* reader.print("")
          break
        }
        if (line._tag === "Interrupted") {
          if (line.isEmpty) break
          continue
        }
        if (yield* Effect.provideService(run(line.text), Asking, reader.ask)) break
      }
    })
  )
  if (!isTerminal) yield* finish
})
