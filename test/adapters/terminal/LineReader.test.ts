import { PassThrough } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeLineReader } from "../../../src/adapters/terminal/LineReader.ts"

const ctrlC = "\u0003"

const open = Effect.fnUntraced(function* (isTerminal: boolean) {
  const input = new PassThrough()
  const output = new PassThrough()
  const reader = yield* makeLineReader({ input, output, errors: new PassThrough(), isTerminal })
  /** Everything that was typed has arrived. */
  const type = (text: string) =>
    Effect.andThen(
      Effect.sync(() => void input.write(text)),
      Effect.promise(() => setImmediate())
    )
  return { input, output, reader, type }
})

describe("LineReader", () => {
  it.live("gives every line of a pipe, however many come before the first is read", () =>
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

  it.live("lets the input wait while nobody reads", () =>
    Effect.gen(function* () {
      const { input, type } = yield* open(false)
      yield* type("line\n".repeat(1000))
      assert.isTrue(input.isPaused())
    }).pipe(Effect.scoped)
  )

  for (const isTerminal of [false, true]) {
    it.live(
      `ends where reading fails, ${isTerminal ? "as when a terminal is hung up" : "as from a pipe"}`,
      () =>
        Effect.gen(function* () {
          const { input, reader } = yield* open(isTerminal)
          const reading = yield* Effect.forkChild(reader.read({ text: "> " }), { startImmediately: true })
          input.destroy(new Error("EIO"))
          assert.deepStrictEqual(yield* Fiber.join(reading), { _tag: "Closed" })
          assert.deepStrictEqual(yield* reader.read({ text: "> " }), { _tag: "Closed" })
        }).pipe(Effect.scoped)
    )
  }

  it.live("keeps a Ctrl-C for whoever waits for the next one", () =>
    Effect.gen(function* () {
      const { reader, type } = yield* open(true)
      yield* reader.captureInterrupts(Effect.andThen(type(ctrlC), reader.awaitInterrupt))
    }).pipe(Effect.scoped)
  )

  it.live("has forgotten a Ctrl-C once another line was asked for", () =>
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

  it.live("takes no answer to a question from what was typed before it", () =>
    Effect.gen(function* () {
      const { reader, type } = yield* open(true)
      yield* type("early\r")
      const asking = yield* Effect.forkChild(reader.ask("? ", { hidden: false }), { startImmediately: true })
      yield* type("late\r")
      assert.deepStrictEqual(yield* Effect.flatMap(Fiber.join(asking), Effect.fromOption), "late")
      assert.deepStrictEqual(yield* reader.read({ text: "> " }), { _tag: "Line", text: "early" })
    }).pipe(Effect.scoped)
  )

  it.live("asks nobody where nobody types", () =>
    Effect.gen(function* () {
      const { reader, type } = yield* open(false)
      yield* type("line\n")
      assert.strictEqual((yield* reader.ask("? ", { hidden: true }))._tag, "None")
    }).pipe(Effect.scoped)
  )
})
