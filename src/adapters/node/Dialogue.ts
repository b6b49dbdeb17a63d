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
  readonly quit: Effect.Effect<void>
}

/** How a line is read. */
interface LineOptions {
  /** What stands before the cursor, on one line. */
  readonly prompt: string
  /** Show nothing of what is typed. */
  readonly hidden?: boolean
  /** Leave out what was typed before the question stood: it cannot be meant for it. */
  readonly fresh?: boolean
}

/** The means to talk with the person while nobody else does. */
export interface Turn {
  /** How wide lines may be. */
  readonly columns: number
  /** Writes lines. */
  readonly say: (...lines: ReadonlyArray<string>) => Effect.Effect<void>
  /** The line the person enters; nothing when the terminal is closed. */
  readonly line: (options: LineOptions) => Effect.Effect<Option.Option<string>>
}

/** Talks with the person at a terminal, one matter at a time. */
export interface Dialogue {
  /** Has the terminal to itself; what is interrupted says that its question is withdrawn. */
  readonly talk: <A, E, R>(
    matter: (turn: Turn) => Effect.Effect<A, E, R>,
    withdrawn?: string
  ) => Effect.Effect<A, E, R>
  /** Writes whole lines to the terminal's errors; a question that stands comes again below them. */
  readonly above: (lines: string) => void
}

/** Columns of a terminal that does not say (some say 0), and the least and the most that read well. */
const widths = { usual: 80, least: 20, most: 120 } as const

const widthOf = (columns = 0): number =>
  columns === 0 ? widths.usual : Math.max(widths.least, Math.min(columns, widths.most))

/** Back to the beginning of the line, and away with what stands there. */
const wipe = "\r\u001b[J"

/** How long the keyboard must be without an entered line until what comes next counts as typed after the question. */
const quiet = "100 millis"

type Entry = { readonly _tag: "Line"; readonly text: string } | { readonly _tag: "Closed" | "Quit" }

/** A question that waits for its answer. */
interface Standing {
  /** On how many rows above the cursor it goes on. */
  readonly rows: () => number
  readonly draw: () => void
}

/** A dialogue on a terminal. Nothing is read, and the terminal is as it was, while no question stands. */
export const make = ({ input, output, quit }: Terminal): Effect.Effect<Dialogue> =>
  Effect.map(Semaphore.make(1), (turns) => {
    let standing: Standing | undefined
    const write = (text: string) => Effect.sync(() => void output.write(text))

    /** Keys are read raw, so that nothing echoes but what `readline` writes, and Ctrl-C comes to us as a key. */
    const enter = ({ hidden = false, prompt }: LineOptions) =>
      Effect.callback<Entry>((resume) => {
        // A stream that has ended does not say so again.
        if (input.readableEnded || input.destroyed) {
          resume(Effect.succeed({ _tag: "Closed" }))
          return
        }
        const reader = createInterface({ input, ...(!hidden && { output }), terminal: true, historySize: 0 })
        let over = false
        const close = () => {
          if (over) return
          over = true
          standing = undefined
          reader.close()
        }
        // Whoever gets the entry may ask on at once: this reader must have let go of the terminal before.
        const end = (entry: Entry) => {
          if (over) return
          close()
          resume(Effect.succeed(entry))
        }
        reader.once("line", (text) => end({ _tag: "Line", text }))
        reader.once("SIGINT", () => end({ _tag: "Quit" }))
        reader.once("close", () => end({ _tag: "Closed" }))
        reader.on("error", () => end({ _tag: "Closed" }))
        reader.setPrompt(prompt)
        const draw = () => {
          if (hidden) output.write(prompt)
          else reader.prompt(true)
        }
        standing = { rows: () => reader.getCursorPos().rows, draw }
        draw()
        return Effect.sync(close)
      })

    /** Waits until nothing more comes that was typed ahead; gives what else came instead. */
    const drain = Effect.gen(function* () {
      while (true) {
        const entry = yield* Effect.timeoutOption(enter({ hidden: true, prompt: "" }), quiet)
        if (Option.isNone(entry) || entry.value._tag !== "Line") return entry
      }
    })

    const line = Effect.fnUntraced(function* (options: LineOptions) {
      const early = options.fresh === true ? yield* drain : Option.none()
      const entry = Option.isSome(early) ? early.value : yield* enter(options)
      // A line that was entered and shows has its line break already.
      if (entry._tag !== "Line" || options.hidden === true) yield* write("\n")
      if (entry._tag === "Quit") yield* quit
      return entry._tag === "Line" ? Option.some(entry.text) : Option.none()
    })

    return {
      talk: (matter, withdrawn = "the question is withdrawn") =>
        Effect.suspend(() =>
          matter({
            columns: widthOf(output.columns),
            say: (...lines) => write(lines.map((text) => `${text}\n`).join("")),
            line
          })
        ).pipe(
          Effect.onInterrupt(() => write(`\n(${withdrawn})\n`)),
          (talking) => turns.withPermit(talking)
        ),
      above: (lines) => {
        if (standing === undefined) return void output.write(lines)
        // Who draws again begins as many rows higher as the question has, and must find them free.
        const rows = standing.rows()
        output.write(rows === 0 ? wipe : "\n")
        output.write(lines)
        output.write("\n".repeat(rows))
        standing.draw()
      }
    }
  })

/**
 * A dialogue with the person who types the lines that somebody reads. A question waits until the line that is being
 * typed is entered: what stands there was not meant for it.
 */
export const overReader = (
  { ask, complain, isReading, log }: LineReader,
  columns?: number
): Effect.Effect<Dialogue> =>
  Effect.map(Semaphore.make(1), (turns) => ({
    talk: (matter, withdrawn = "the question is withdrawn") =>
      Effect.suspend(() =>
        matter({
          columns: widthOf(columns),
          say: (...lines) => complain(lines.join("\n")),
          line: ({ hidden = false, prompt }) =>
            Effect.andThen(
              Effect.suspend(() => (isReading() ? complain("(press Enter to answer)") : Effect.void)),
              ask(prompt, { hidden })
            )
        })
      ).pipe(
        Effect.onInterrupt(() => complain(`(${withdrawn})`)),
        (talking) => turns.withPermit(talking)
      ),
    above: log
  }))

/** Raises the signal that Ctrl-C would have been, for whoever ends the program on it. */
const raiseInterrupt = Effect.andThen(
  Effect.sync(() => void process.kill(process.pid, "SIGINT")),
  Effect.never
)

/** The terminal of this process: it reads stdin and writes to stderr, stdout belongs to results. */
export const terminalOfProcess: Effect.Effect<Option.Option<Terminal>> = Effect.sync(() =>
  isatty(0) && isatty(2)
    ? Option.some({ input: process.stdin, output: process.stderr, quit: raiseInterrupt })
    : Option.none()
)
