import { spawn } from "@lydell/node-pty"
import xterm from "@xterm/headless"
import { Effect } from "effect"
import { cli } from "./processes.ts"

/** What a person sees of a command on a terminal. */
interface Screen {
  /** The lines, with those that have left the screen. */
  readonly lines: () => ReadonlyArray<string>
  /** The lines of several words that the terminal has broken, because they were too wide. */
  readonly brokenLines: () => ReadonlyArray<string>
  /** Waits for these words, and for all that the command has written with them. */
  readonly shows: (words: string) => Effect.Effect<void>
  /** Changes the number of columns, as a person does with a window. */
  readonly resize: (columns: number) => Effect.Effect<void>
  readonly types: (keys: string) => Effect.Effect<void>
  /** The last sequence that hid or showed the cursor has shown it. */
  readonly hasCursor: () => boolean
  readonly ended: Effect.Effect<number>
}

const rows = 50

/** Runs `a2c` on a terminal of this width. The process is killed when the scope closes. */
export const a2cOnTerminal = Effect.fnUntraced(function* (columns: number, ...args: ReadonlyArray<string>) {
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true })
  const waiting = new Set<() => void>()
  let hasCursor = true
  let exitCode: number | undefined
  const notify = () => {
    for (const look of waiting) look()
  }
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("A2C_")))
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [cli, ...args], { cols: columns, rows, env: { ...env, NO_COLOR: "1", TERM: "xterm" } })
    ),
    // The terminal outlives its process for a moment: this process must not end before.
    (one) =>
      Effect.callback<void>((resume) => {
        if (exitCode !== undefined) return resume(Effect.void)
        one.onExit(() => resume(Effect.void))
        one.kill("SIGKILL")
      })
  )
  child.onData((text) => {
    const [shown, hidden] = ["\u001b[?25h", "\u001b[?25l"].map((sequence) => text.lastIndexOf(sequence)) as [
      number,
      number
    ]
    if (shown !== hidden) hasCursor = shown > hidden
    terminal.write(text, notify)
  })
  child.onExit((end) => {
    ;({ exitCode } = end)
    terminal.write("", notify)
  })
  const allLines = () =>
    Array.from({ length: terminal.buffer.active.length }, (_, index) => terminal.buffer.active.getLine(index))
  const lines = () =>
    allLines()
      .map((line) => line?.translateToString(true) ?? "")
      .join("\n")
      .trimEnd()
      .split("\n")
  const until = <A>(find: () => A | undefined) =>
    Effect.callback<A>((resume) => {
      const look = () => {
        const found = find()
        if (found !== undefined) resume(Effect.succeed(found))
        else if (exitCode !== undefined) resume(Effect.die(new Error(`the command ended:\n${lines().join("\n")}`)))
      }
      waiting.add(look)
      look()
      return Effect.sync(() => waiting.delete(look))
    })
  const screen: Screen = {
    lines,
    brokenLines: () => {
      const found: Array<string> = []
      let whole = ""
      for (const line of allLines()) {
        const text = line?.translateToString(true) ?? ""
        whole = line?.isWrapped === true ? whole + text : text
        // A word that is wider than the terminal stays whole, also after a time.
        if (line?.isWrapped === true && /\S\s+\S/.test(whole.replace(/^[\d:]+/, ""))) found.push(whole)
      }
      return found
    },
    shows: (words) => Effect.asVoid(until(() => (lines().join("\n").includes(words) ? true : undefined))),
    resize: (next) =>
      Effect.sync(() => {
        terminal.resize(next, rows)
        child.resize(next, rows)
      }),
    types: (keys) => Effect.sync(() => child.write(keys)),
    hasCursor: () => hasCursor,
    ended: until(() => exitCode)
  }
  return screen
})
