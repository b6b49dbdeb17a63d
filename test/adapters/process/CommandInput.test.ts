import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Logger, References } from "effect"
import * as CommandInput from "../../../src/adapters/process/CommandInput.ts"
import { Inputs } from "../../../src/application/computer/inputs/Inputs.ts"
import type { Input } from "../../../src/domain/config/computerConfig.ts"
import { gone } from "../../processes.ts"

type CommandInputConfig = Extract<Input, { readonly type: "command" }>

const input = (command: string, args?: { readonly [key: string]: string }): CommandInputConfig => ({
  type: "command",
  id: "token",
  description: "",
  command,
  ...(args !== undefined && { args })
})

/** Long enough for a shell to start on a busy machine, short enough to wait for. */
const short = Duration.seconds(1)

const run = (command: string, args?: { readonly [key: string]: string }, limit?: Duration.Duration) =>
  Effect.flatMap(CommandInput.make(limit), (value) => value(input(command, args))).pipe(
    Effect.provide(NodeServices.layer)
  )

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "command-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const inputs = Effect.map(CommandInput.make(), (value) => Inputs.layer({ runCommand: value })).pipe(
  Layer.unwrap,
  Layer.provide(NodeServices.layer)
)
const resolve = (command: string) => Inputs.use(({ resolve }) => resolve(input(command), "s"))

describe("command inputs", () => {
  it.live("case 213: what the command prints is the value, without the space around it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resolve("printf ' x '"), { value: "x", source: "command" })
    }).pipe(Effect.provide(inputs))
  )

  it.live("case 214: a command that ends with 1 is reported by its code, not by what it said", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(resolve("echo s3cret; echo s3cret >&2; exit 1"))
      assert.strictEqual(message, 'the command of input "token" ended with code 1')
    }).pipe(Effect.provide(inputs))
  )

  it.live("a command with an argument that no system takes is reported", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(run("echo", { long: "x".repeat(1024 * 1024) }))
      assert.include(message, "too long")
    })
  )

  it.live("case 215: nothing of a command or its output is logged", () => {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(JSON.stringify(message)))])
    return Effect.gen(function* () {
      yield* run("echo s3cret; echo s3cret >&2")
      assert.deepStrictEqual(lines, [])
    }).pipe(Effect.provide(logger), Effect.provideService(References.MinimumLogLevel, "All"))
  })

  it.live("arguments follow the command as key and value, in their order", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* run("printf '<%s>'", { "--b": "1 2", "--a": "3" }), "<--b><1 2><--a><3>")
    })
  )

  it.live("an argument is text, whatever a shell would make of it", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "touched")
      const nasty = `$(touch ${path}) \`touch ${path}\` "; touch ${path}; '`
      assert.strictEqual(yield* run("printf '%s' \"$2\" #", { key: nasty }), nasty)
      assert.isFalse(existsSync(path))
    })
  )

  it.live("a command that ends in a line break keeps its exit code", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(run("exit 4\n"))).message, "ended with code 4")
      assert.strictEqual((yield* Effect.flip(run("false\n"))).message, "ended with code 1")
      assert.strictEqual(yield* run("printf '%s'\n", { a: "b" }), "ab")
    })
  )

  it.live("a command has no input to wait for", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* run("cat; echo done"), "done")
    })
  )

  it.live("a command that is not done in time is ended with everything it started", () =>
    Effect.gen(function* () {
      const path = yield* directory
      const pidFile = join(path, "pid")
      const running = run(`sleep 600 & echo $! > ${pidFile}; wait`, {}, short)
      assert.strictEqual((yield* Effect.flip(running)).message, "timed out after 1s")
      yield* gone([Number(yield* run(`cat ${pidFile}`))])
    })
  )

  it.live("a command that ignores being told to end is killed", () =>
    Effect.gen(function* () {
      const pidFile = join(yield* directory, "pid")
      yield* Effect.flip(run(`trap '' TERM; echo $$ > ${pidFile}; while :; do sleep 0.1; done`, {}, short))
      yield* gone([Number(yield* run(`cat ${pidFile}`))])
    })
  )

  it.live("what a command leaves behind is ended, too", () =>
    Effect.gen(function* () {
      const pid = Number(yield* run("sleep 600 >/dev/null & echo $!"))
      yield* gone([pid])
    })
  )

  it.live("64 KiB are taken, more is refused and stopped", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* run("head -c 65536 /dev/zero | tr '\\0' x")).length, 65536)
      assert.strictEqual((yield* Effect.flip(run("yes s3cret"))).message, "printed more than 65536 bytes")
    })
  )

  it.live("a command that is killed, and one that prints no text", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(run("kill -9 $$"))).message, "was ended by a signal")
      assert.strictEqual((yield* Effect.flip(run("printf '\\377'"))).message, "printed invalid UTF-8")
    })
  )
})
