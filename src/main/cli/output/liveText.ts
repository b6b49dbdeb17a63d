import { Effect, Schedule, Stream } from "effect"
import { statusLine } from "../../../adapters/log/statusLine.ts"
import { escapeAroundColours, printTable } from "./print.ts"
import { tableTerminal } from "./screen.ts"

const hideCursor = "\u001b[?25l"
const showCursor = "\u001b[?25h"

/** Cuts a text to rows, the last of which says how many lines are not shown. */
const cutLines = (text: string, rows: number): string => {
  const lines = text.split("\n")
  return lines.length <= rows
    ? text
    : [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more lines`].join("\n")
}

/**
 * Shows the latest of several texts, formatted for the current size: a terminal has it in one place, also after other output and
 * in another size, and keeps the last one. Elsewhere each stands below the one before. Foreign parts must be escaped.
 */
export const showLive = Effect.fnUntraced(function* <E, R>(texts: Stream.Stream<() => string, E, R>) {
  const terminal = tableTerminal()
  if (terminal === undefined) {
    const changed = Stream.changes(Stream.map(texts, (format) => format()))
    return yield* Stream.runForEach(changed, (text) => printTable(`${text}\n`))
  }
  let latest: (() => string) | undefined
  const draw = () => {
    if (latest === undefined) return
    statusLine.show(terminal, escapeAroundColours(cutLines(latest(), terminal.rows() - 1)))
  }
  const onResize = () => {
    statusLine.clearScreen()
    draw()
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      terminal.write(hideCursor)
      return terminal.onResize(onResize)
    }),
    (stop) =>
      Effect.sync(() => {
        stop()
        statusLine.keep()
        terminal.write(showCursor)
      })
  )
  // Other output has cleared the text, or the time in it passes.
  yield* Effect.forkScoped(Effect.repeat(Effect.sync(draw), Schedule.spaced("1 second")))
  yield* Stream.runForEach(texts, (format) =>
    Effect.sync(() => {
      latest = format
      draw()
    })
  )
}, Effect.scoped)
