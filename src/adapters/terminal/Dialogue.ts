import { isatty } from "node:tty"
import { Effect, Option, Semaphore } from "effect"
import { statusLine } from "../log/statusLine.ts"
import { type LineQuestion, type LineReader, type LineStreams, makeLineReader } from "./LineReader.ts"

export interface Terminal extends Pick<LineStreams, "input" | "output"> {
  /** Runs on Ctrl-C. When it returns, the question has no answer. */
  readonly onInterrupt: Effect.Effect<void>
  /** Says that Ctrl-C has left a question without an answer, and what ends with it. */
  readonly interruptNotice: string
}

export interface Prompter {
  /** Reads a line; none after Ctrl-C, and when the terminal is closed. */
  readonly readLine: (question: LineQuestion) => Effect.Effect<Option.Option<string>>
}

/** Asks the user questions on a terminal, one interaction at a time. */
export interface Dialogue {
  /** Runs an interaction with exclusive access. An interrupted one prints the message. */
  readonly interact: <A, E, R>(
    interaction: (prompter: Prompter) => Effect.Effect<A, E, R>,
    cancelledMessage?: string
  ) => Effect.Effect<A, E, R>
  /** Writes whole lines to stderr and redraws an open question with its context below them. */
  readonly printAbove: (lines: string) => void
}

const makeDialogue = (
  prompter: Prompter,
  printCancelled: (message: string) => Effect.Effect<void>,
  printAbove: Dialogue["printAbove"]
): Dialogue => {
  const lock = Semaphore.makeUnsafe(1)
  return {
    interact: (interaction, cancelledMessage = "question cancelled") =>
      Effect.suspend(() => interaction(prompter)).pipe(
        Effect.onInterrupt(() => printCancelled(cancelledMessage)),
        (interacting) => lock.withPermit(interacting)
      ),
    printAbove
  }
}

/**
 * Makes a dialogue on a terminal. The terminal is read, in raw mode, only while a question is open. Effect's `Prompt` would
 * write to stdout, which carries results, and erase log lines when it redraws.
 */
export const make = ({ input, interruptNotice, onInterrupt, output }: Terminal): Effect.Effect<Dialogue> =>
  Effect.sync(() => {
    let open: LineReader | undefined
    let isInterrupted = false
    const ask = Effect.fnUntraced(
      function* (question: LineQuestion) {
        open = yield* makeLineReader({ input, output, errors: output, isTerminal: true })
        return yield* open.ask(question)
      },
      Effect.ensuring(Effect.sync(() => void (open = undefined))),
      Effect.scoped
    )
    const readLine = Effect.fnUntraced(function* (question: LineQuestion) {
      const line = yield* ask(question)
      if (line._tag === "Line") return Option.some(line.text)
      isInterrupted = line._tag === "Interrupted"
      if (isInterrupted) yield* onInterrupt
      return Option.none()
    })
    const printAbove: Dialogue["printAbove"] = (lines) => {
      if (open !== undefined) return open.printLog(lines)
      statusLine.clear()
      output.write(lines)
    }
    const printCancelled = (message: string) =>
      Effect.sync(() => void output.write(`\n(${isInterrupted ? interruptNotice : message})\n`))
    return makeDialogue({ readLine }, printCancelled, printAbove)
  })

export const prompterOf = ({ ask }: Pick<LineReader, "ask">): Prompter => ({
  readLine: (question) =>
    Effect.map(ask(question), (line) => (line._tag === "Line" ? Option.some(line.text) : Option.none()))
})

/** Makes a dialogue on a line reader. A question waits until the current line is entered. */
export const fromLineReader = ({ ask, isReading, print, printLog }: LineReader): Dialogue => {
  const notice = Effect.suspend(() =>
    isReading() ? print("(a question is waiting: press Enter to answer)") : Effect.void
  )
  const prompter = prompterOf({ ask: (question) => Effect.andThen(notice, ask(question)) })
  return makeDialogue(prompter, (message) => print(`(${message})`), printLog)
}

/** Raises the signal that Ctrl-C raises outside raw mode. */
const raiseInterrupt = Effect.andThen(
  Effect.sync(() => process.kill(process.pid, "SIGINT")),
  Effect.never
)

/** The dialogue on the terminal of this process, stdin and stderr; `undefined` without one. Results go to stdout. */
export const onProcessTerminal = (interruptNotice: string): Effect.Effect<Dialogue | undefined> =>
  Effect.suspend(() =>
    isatty(0) && isatty(2)
      ? make({ input: process.stdin, output: process.stderr, onInterrupt: raiseInterrupt, interruptNotice })
      : Effect.undefined
  )
