/** A terminal that a status line is written to. */
interface StatusTerminal {
  readonly write: (text: string) => unknown
}

const eraseLine = "\r\u001b[2K"

let shownAt: StatusTerminal | undefined
let isHeld = false

const clear = (): void => {
  shownAt?.write(eraseLine)
  shownAt = undefined
}

/**
 * The line below the output of a terminal that shows the progress of long work. Other output clears it first, and it is shown
 * again with the next status. A process has one, as it has one terminal.
 */
export const statusLine = {
  /** Replaces the line by a text that is escaped and fits the terminal, unless a question is open. */
  show: (terminal: StatusTerminal, text: string): void => {
    if (isHeld) return
    terminal.write(eraseLine + text)
    shownAt = terminal
  },
  clear,
  /** Clears the line until `release`: an open question is the last line. */
  hold: (): void => {
    clear()
    isHeld = true
  },
  release: (): void => void (isHeld = false)
}
