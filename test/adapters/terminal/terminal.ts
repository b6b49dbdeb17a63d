import { PassThrough } from "node:stream"
import { Effect } from "effect"
import type { Terminal } from "../../../src/adapters/terminal/Dialogue.ts"

/** A terminal in memory with a simulated user. */
export interface FakeTerminal extends Terminal {
  /** Presses keys: `\r` is Enter, `\u0003` Ctrl-C, `\u0004` Ctrl-D. */
  readonly type: (keys: string) => Effect.Effect<void>
  /** Types a line and Enter. */
  readonly enter: (line: string) => Effect.Effect<void>
  /** Ends the input. */
  readonly close: Effect.Effect<void>
  /** Waits until the text was written `times` times. */
  readonly shows: (text: string, times?: number) => Effect.Effect<void>
  readonly screen: () => string
  readonly raw: () => boolean
  readonly interrupts: () => number
}

export const makeTerminal = (columns = 80, rows = 24): FakeTerminal => {
  let raw = false
  let interrupts = 0
  let screen = ""
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => void (raw = mode)
  })
  const output = Object.assign(new PassThrough({ encoding: "utf8" }), { columns, rows })
  output.on("data", (text: string) => void (screen += text))
  const type = (keys: string) => Effect.sync(() => void input.write(keys))
  return {
    input,
    output,
    interruptNotice: "not answered: the test ends",
    onInterrupt: Effect.sync(() => void (interrupts += 1)),
    type,
    enter: (line) => type(`${line}\r`),
    close: Effect.sync(() => void input.end()),
    shows: (text, times = 1) =>
      Effect.callback((resume) => {
        const look = () => {
          if (screen.split(text).length <= times) return
          output.off("data", look)
          // Reacts after the program has written everything of this tick.
          setImmediate(() => resume(Effect.void))
        }
        output.on("data", look)
        look()
        return Effect.sync(() => void output.off("data", look))
      }),
    screen: () => screen,
    raw: () => raw,
    interrupts: () => interrupts
  }
}
