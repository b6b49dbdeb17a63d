import { PassThrough } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Dialogue from "../../../src/adapters/terminal/Dialogue.ts"
import { makeLineReader } from "../../../src/adapters/terminal/LineReader.ts"
import { statusLine } from "../../../src/adapters/log/statusLine.ts"

/** What the status line writes to a terminal. */
const showStatus = (): string => {
  let written = ""
  statusLine.show({ write: (text) => (written += text) }, "5 of 10")
  return written
}

const shown = "\r\u001b[J5 of 10"

const eventLoop = Effect.promise(() => setImmediate())

/** A question on a terminal, by a shell and by a command without one. */
const questions = {
  "a shell": Effect.fnUntraced(function* (input: PassThrough) {
    const streams = { input, output: new PassThrough(), errors: new PassThrough(), isTerminal: true }
    return Effect.asVoid((yield* makeLineReader(streams)).ask({ prompt: "? " }))
  }),
  "a command": Effect.fnUntraced(function* (input: PassThrough) {
    const dialogue = yield* Dialogue.make({
      input,
      output: new PassThrough(),
      onInterrupt: Effect.void,
      interruptNotice: ""
    })
    return Effect.asVoid(dialogue.interact(({ readLine }) => readLine({ prompt: "? " })))
  })
}

describe("the status line", () => {
  it("replaces itself, and is cleared once by other output", () => {
    const written: Array<string> = []
    const terminal = { write: (text: string) => written.push(text) }
    statusLine.show(terminal, "one")
    statusLine.show(terminal, "two")
    statusLine.clear()
    statusLine.clear()
    assert.deepStrictEqual(written, ["\r\u001b[Jone", "\r\u001b[Jtwo", "\r\u001b[J"])
  })

  it("replaces several lines from the first one on, and clears each before it is written", () => {
    const written: Array<string> = []
    const terminal = { write: (text: string) => written.push(text) }
    statusLine.show(terminal, "one\ntwo")
    statusLine.show(terminal, "one\ntwo")
    statusLine.show(terminal, "three")
    statusLine.keep()
    statusLine.clear()
    assert.deepStrictEqual(written, ["\r\u001b[2Kone\n\u001b[Jtwo", "\r\u001b[1A\u001b[Jthree", "\n"])
  })

  for (const [place, ask] of Object.entries(questions)) {
    it.live(`waits while a question of ${place} is open`, () =>
      Effect.gen(function* () {
        const input = new PassThrough()
        const asking = yield* Effect.forkChild(yield* ask(input), { startImmediately: true })
        yield* eventLoop
        assert.strictEqual(showStatus(), "")
        input.write("yes\r")
        yield* Fiber.join(asking)
        assert.strictEqual(showStatus(), shown)
      })
    )

    it.live(`appears again when a question of ${place} is interrupted, or its terminal is closed`, () =>
      Effect.gen(function* () {
        const input = new PassThrough()
        const question = yield* ask(input)
        const asking = yield* Effect.forkChild(question, { startImmediately: true })
        yield* eventLoop
        yield* Fiber.interrupt(asking)
        assert.strictEqual(showStatus(), shown)
        input.end()
        yield* eventLoop
        yield* question
        assert.strictEqual(showStatus(), shown)
      })
    )
  }
})
