import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { isatty } from "node:tty"
import { Effect, Option, Semaphore } from "effect"
import type { LineReader } from "./LineReader.ts"

/** A terminal that somebody sits at. */
export interface Terminal {
  readonly input: Readable
  readonly output: Writable & { readonly columns?: number }
  /** What Ctrl-C does. When it comes back, the question has no answer. */
  readonly onInterrupt: Effect.Effect<void>
}

/** How a line is read. */
interface LineOptions {
  /** What stands before the cursor, on one line. */
  readonly prompt: string
  /** Show nothing of what is typed. */
  readonly hidden?: boolean
  /** Leave out what was typed before the question stood: it cannot be meant for it. */
  readonly discardTypeahead?: boolean
}

/** The means to talk with the person while nobody else does. */
export interface Prompter {
  /** How wide lines may be. */
  readonly columns: number
  /** Writes lines. */
  readonly print: (...lines: ReadonlyArray<string>) => Effect.Effect<void>
  /** The line the person enters; nothing when the terminal is closed. */
  readonly readLine: (options: LineOptions) => Effect.Effect<Option.Option<string>>
}

/** Talks with the person at a terminal, one matter at a time. */
export interface Dialogue {
  /** Has the terminal to itself; what is interrupted says that its question is withdrawn. */
  readonly interact: <A, E, R>(
    interaction: (prompter: Prompter) => Effect.Effect<A, E, R>,
    cancelledMessage?: string
  ) => Effect.Effect<A, E, R>
  /** Writes whole lines to the terminal's errors; a question that stands comes again below them. */
  readonly printAbove: (lines: string) => void
}

/** Columns of a terminal that does not say (some say 0), and the least and the most that read well. */
const columnLimits = { default: 80, min: 20, max: 120 } as const

const clampColumns = (columns = 0): number =>
  columns === 0 ? columnLimits.default : Math.max(columnLimits.min, Math.min(columns, columnLimits.max))

/** Back to the beginning of the line, and away with what stands there. */
const clearLine = "\r\u001b[J"

/** How long the keyboard must be without an entered line until what comes next counts as typed after the question. */
const typeaheadSilence = "100 millis"

type Entry = { readonly _tag: "Line"; readonly text: string } | { readonly _tag: "Closed" | "Interrupted" }

/** A question that waits for its answer. */
interface ActiveQuestion {
  /** On how many rows above the cursor it goes on. */
  readonly rowsAbove: () => number
  readonly redraw: () => void
}

/** Makes an `interact` that runs one interaction at a time. */
const makeInteract = (
  prompter: () => Prompter,
  printCancelled: (text: string) => Effect.Effect<void>
): Effect.Effect<Dialogue["interact"]> =>
  Effect.map(
    Semaphore.make(1),
    (lock) =>
      (interaction, cancelledMessage = "the question is withdrawn") =>
        Effect.suspend(() => interaction(prompter())).pipe(
          Effect.onInterrupt(() => printCancelled(`(${cancelledMessage})`)),
          (interacting) => lock.withPermit(interacting)
        )
  )

/** A dialogue on a terminal. Nothing is read, and the terminal is as it was, while no question stands. */
export const make = ({ input, output, onInterrupt }: Terminal): Effect.Effect<Dialogue> =>
  Effect.suspend(() => {
    let activeQuestion: ActiveQuestion | undefined
    const write = (text: string) => Effect.sync(() => void output.write(text))

    /** Keys are read raw, so that nothing echoes but what `readline` writes, and Ctrl-C comes to us as a key. */
    const readEntry = ({ hidden = false, prompt }: LineOptions) =>
      Effect.callback<Entry>((resume) => {
        // A stream that has ended does not say so again.
        if (input.readableEnded || input.destroyed) {
          resume(Effect.succeed({ _tag: "Closed" }))
          return
        }
        const reader = createInterface({ input, ...(!hidden && { output }), terminal: true, historySize: 0 })
        let isClosed = false
        const close = () => {
          if (isClosed) return
          isClosed = true
          activeQuestion = undefined
          reader.close()
        }
        // Whoever gets the entry may ask on at once: this reader must have let go of the terminal before.
        const settle = (entry: Entry) => {
          if (isClosed) return
          close()
          resume(Effect.succeed(entry))
        }
        reader.once("line", (text) => settle({ _tag: "Line", text }))
        reader.once("SIGINT", () => settle({ _tag: "Interrupted" }))
        reader.once("close", () => settle({ _tag: "Closed" }))
        reader.on("error", () => settle({ _tag: "Closed" }))
        reader.setPrompt(prompt)
        const redraw = () => {
          if (hidden) output.write(prompt)
          else reader.prompt(true)
        }
        activeQuestion = { rowsAbove: () => reader.getCursorPos().rows, redraw }
        redraw()
        return Effect.sync(close)
      })

    /** Waits until nothing more comes that was typed ahead; gives what else came instead. */
    const discardTypedAhead = Effect.gen(function* () {
      while (true) {
        const entry = yield* Effect.timeoutOption(readEntry({ hidden: true, prompt: "" }), typeaheadSilence)
        if (Option.isNone(entry) || entry.value._tag !== "Line") return entry
      }
    })

    const readLine = Effect.fnUntraced(function* (options: LineOptions) {
      const early = options.discardTypeahead === true ? yield* discardTypedAhead : Option.none()
      const entry = Option.isSome(early) ? early.value : yield* readEntry(options)
      // A line that was entered and shows has its line break already.
      if (entry._tag !== "Line" || options.hidden === true) yield* write("\n")
      if (entry._tag === "Interrupted") yield* onInterrupt
      return entry._tag === "Line" ? Option.some(entry.text) : Option.none()
    })

    const prompter = (): Prompter => ({
      columns: clampColumns(output.columns),
      print: (...lines) => write(lines.map((text) => `${text}\n`).join("")),
      readLine
    })
    return Effect.map(
      makeInteract(prompter, (text) => write(`\n${text}\n`)),
      (interact) => ({
        interact,
        printAbove: (lines) => {
          if (activeQuestion === undefined) return void output.write(lines)
          // Who draws again begins as many rows higher as the question has, and must find them free.
          const rows = activeQuestion.rowsAbove()
          output.write(rows === 0 ? clearLine : "\n")
          output.write(lines)
          output.write("\n".repeat(rows))
          activeQuestion.redraw()
        }
      })
    )
  })

/**
 * A dialogue with the person who types the lines that somebody reads. A question waits until the line that is being
 * typed is entered: what stands there was not meant for it.
 */
export const fromLineReader = (
  { ask, printError, isReading, printLog }: LineReader,
  columns?: number
): Effect.Effect<Dialogue> =>
  Effect.map(
    makeInteract(
      () => ({
        columns: clampColumns(columns),
        print: (...lines) => printError(lines.join("\n")),
        readLine: ({ hidden = false, prompt }) =>
          Effect.andThen(
            Effect.suspend(() => (isReading() ? printError("(press Enter to answer)") : Effect.void)),
            ask(prompt, { hidden })
          )
      }),
      printError
    ),
    (interact) => ({ interact, printAbove: printLog })
  )

/** Raises the signal that Ctrl-C would have been, for whoever ends the program on it. */
const raiseInterrupt = Effect.andThen(
  Effect.sync(() => void process.kill(process.pid, "SIGINT")),
  Effect.never
)

/** The terminal of this process: it reads stdin and writes to stderr, stdout belongs to results. */
export const processTerminal: Effect.Effect<Option.Option<Terminal>> = Effect.sync(() =>
  isatty(0) && isatty(2)
    ? Option.some({ input: process.stdin, output: process.stderr, onInterrupt: raiseInterrupt })
    : Option.none()
)
