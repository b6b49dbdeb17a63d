import { PassThrough } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeLineReader } from "../../../src/adapters/terminal/LineReader.ts"
import { screenOf } from "./screen.ts"
import { type TestBody, liveWith } from "../../testWith.ts"

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

type Opened = Effect.Success<ReturnType<typeof open>>

describe("LineReader", () => {
  const live = (title: string, isTerminal: boolean, body: TestBody<Opened>) => liveWith(open(isTerminal))(title, body)

  live("returns all lines of a pipe that arrive before the first read", false, function* ({ input, reader, type }) {
    yield* type("line\n".repeat(1000))
    yield* type("line\n".repeat(1000))
    input.end()
    let count = 0
    while ((yield* reader.read({ prompt: "" }))._tag === "Line") count++
    assert.strictEqual(count, 2000)
  })

  live("pauses the input while no read is pending", false, function* ({ input, type }) {
    yield* type("line\n".repeat(1000))
    assert.isTrue(input.isPaused())
  })

  for (const isTerminal of [false, true]) {
    it.live(`closes when reading fails ${isTerminal ? "on a terminal" : "on a pipe"}`, () =>
      Effect.gen(function* () {
        const { input, reader } = yield* open(isTerminal)
        const reading = yield* Effect.forkChild(reader.read({ prompt: "> " }), { startImmediately: true })
        input.destroy(new Error("EIO"))
        assert.deepStrictEqual(yield* Fiber.join(reading), { _tag: "Closed" })
        assert.deepStrictEqual(yield* reader.read({ prompt: "> " }), { _tag: "Closed" })
      })
    )
  }

  live("keeps a Ctrl-C for the next awaitInterrupt", true, function* ({ reader, type }) {
    yield* reader.captureInterrupts(Effect.andThen(type(ctrlC), reader.awaitInterrupt))
  })

  live("drops a Ctrl-C with the next read", true, function* ({ reader, type }) {
    yield* reader.captureInterrupts(
      Effect.gen(function* () {
        yield* type(ctrlC)
        const reading = yield* Effect.forkChild(reader.read({ prompt: "> " }), { startImmediately: true })
        yield* type("line\r")
        yield* Fiber.join(reading)
        const late = yield* Effect.forkChild(reader.awaitInterrupt, { startImmediately: true })
        assert.isUndefined(late.pollUnsafe())
      })
    )
  })

  live("ignores input typed before a question", true, function* ({ reader, type }) {
    yield* type("early\r")
    const asking = yield* Effect.forkChild(reader.ask({ prompt: "? ", hidden: false }), { startImmediately: true })
    yield* type("late\r")
    assert.deepStrictEqual(yield* Fiber.join(asking), { _tag: "Line", text: "late" })
    assert.deepStrictEqual(yield* reader.read({ prompt: "> " }), { _tag: "Line", text: "early" })
  })

  live("asks nothing without a terminal", false, function* ({ reader, type }) {
    yield* type("line\n")
    assert.strictEqual((yield* reader.ask({ prompt: "? ", hidden: true }))._tag, "Closed")
  })
})

describe("LineReader on a terminal", () => {
  const size = { columns: 60, rows: 10 }

  /** A reader and the screen of its terminal. */
  const shown = Effect.gen(function* () {
    const { output, reader, type } = yield* open(true)
    let written = ""
    output.setEncoding("utf8").on("data", (text: string) => void (written += text))
    Object.assign(output, size)
    /** The screen once all writes have arrived. */
    const screen = Effect.map(type(""), () => screenOf(written, size))
    return { output, reader, type, screen }
  })
  const live = liveWith(shown)

  live("redraws the context of a question below lines that are printed above it", function* ({ reader, screen, type }) {
    const context = ({ columns }: { readonly columns: number }) => ["first line", `${columns} columns`]
    yield* Effect.forkChild(reader.ask({ prompt: "? ", hidden: false, context }), { startImmediately: true })
    yield* type("typed")
    for (let count = 0; count < 20; count++) yield* reader.print(`line ${count}`)
    assert.deepStrictEqual((yield* screen).slice(-4), ["line 19", "first line", "60 columns", "? typed"])
  })

  live("drops the typed part of a hidden answer when its question ends", function* ({ reader, screen, type }) {
    const asking = yield* Effect.forkChild(reader.ask({ prompt: "key: ", hidden: true }), { startImmediately: true })
    yield* type("hunter2")
    yield* Fiber.interrupt(asking)
    yield* Effect.forkChild(reader.read({ prompt: "> " }), { startImmediately: true })
    assert.deepStrictEqual(
      (yield* screen).filter((row) => row !== ""),
      ["key:", ">"]
    )
  })

  live("drops the typed part of a visible answer when its question ends", function* ({ reader, type }) {
    const asking = yield* Effect.forkChild(reader.ask({ prompt: "allow? ", hidden: false }), { startImmediately: true })
    yield* type("ye")
    yield* Fiber.interrupt(asking)
    const reading = yield* Effect.forkChild(reader.read({ prompt: "> " }), { startImmediately: true })
    yield* type("status\r")
    assert.deepStrictEqual(yield* Fiber.join(reading), { _tag: "Line", text: "status" })
  })

  live("escapes what it prints and keeps line breaks and tabs", function* ({ reader, screen }) {
    yield* reader.print("one\u001b[2J\r\ntwo\tthree\u202e")
    assert.deepStrictEqual((yield* screen).slice(0, 2), [String.raw`one\u001b[2J`, `two\tthree${String.raw`\u202e`}`])
  })

  live("escapes its prompt", function* ({ reader, screen }) {
    yield* Effect.forkChild(reader.read({ prompt: "desk@a\u001b[2J\nb> " }), { startImmediately: true })
    assert.deepStrictEqual(yield* screen, [String.raw`desk@a\u001b[2J\nb>`])
  })

  live("omits completions that the terminal would interpret", function* ({ reader, screen, type }) {
    const complete = (word: string) => Effect.succeed({ candidates: ["tool_a", "tool_b", "tool\u001b[2J"], word })
    yield* Effect.forkChild(reader.read({ prompt: "> ", complete }), { startImmediately: true })
    for (const keys of ["tool", "\t", "\t", "\t"]) yield* type(keys)
    const lines = (yield* screen).join("\n")
    assert.include(lines, "tool_a")
    assert.include(lines, "tool_b")
    assert.notInclude(lines, "[2J")
  })
})
