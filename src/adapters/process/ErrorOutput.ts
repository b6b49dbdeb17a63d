import { Effect, Fiber, type Scope, Stream } from "effect"
import { makeSecrets } from "../../application/computer/inputs/Secrets.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"
import { redactText } from "../log/redact.ts"

/** Bytes of the end of stderr that are kept. */
const maxTailBytes = 4096

/** What a message quotes of them. */
const maxQuotedLines = 3
const maxQuotedLength = 200

/** Time for the end of stderr after the command: a process that it leaves behind may keep stderr open. */
const endTimeout = "200 millis"

export interface ErrorOutput {
  /** Reads stderr to its end in the background, so the command never waits for a reader. */
  readonly collect: (stderr: Stream.Stream<Uint8Array, unknown>) => Effect.Effect<void, never, Scope.Scope>
  /** Waits a moment for the rest of stderr. */
  readonly settle: Effect.Effect<void>
  /** The last lines, ready for a message; empty without any. What the command printed as its value is redacted. */
  readonly quote: (value: string) => string
}

const truncate = (line: string): string => (line.length > maxQuotedLength ? `${line.slice(0, maxQuotedLength)}…` : line)

/** Collects the last lines of the stderr of one command. */
export const makeErrorOutput = (): ErrorOutput => {
  let tail = Buffer.alloc(0)
  let isTruncated = false
  let reading: Fiber.Fiber<void> | undefined
  return {
    collect: (stderr) =>
      Effect.gen(function* () {
        reading = yield* Stream.runForEach(stderr, (chunk) =>
          Effect.sync(() => {
            const all = Buffer.concat([tail, chunk])
            isTruncated ||= all.length > maxTailBytes
            tail = all.subarray(-maxTailBytes)
          })
        ).pipe(Effect.ignore, Effect.forkScoped)
      }),
    settle: Effect.suspend(() =>
      reading === undefined ? Effect.void : Effect.asVoid(Effect.timeoutOption(Fiber.await(reading), endTimeout))
    ),
    quote: (value) => {
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
        .map((line) => escapeForTerminal(truncate(line)))
        .join(" | ")
    }
  }
}
