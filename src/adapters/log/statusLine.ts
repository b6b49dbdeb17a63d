/** A terminal that a status is written to. */
interface StatusTerminal {
  readonly write: (text: string) => unknown
}

let shown: { readonly terminal: StatusTerminal; readonly text: string } | undefined
let isHeld = false

/** Moves the cursor to the start of what is shown. */
const toStart = (): string => {
  const above = (shown?.text.split("\n").length ?? 1) - 1
  return above > 0 ? `\r\u001b[${above}A` : "\r"
}

const clear = (): void => {
  shown?.terminal.write(`${toStart()}\u001b[J`)
  shown = undefined
}

/**
 * The lines below the output of a terminal that show long work, such as its progress or a table. Other output clears them first,
 * and they are shown again with the next status. A process has one such place, as it has one terminal.
 */
export const statusLine = {
  /** Replaces the lines by a text that is escaped and fits the terminal, unless a question is open. */
  show: (terminal: StatusTerminal, text: string): void => {
    if (isHeld || (shown?.terminal === terminal && shown.text === text)) return
    // Each line is cleared before it is written: a line of the full width leaves the cursor on its last character.
    const lines = text
      .split("\n")
      .map((line, index, { length }) => `\u001b[${index === length - 1 ? "J" : "2K"}${line}`)
    terminal.write(toStart() + lines.join("\n"))
    shown = { terminal, text }
  },
  clear,
  /** Clears the screen when its size has changed: terminals break the lines that they show, or do not. */
  clearScreen: (): void => {
    shown?.terminal.write("\u001b[H\u001b[2J")
    shown = undefined
  },
  /** Ends the lines: later output stands below them. */
  keep: (): void => {
    shown?.terminal.write("\n")
    shown = undefined
  },
  /** Clears the lines until `release`: an open question is the last line. */
  hold: (): void => {
    clear()
    isHeld = true
  },
  release: (): void => void (isHeld = false)
}
