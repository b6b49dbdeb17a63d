import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import * as CommandInput from "../../../src/adapters/process/CommandInput.ts"
import { Inputs } from "../../../src/application/computer/inputs/Inputs.ts"
import type { Input } from "../../../src/domain/config/computerConfig.ts"
import { gone } from "../../processes.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

type CommandInputConfig = Extract<Input, { readonly type: "command" }>

const input = (command: string, args?: { readonly [key: string]: string }): CommandInputConfig => ({
  type: "command",
  id: "token",
  description: "",
  command,
  ...(args !== undefined && { args })
})

const run = (command: string, args?: { readonly [key: string]: string }, limit?: Duration.Duration) =>
  Effect.flatMap(CommandInput.make(limit), (value) => value(input(command, args))).pipe(
    Effect.provide(NodeServices.layer)
  )

/** Runs a command; once it has written the file, its timeout passes. Returns the error. */
const timedOut = Effect.fnUntraced(function* (command: string, file: string) {
  const minute = Duration.minutes(1)
  const running = yield* Effect.forkChild(Effect.flip(run(command, {}, minute)))
  const soon = TestClock.withLive(Effect.sleep("10 millis"))
  yield* Effect.repeat(soon, { until: () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n") })
  // First a turn of the event loop, for output that has arrived.
  const passing = Effect.forever(Effect.andThen(soon, TestClock.adjust(minute)))
  return yield* Effect.raceFirst(Fiber.join(running), passing)
})

const inputs = Effect.map(CommandInput.make(), (value) => Inputs.layer({ runCommand: value })).pipe(
  Layer.unwrap,
  Layer.provide(NodeServices.layer)
)
const resolve = (command: string) => Inputs.use(({ resolve }) => resolve(input(command), undefined))

describe("CommandInput", () => {
  it.live("case 213: takes the trimmed output as the value", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resolve("printf ' x '"), { value: "x", source: "command" })
    }).pipe(Effect.provide(inputs))
  )

  it.live("case 214: reports the exit code and not the output", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(resolve("echo s3cret; echo s3cret >&2; exit 1"))
      assert.strictEqual(message, 'the command of input "token" ended with code 1, stderr: <redacted>')
      const quiet = yield* Effect.flip(resolve("echo s3cret; exit 1"))
      assert.strictEqual(quiet.message, 'the command of input "token" ended with code 1')
    }).pipe(Effect.provide(inputs))
  )

  it.live("reports the last lines of stderr, escaped and without secrets", () =>
    Effect.gen(function* () {
      const lines = "printf 'first\\nsecond\\n\\033[2Jthird\\nAuthorization: Bearer abc.def.ghi\\n' >&2"
      const { message } = yield* Effect.flip(run(`${lines}; exit 3`))
      assert.strictEqual(message, "ended with code 3, stderr: second | \\u001b[2Jthird | Authorization: <redacted>")
      const killed = yield* Effect.flip(run("echo locked >&2; kill -9 $$"))
      assert.strictEqual(killed.message, "was ended by a signal, stderr: locked")
    })
  )

  it.live("reads all of stderr, and quotes a bounded part of its end", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        run("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2; false")
      )
      assert.strictEqual(message, "ended with code 1, stderr: end")
      const long = yield* Effect.flip(run("head -c 1000 /dev/zero | tr '\\0' x >&2; false"))
      assert.strictEqual(long.message, `ended with code 1, stderr: ${"x".repeat(200)}…`)
    })
  )

  it.live("does not wait for a process that keeps stderr open", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(run("sleep 600 >/dev/null & echo broken >&2; exit 1"))
      assert.strictEqual(message, "ended with code 1, stderr: broken")
    })
  )

  it.effect("reports stderr of a command that timed out", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "ready")
      const { message } = yield* timedOut(`echo 'Password:' >&2; echo > ${file}; sleep 600`, file)
      assert.strictEqual(message, "timed out after 1m, stderr: Password:")
    })
  )

  it.live("reports an argument that is too long for the system", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(run("echo", { long: "x".repeat(1024 * 1024) }))
      assert.include(message, "too long")
    })
  )

  it.live("case 215: logs neither the command nor its output", () => {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(JSON.stringify(message)))])
    return Effect.gen(function* () {
      yield* run("echo s3cret; echo s3cret >&2")
      assert.deepStrictEqual(lines, [])
    }).pipe(Effect.provide(logger), Effect.provideService(References.MinimumLogLevel, "All"))
  })

  it.live("appends arguments as key and value, in their order", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* run("printf '<%s>'", { "--b": "1 2", "--a": "3" }), "<--b><1 2><--a><3>")
    })
  )

  it.live("passes arguments without shell expansion", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "touched")
      const nasty = `$(touch ${path}) \`touch ${path}\` "; touch ${path}; '`
      assert.strictEqual(yield* run("printf '%s' \"$2\" #", { key: nasty }), nasty)
      assert.isFalse(existsSync(path))
    })
  )

  it.live("keeps the exit code of a command that ends in a line break", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(run("exit 4\n"))).message, "ended with code 4")
      assert.strictEqual((yield* Effect.flip(run("false\n"))).message, "ended with code 1")
      assert.strictEqual(yield* run("printf '%s'\n", { a: "b" }), "ab")
    })
  )

  it.live("gives a command no input", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* run("cat; echo done"), "done")
    })
  )

  it.effect("kills a command with its child processes at the timeout", () =>
    Effect.gen(function* () {
      const pidFile = join(yield* temporaryFolder, "pid")
      const { message } = yield* timedOut(`sleep 600 & echo $! > ${pidFile}; wait`, pidFile)
      assert.strictEqual(message, "timed out after 1m")
      yield* TestClock.withLive(gone([Number(readFileSync(pidFile, "utf8"))]))
    })
  )

  it.effect("kills a command that ignores SIGTERM", () =>
    Effect.gen(function* () {
      const pidFile = join(yield* temporaryFolder, "pid")
      yield* timedOut(`trap '' TERM; echo $$ > ${pidFile}; while :; do sleep 0.1; done`, pidFile)
      yield* TestClock.withLive(gone([Number(readFileSync(pidFile, "utf8"))]))
    })
  )

  it.live("kills the processes that a command leaves behind", () =>
    Effect.gen(function* () {
      const pid = Number(yield* run("sleep 600 >/dev/null & echo $!"))
      yield* gone([pid])
    })
  )

  it.live("accepts 64 KiB of output, and kills a command that prints more", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* run("head -c 65536 /dev/zero | tr '\\0' x")).length, 65536)
      assert.strictEqual((yield* Effect.flip(run("yes s3cret"))).message, "printed more than 65536 bytes")
    })
  )

  it.live("rejects a killed command, and invalid UTF-8", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(run("kill -9 $$"))).message, "was ended by a signal")
      assert.strictEqual((yield* Effect.flip(run("printf '\\377'"))).message, "printed invalid UTF-8")
    })
  )
})
