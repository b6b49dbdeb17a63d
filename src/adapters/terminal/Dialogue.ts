import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { isatty } from "node:tty"
import { Effect, Option, Semaphore } from "effect"
import { definedOnly } from "../../domain/objects.ts"
import { makePaint } from "../log/colours.ts"
import { statusLine } from "../log/statusLine.ts"
import type { LineReader } from "./LineReader.ts"
import { clearRowsAbove, type Context, joinLines, makeContextLines, type TerminalOutput } from "./questionContext.ts"

export interface Terminal {
  readonly input: Readable
  readonly output: Writable & TerminalOutput
  /** Runs on Ctrl-C. When it returns, the question has no answer. */
  readonly onInterrupt: Effect.Effect<void>
}

interface LineOptions {
  /** Text before the cursor, on one line. */
  readonly prompt: string
  /** The lines above the prompt. */
  readonly context?: Context
  readonly hidden?: boolean
  /** Discards input typed before the question was shown. */
  readonly discardTypeahead?: boolean
}

export interface Prompter {
  /** Reads a line; none when the terminal is closed. */
  readonly readLine: (options: LineOptions) => Effect.Effect<Option.Option<string>>
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

/** Time without an entered line after which typeahead has ended. */
const typeaheadSilence = "100 millis"

type Entry = { readonly _tag: "Line"; readonly text: string } | { readonly _tag: "Closed" | "Interrupted" }

const makeDialogue = (
  prompter: Prompter,
  printCancelled: (text: string) => Effect.Effect<void>,
  printAbove: Dialogue["printAbove"]
): Dialogue => {
  const lock = Semaphore.makeUnsafe(1)
  return {
    interact: (interaction, cancelledMessage = "question cancelled") =>
      Effect.suspend(() => interaction(prompter)).pipe(
        Effect.onInterrupt(() => printCancelled(`(${cancelledMessage})`)),
        (interacting) => lock.withPermit(interacting)
      ),
    printAbove
  }
}

/**
 * Makes a dialogue on a terminal. The terminal is read, in raw mode, only while a question is open. Effect's `Prompt` would
 * write to stdout, which carries results, and erase log lines when it redraws.
 */
export const make = ({ input, output, onInterrupt }: Terminal): Effect.Effect<Dialogue> =>
  Effect.sync(() => {
    let printAboveQuestion: ((lines: string) => void) | undefined
    const write = (text: string) => Effect.sync(() => void output.write(text))

    /** Reads in raw mode: only `readline` echoes, and Ctrl-C arrives as a key. */
    const readEntry = ({ hidden = false, prompt }: LineOptions, contextLines: () => ReadonlyArray<string>) =>
      Effect.callback<Entry>((resume) => {
        // An ended stream emits no further event.
        if (input.readableEnded || input.destroyed) return resume(Effect.succeed({ _tag: "Closed" }))
        const reader = createInterface({ input, ...(!hidden && { output }), terminal: true, historySize: 0 })
        let isClosed = false
        const settle = (entry: Entry) => {
          if (isClosed) return
          isClosed = true
          printAboveQuestion = undefined
          // Closes the reader first, since the next question may open at once.
          reader.close()
          resume(Effect.succeed(entry))
        }
        reader.once("line", (text) => settle({ _tag: "Line", text }))
        reader.once("SIGINT", () => settle({ _tag: "Interrupted" }))
        reader.once("close", () => settle({ _tag: "Closed" }))
        reader.on("error", () => settle({ _tag: "Closed" }))
        const shownPrompt = makePaint(output)("cyan", prompt)
        reader.setPrompt(shownPrompt)
        const redraw = () => {
          if (hidden) output.write(shownPrompt)
          else reader.prompt(true)
        }
        let shown = contextLines()
        printAboveQuestion = (lines) => {
          const rows = hidden ? 0 : reader.getCursorPos().rows
          clearRowsAbove(output, rows + shown.length)
          shown = contextLines()
          // Readline moves up as many rows as the line had before it redraws the line.
          output.write(`${lines}${joinLines(shown)}${"\n".repeat(rows)}`)
          redraw()
        }
        redraw()
        return Effect.sync(() => settle({ _tag: "Closed" }))
      })

    /** Discards lines typed ahead. Returns an entry that is not a line. */
    const discardTypedAhead = Effect.fnUntraced(function* (contextLines: () => ReadonlyArray<string>) {
      while (true) {
        const silent = readEntry({ hidden: true, prompt: "" }, contextLines)
        const entry = yield* Effect.timeoutOption(silent, typeaheadSilence)
        if (Option.isNone(entry) || entry.value._tag !== "Line") return entry
      }
    })

    const readLine = Effect.fnUntraced(
      function* (options: LineOptions) {
        const contextLines = makeContextLines(options.context, output)
        statusLine.hold()
        yield* write(joinLines(contextLines()))
        const early = options.discardTypeahead === true ? yield* discardTypedAhead(contextLines) : Option.none()
        const entry = Option.isSome(early) ? early.value : yield* readEntry(options, contextLines)
        // The terminal has echoed the line break of a visible line.
        if (entry._tag !== "Line" || options.hidden === true) yield* write("\n")
        if (entry._tag === "Interrupted") yield* onInterrupt
        return entry._tag === "Line" ? Option.some(entry.text) : Option.none()
      },
      Effect.ensuring(Effect.sync(statusLine.release))
    )

    const printAbove: Dialogue["printAbove"] = (lines) => {
      if (printAboveQuestion !== undefined) return printAboveQuestion(lines)
      statusLine.clear()
      output.write(lines)
    }
    return makeDialogue({ readLine }, (text) => write(`\n${text}\n`), printAbove)
  })

/** Makes a dialogue on a line reader. A question waits until the current line is entered. */
export const fromLineReader = ({ ask, isReading, print, printLog }: LineReader): Effect.Effect<Dialogue> =>
  Effect.sync(() => {
    const prompter: Prompter = {
      readLine: ({ context, hidden = false, prompt }) =>
        Effect.andThen(
          Effect.suspend(() => (isReading() ? print("(a question is waiting: press Enter to answer)") : Effect.void)),
          ask(prompt, { hidden, ...definedOnly({ context }) })
        )
    }
    return makeDialogue(prompter, print, printLog)
  })

/** Raises the signal that Ctrl-C raises outside raw mode. */
const raiseInterrupt = Effect.andThen(
  Effect.sync(() => process.kill(process.pid, "SIGINT")),
  Effect.never
)

/** The terminal of this process: stdin and stderr. Results go to stdout. */
export const processTerminal: Effect.Effect<Option.Option<Terminal>> = Effect.sync(() =>
  isatty(0) && isatty(2)
    ? Option.some({ input: process.stdin, output: process.stderr, onInterrupt: raiseInterrupt })
    : Option.none()
)
