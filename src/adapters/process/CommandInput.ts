import { Data, Duration, Effect, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import type { InputSources } from "../../application/computer/inputs/Inputs.ts"

/** How long a command may take: it asks a password store or a cloud, not a person. */
const defaultTimeout = Duration.seconds(30)

/** Largest output, in bytes: a token, a certificate chain, but no file that was printed by mistake. */
const maxOutputBytes = 64 * 1024

/** How long a command that is told to end may clean up before it is killed. */
const killDelay = "1 second"

/** A command gave no value; `message` continues "the command …" and never quotes what it printed. */
class CommandInputFailed extends Data.TaggedError("CommandInputFailed")<{ readonly message: string }> {}

const commandFailed = (message: string) => new CommandInputFailed({ message })

/** The command is a line of shell; the arguments are handed over beside it, so that no shell parses them. */
const makeShellCommand = (command: string, args: { readonly [key: string]: string }) => {
  const values = Object.entries(args).flat()
  // Nothing is appended for nothing: not every line of shell can go on with words.
  const script = values.length === 0 ? command : `${command.trimEnd()} "$@"`
  return ChildProcess.make("/bin/sh", ["-c", script, "sh", ...values], {
    stdin: "ignore",
    stderr: "ignore",
    forceKillAfter: killDelay
  })
}

const readOutput = Effect.fnUntraced(function* (output: Stream.Stream<Uint8Array, unknown>) {
  const chunks: Array<Uint8Array> = []
  let size = 0
  yield* Stream.runForEach(
    Stream.mapError(output, () => commandFailed("could not be read")),
    (chunk) => {
      size += chunk.byteLength
      chunks.push(chunk)
      return size > maxOutputBytes
        ? Effect.fail(commandFailed(`printed more than ${maxOutputBytes} bytes`))
        : Effect.void
    }
  )
  return yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)).trim(),
    catch: () => commandFailed("printed what is no UTF-8 text")
  })
})

/**
 * Runs the commands of `command` inputs: what one prints is the value, without the space around it (spec §8.5). It
 * fails when the command cannot start, ends with anything but 0, prints more than 64 KiB or is not done within
 * `timeout`. When it is over, well or not, everything the command has started in its process group is ended.
 */
export const make = (
  timeout: Duration.Duration = defaultTimeout
): Effect.Effect<NonNullable<InputSources["runCommand"]>, never, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.map(ChildProcessSpawner.ChildProcessSpawner, (spawner) => ({ args = {}, command }) => {
    const value = Effect.gen(function* () {
      const child = yield* spawner.spawn(makeShellCommand(command, args)).pipe(
        Effect.mapError(() => commandFailed("could not be started: it needs /bin/sh")),
        // Node throws what the system has against long arguments.
        Effect.catchDefect(() =>
          Effect.fail(commandFailed("could not be started: is it, or an argument, too long?"))
        )
      )
      const text = yield* readOutput(child.stdout)
      const code = yield* Effect.mapError(child.exitCode, () => commandFailed("was ended by a signal"))
      return code === 0 ? text : yield* commandFailed(`ended with code ${code}`)
    })
    return Effect.scoped(
      Effect.timeoutOrElse(value, {
        duration: timeout,
        orElse: () => Effect.fail(commandFailed(`was not done within ${Duration.format(timeout)}`))
      })
    )
  })
