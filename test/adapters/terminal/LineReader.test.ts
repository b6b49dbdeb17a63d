import { PassThrough } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeLineReader } from "../../../src/adapters/terminal/LineReader.ts"
import { screenOf } from "./screen.ts"

const ctrlC = "\u0003"

const open = Effect.fnUntraced(function* (isTerminal: boolean) {
  const input = new PassThrough()
  const output = new PassThrough()
  const reader = yield* makeLineReader({ input, output, errors: new PassThrough(), isTerminal })
  /** Waits until all typed keys have arrived. */
  const type = (text: string) =>
    Effect.andThen(
      Effect.sync(() => void input.write(text)),
      Effect.promise(() => setImmediate())
    )
  return { input, output, reader, type }
})

describe("LineReader", () => {
  it.live("returns all lines of a pipe that arrive before the first read", () =>
    Effect.gen(function* () {
      const { input, reader, type } = yield* open(false)
      yield* type("line\n".repeat(1000))
      yield* type("line\n".repeat(1000))
      input.end()
      let count = 0
      while ((yield* reader.read({ text: "" }))._tag === "Line") count++
      assert.strictEqual(count, 2000)
    }).pipe(Effect.scoped)
  )

  it.live("pauses the input while no read is pending", () =>
    Effect.gen(function* () {
      const { input, type } = yield* open(false)
      yield* type("line\n".repeat(1000))
      assert.isTrue(input.isPaused())
    }).pipe(Effect.scoped)
  )

  for (const isTerminal of [false, true]) {
    it.live(`closes when reading fails ${isTerminal ? "on a terminal" : "on a pipe"}`, () =>
      Effect.gen(function* () {
        const { input, reader } = yield* open(isTerminal)
        const reading = yield* Effect.forkChild(reader.read({ text: "> " }), { startImmediately: true })
        input.destroy(new Error("EIO"))
        assert.deepStrictEqual(yield* Fiber.join(reading), { _tag: "Closed" })
        assert.deepStrictEqual(yield* reader.read({ text: "> " }), { _tag: "Closed" })
      }).pipe(Effect.scoped)
    )
  }

  it.live("keeps a Ctrl-C for the next awaitInterrupt", () =>
    Effect.gen(function* () {
      const { reader, type } = yield* open(true)
      yield* reader.captureInterrupts(Effect.andThen(type(ctrlC), reader.awaitInterrupt))
    }).pipe(Effect.scoped)
  )

  it.live("drops a Ctrl-C with the next read", () =>
    Effect.gen(function* () {
      const { reader, type } = yield* open(true)
      yield* reader.captureInterrupts(
        Effect.gen(function* () {
          yield* type(ctrlC)
          const reading = yield* Effect.forkChild(reader.read({ text: "> " }), { startImmediately: true })
          yield* type("line\r")
          yield* Fiber.join(reading)
          const late = yield* Effect.forkChild(reader.awaitInterrupt, { startImmediately: true })
          assert.isUndefined(late.pollUnsafe())
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live("ignores input typed before a question", () =>
    Effect.gen(function* () {
      const { reader, type } = yield* open(true)
      yield* type("early\r")
      const asking = yield* Effect.forkChild(reader.ask("? ", { hidden: false }), { startImmediately: true })
      yield* type("late\r")
      assert.deepStrictEqual(yield* Effect.flatMap(Fiber.join(asking), Effect.fromOption), "late")
      assert.deepStrictEqual(yield* reader.read({ text: "> " }), { _tag: "Line", text: "early" })
    }).pipe(Effect.scoped)
  )

  it.live("asks nothing without a terminal", () =>
    Effect.gen(function* () {
      const { reader, type } = yield* open(false)
      yield* type("line\n")
      assert.strictEqual((yield* reader.ask("? ", { hidden: true }))._tag, "None")
    }).pipe(Effect.scoped)
  )
})

describe("LineReader on a terminal", () => {
  const size = { columns: 60, rows: 10 }

  /** A reader and the screen of its terminal. */
  const shown = Effect.fnUntraced(function* () {
    const { output, reader, type } = yield* open(true)
    let written = ""
    output.setEncoding("utf8").on("data", (text: string) => void (written += text))
    Object.assign(output, size)
    /** The screen once all writes have arrived. */
    const screen = Effect.map(type(""), () => screenOf(written, size))
    return { output, reader, type, screen }
  })

  it.live("redraws the context of a question below lines that are printed above it", () =>
    Effect.gen(function* () {
      const { reader, screen, type } = yield* shown()
      const context = ({ columns }: { readonly columns: number }) => ["first line", `${columns} columns`]
      yield* Effect.forkChild(reader.ask("? ", { hidden: false, context }), { startImmediately: true })
      yield* type("typed")
      for (let count = 0; count < 20; count++) yield* reader.print(`line ${count}`)
      assert.deepStrictEqual((yield* screen).slice(-4), ["line 19", "first line", "60 columns", "? typed"])
    }).pipe(Effect.scoped)
  )

  it.live("drops the typed part of a hidden answer when its question ends", () =>
    Effect.gen(function* () {
      const { reader, screen, type } = yield* shown()
      const asking = yield* Effect.forkChild(reader.ask("key: ", { hidden: true }), { startImmediately: true })
      yield* type("hunter2")
      yield* Fiber.interrupt(asking)
      yield* Effect.forkChild(reader.read({ text: "> " }), { startImmediately: true })
      assert.deepStrictEqual(
        (yield* screen).filter((row) => row !== ""),
        ["key:", ">"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("drops the typed part of a visible answer when its question ends", () =>
    Effect.gen(function* () {
      const { reader, type } = yield* shown()
      const asking = yield* Effect.forkChild(reader.ask("allow? ", { hidden: false }), { startImmediately: true })
      yield* type("ye")
      yield* Fiber.interrupt(asking)
      const reading = yield* Effect.forkChild(reader.read({ text: "> " }), { startImmediately: true })
      yield* type("status\r")
      assert.deepStrictEqual(yield* Fiber.join(reading), { _tag: "Line", text: "status" })
    }).pipe(Effect.scoped)
  )

  it.live("escapes what it prints and keeps line breaks and tabs", () =>
    Effect.gen(function* () {
      const { reader, screen } = yield* shown()
      yield* reader.print("one\u001b[2J\r\ntwo\tthree\u202e")
      assert.deepStrictEqual((yield* screen).slice(0, 2), [String.raw`one\u001b[2J`, `two\tthree${String.raw`\u202e`}`])
    }).pipe(Effect.scoped)
  )

  it.live("escapes its prompt", () =>
    Effect.gen(function* () {
      const { reader, screen } = yield* shown()
      yield* Effect.forkChild(reader.read({ text: "desk@a\u001b[2J\nb> " }), { startImmediately: true })
      assert.deepStrictEqual(yield* screen, [String.raw`desk@a\u001b[2J\nb>`])
    }).pipe(Effect.scoped)
  )

  it.live("omits completions that the terminal would interpret", () =>
    Effect.gen(function* () {
      const { reader, screen, type } = yield* shown()
      const complete = (word: string) => Effect.succeed({ candidates: ["tool_a", "tool_b", "tool\u001b[2J"], word })
      yield* Effect.forkChild(reader.read({ text: "> ", complete }), { startImmediately: true })
      for (const keys of ["tool", "\t", "\t", "\t"]) yield* type(keys)
      const lines = (yield* screen).join("\n")
      assert.include(lines, "tool_a")
      assert.include(lines, "tool_b")
      assert.notInclude(lines, "[2J")
    }).pipe(Effect.scoped)
  )
})
