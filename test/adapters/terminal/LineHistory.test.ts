import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { PassThrough } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { userStateFile } from "../../../src/adapters/process/userFolders.ts"
import { openHistory } from "../../../src/adapters/terminal/LineHistory.ts"
import { makeLineReader } from "../../../src/adapters/terminal/LineReader.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { liveWith } from "../../testWith.ts"

const up = "\u001b[A"

const historyFile = Effect.map(temporaryFolder, (folder) => join(folder, "state", "a2c", "history"))

const live = liveWith(historyFile)

const modeOf = (path: string): number => statSync(path).mode & 0o777

/** A shell on a terminal with the history of a file, whose lines that begin with "input" are private. */
const openShell = Effect.fnUntraced(function* (file: string) {
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough({ encoding: "utf8" })]
  const history = yield* openHistory(file)
  const reader = yield* makeLineReader({ input, output, errors, isTerminal: true, ...(history && { history }) })
  const type = (text: string) =>
    Effect.andThen(
      Effect.sync(() => void input.write(text)),
      Effect.promise(() => setImmediate())
    )
  /** Runs a read or a question while a user types the answer. */
  const answer = <A>(reading: Effect.Effect<A>, keys: string) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(reading, { startImmediately: true })
      yield* type(keys)
      return yield* Fiber.join(fiber)
    })
  const enter = (keys: string) =>
    answer(reader.read({ prompt: "> ", isPrivate: (line) => line.startsWith("input") }), `${keys}\r`)
  return { answer, enter, errors: () => String(errors.read() ?? ""), reader, type }
})

const inShell = <A, E>(
  file: string,
  use: (shell: Effect.Success<ReturnType<typeof openShell>>) => Effect.Effect<A, E>
) => Effect.scoped(Effect.flatMap(openShell(file), use))

describe("LineHistory", () => {
  live("recalls the lines of the previous shell, and only its owner can read them", function* (file) {
    yield* inShell(file, ({ enter }) => Effect.andThen(enter("status"), enter("tools")))
    assert.strictEqual(readFileSync(file, "utf8"), "status\ntools\n")
    assert.deepStrictEqual([modeOf(file), modeOf(dirname(file))], [0o600, 0o700])
    const recalled = yield* inShell(file, ({ enter }) => enter(`${up}${up}`))
    assert.deepStrictEqual(recalled, { _tag: "Line", text: "status" })
  })

  live("saves no private line, no answer to a question, and no line from before the first prompt", function* (file) {
    yield* inShell(file, ({ answer, enter, reader, type }) =>
      Effect.gen(function* () {
        yield* type("input token early\r")
        yield* reader.read({ prompt: "> ", isPrivate: (line) => line.startsWith("input") })
        yield* enter("input token s3cret")
        yield* answer(reader.ask({ prompt: "Value: ", hidden: false }), "shown\r")
        yield* answer(reader.ask({ prompt: "Value: ", hidden: true }), "hidden\r")
        yield* enter("tools")
      })
    )
    assert.strictEqual(readFileSync(file, "utf8"), "tools\n")
  })

  live("keeps a bounded number of lines, and none that a terminal would interpret", function* (file) {
    mkdirSync(dirname(file), { recursive: true })
    const lines = Array.from({ length: 1100 }, (_, index) => `line ${index}`)
    writeFileSync(file, [...lines, "\u001b[2Jwiped", "x".repeat(5000), ""].join("\n"))
    const history = yield* openHistory(file)
    assert.deepStrictEqual(history?.lines, lines.slice(-500))
    assert.strictEqual(readFileSync(file, "utf8"), `${lines.slice(-500).join("\n")}\n`)
    writeFileSync(file, `${"x".repeat(300 * 1024)}\nlast\n`)
    assert.deepStrictEqual((yield* openHistory(file))?.lines, ["last"])
  })

  live("protects a file that others could read", function* (file) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, "status\n")
    chmodSync(file, 0o644)
    yield* inShell(file, ({ enter }) => enter("tools"))
    assert.strictEqual(modeOf(file), 0o600)
  })

  live("keeps nothing when the file is a link to /dev/null", function* (file) {
    mkdirSync(dirname(file), { recursive: true })
    symlinkSync("/dev/null", file)
    const shown = yield* inShell(file, ({ enter, errors }) => Effect.map(enter("tools"), errors))
    assert.strictEqual(shown, "")
    assert.isTrue(statSync(file).isCharacterDevice())
  })

  live("reports once that lines cannot be saved, and the shell continues", function* (file) {
    const folder = dirname(dirname(file))
    writeFileSync(folder, "a file instead of the folder")
    const logged: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void logged.push(JSON.stringify(message)))])
    yield* Effect.gen(function* () {
      const history = yield* openHistory(file)
      assert.isUndefined(history)
      rmSync(folder)
      yield* inShell(file, ({ enter, errors }) =>
        Effect.gen(function* () {
          writeFileSync(folder, "again")
          assert.deepStrictEqual(yield* enter("status"), { _tag: "Line", text: "status" })
          assert.deepStrictEqual(yield* enter("tools"), { _tag: "Line", text: "tools" })
          assert.match(errors(), /^The history cannot be saved: [^\n]+\n$/)
        })
      )
    }).pipe(Effect.provide(logger))
    assert.lengthOf(logged, 1)
    assert.include(logged[0], "shell history not loaded")
  })

  it("is in the state folder of the user", () => {
    assert.strictEqual(userStateFile("history", { XDG_STATE_HOME: "/state" }, "/home/u"), "/state/a2c/history")
    for (const env of [{}, { XDG_STATE_HOME: "" }, { XDG_STATE_HOME: "relative" }]) {
      assert.strictEqual(userStateFile("history", env, "/home/u"), "/home/u/.local/state/a2c/history")
    }
  })
})
