import { PassThrough } from "node:stream"
import { Effect } from "effect"
import type { Terminal } from "../../../src/adapters/terminal/Dialogue.ts"

/** A terminal in memory, and the person at it. */
export interface FakeTerminal extends Terminal {
  /** Presses keys: `\r` is Enter, `\u0003` Ctrl-C, `\u0004` Ctrl-D. */
  readonly type: (keys: string) => Effect.Effect<void>
  /** Types a line and Enter. */
  readonly enter: (line: string) => Effect.Effect<void>
  /** The terminal goes away. */
  readonly close: Effect.Effect<void>
  /** Waits until this text was written so often. */
  readonly shows: (text: string, times?: number) => Effect.Effect<void>
  /** Everything that was written so far. */
  readonly screen: () => string
  readonly raw: () => boolean
  readonly interrupts: () => number
}

/** A terminal that nobody has typed into yet. */
export const makeTerminal = (columns = 80): FakeTerminal => {
  let raw = false
  let interrupts = 0
  let screen = ""
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (mode: boolean) => void (raw = mode)
  })
  const output = Object.assign(new PassThrough({ encoding: "utf8" }), { columns })
  output.on("data", (text: string) => void (screen += text))
  const type = (keys: string) => Effect.sync(() => void input.write(keys))
  return {
    input,
    output,
    onInterrupt: Effect.sync(() => void (interrupts += 1)),
    type,
    enter: (line) => type(`${line}\r`),
    close: Effect.sync(() => void input.end()),
    shows: (text, times = 1) =>
      Effect.callback((resume) => {
        const look = () => {
          if (screen.split(text).length <= times) return
          output.off("data", look)
          // A person reacts after the program has written all it wanted to write at once.
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
