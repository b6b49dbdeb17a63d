import { Data, Duration, Effect, Fiber, Option, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import type { InputSources } from "../../application/computer/inputs/Inputs.ts"
import { spawnGuarded } from "./spawnGuarded.ts"
import { makeSecrets } from "../../application/computer/inputs/Secrets.ts"
import { truncateQuote } from "../../domain/errorMessage.ts"
import { decodeUtf8 } from "../../domain/utf8.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"
import { redactText } from "../log/redact.ts"

/** Bytes of the end of stderr that are kept. */
const maxTailBytes = 4096

/** What a message quotes of them. */
const maxQuotedLines = 3
const maxQuotedLength = 200

/** Time for the end of stderr after the command: a process that it leaves behind may keep stderr open. */
const endTimeout = "200 millis"

/** Quotes the last lines of stderr, ready for a message; empty without any. What the command printed is redacted. */
const quoteErrors = (tail: Buffer, isTruncated: boolean, value: string): string => {
  const secrets = makeSecrets()
  for (const secret of [value, ...value.split("\n")]) secrets.add(secret)
  const lines = tail.toString("utf8").split(/\r?\n/)
  // The start of the first line is lost, and with it maybe the start of a secret.
  const text = (isTruncated ? lines.slice(1) : lines).join("\n")
  return redactText(secrets.redact(text))
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(-maxQuotedLines)
    .map((line) => escapeForTerminal(truncateQuote(line, maxQuotedLength)))
    .join(" | ")
}

/** Commands query a password store or a cloud, not a person. */
const defaultTimeout = Duration.seconds(30)

/** Maximum output in bytes: enough for a certificate chain. */
const maxOutputBytes = 64 * 1024

const killDelay = "1 second"

/** A command gave no value. `message` continues "the command …" and never quotes stdout. */
class CommandInputFailed extends Data.TaggedError("CommandInputFailed")<{ readonly message: string }> {}

const commandFailed = (message: string) => new CommandInputFailed({ message })

/** The command is a line of shell. Arguments are passed separately, and no shell parses them. */
const makeShellCommand = (command: string, args: { readonly [key: string]: string }) => {
  const values = Object.entries(args).flat()
  // Without arguments nothing is appended, since not every line of shell accepts further words.
  const script = values.length === 0 ? command : `${command.trimEnd()} "$@"`
  return ChildProcess.make("/bin/sh", ["-c", script, "sh", ...values], {
    stdin: "ignore",
    forceKillAfter: killDelay
  })
}

const readOutput = Effect.fnUntraced(function* (output: Stream.Stream<Uint8Array, unknown>, chunks: Array<Uint8Array>) {
  let size = 0
  const bytes = Stream.mapError(output, () => commandFailed("could not be read"))
  yield* Stream.runForEach(bytes, (chunk) => {
    size += chunk.byteLength
    chunks.push(chunk)
    return size > maxOutputBytes ? Effect.fail(commandFailed(`printed more than ${maxOutputBytes} bytes`)) : Effect.void
  })
})

/**
 * Runs the commands of `command` inputs. The value is the trimmed output (spec §8.5). Fails when the command does not
 * start, exits with a code other than 0, prints more than 64 KiB or exceeds `timeout`. The message quotes the last lines
 * of stderr, without the output. At the end all processes of its process group are killed.
 */
export const make = (
  timeout: Duration.Duration = defaultTimeout
): Effect.Effect<NonNullable<InputSources["runCommand"]>, never, ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.map(ChildProcessSpawner.ChildProcessSpawner, (spawner) => ({ args = {}, command }) => {
    const chunks: Array<Uint8Array> = []
    let tail = Buffer.alloc(0)
    let isTruncated = false
    const keepTail = (chunk: Uint8Array) =>
      Effect.sync(() => {
        const all = Buffer.concat([tail, chunk])
        isTruncated ||= all.length > maxTailBytes
        tail = all.subarray(-maxTailBytes)
      })
    const failWithErrorOutput = (message: string) => {
      const quoted = quoteErrors(tail, isTruncated, Buffer.concat(chunks).toString("utf8"))
      return Effect.fail(commandFailed(quoted === "" ? message : `${message}, stderr: ${quoted}`))
    }
    const value = Effect.gen(function* () {
      const child = yield* spawnGuarded(makeShellCommand(command, args)).pipe(
        Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner),
        Effect.mapError(() => commandFailed("could not be started: it needs /bin/sh")),
        // Node throws when an argument is too long for the system.
        Effect.catchDefect(() => Effect.fail(commandFailed("could not be started: is it, or an argument, too long?")))
      )
      // To its end in the background, so the command never waits for a reader.
      const reading = yield* Effect.forkScoped(Effect.ignore(Stream.runForEach(child.stderr, keepTail)))
      yield* readOutput(child.stdout, chunks)
      const code = yield* Effect.option(child.exitCode)
      if (Option.contains(code, ChildProcessSpawner.ExitCode(0))) {
        const text = decodeUtf8(Buffer.concat(chunks))
        return Option.isSome(text) ? text.value.trim() : yield* commandFailed("printed invalid UTF-8")
      }
      yield* Effect.timeoutOption(Fiber.await(reading), endTimeout)
      return yield* failWithErrorOutput(Option.isNone(code) ? "was ended by a signal" : `ended with code ${code.value}`)
    })
    return Effect.scoped(
      Effect.timeoutOrElse(value, {
        duration: timeout,
        orElse: () => failWithErrorOutput(`timed out after ${Duration.format(timeout)}`)
      })
    )
  })
