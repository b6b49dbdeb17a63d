import { clearScreenDown, createInterface, cursorTo, moveCursor } from "node:readline"
import { Writable } from "node:stream"
import { Effect, Option, type Scope, Semaphore } from "effect"

/** Streams as a process has them. */
export interface LineStreams {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly errors: NodeJS.WritableStream
  /** Does a person type? Unless given: when input and output both are a terminal. */
  readonly isTerminal?: boolean
}

/** What came instead of, or as, a line. */
export type Line =
  | { readonly _tag: "Line"; readonly text: string }
  /** Ctrl-C; `isEmpty` when nothing had been typed. */
  | { readonly _tag: "Interrupted"; readonly isEmpty: boolean }
  /** There is no more: Ctrl-D, or the end of a pipe. */
  | { readonly _tag: "Ended" }

/** What the last word of a line may become, and how that word begins. */
export interface Completions {
  readonly candidates: ReadonlyArray<string>
  readonly word: string
}

/** How a line is asked for. All of it is of no account where nobody types. */
export interface Prompt {
  readonly text: string
  readonly complete?: (line: string) => Effect.Effect<Completions>
  /** Lines that are not kept in the history. */
  readonly isPrivate?: (line: string) => boolean
}

/** Lines of a person at a terminal, or of a pipe, one after the other. */
export interface LineReader {
  readonly isTerminal: boolean
  /** The next line. Whoever reads while somebody else does waits for their turn. */
  readonly read: (prompt: Prompt) => Effect.Effect<Line>
  /** A person's answer; none where there is no person, or when they give none. A hidden one is not shown. */
  readonly ask: (
    question: string,
    options: { readonly hidden: boolean }
  ) => Effect.Effect<Option.Option<string>>
  /** Does somebody wait for a line, so that the next question has to wait, too? */
  readonly isReading: () => boolean
  /** While this runs, Ctrl-C is for whoever reads or waits for {@link interruption}, and not for the process. */
  readonly attended: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Ends at a Ctrl-C that comes after the last line was read; never where nobody types. */
  readonly interruption: Effect.Effect<void>
  /** Writes to the output, above the line that is being typed. */
  readonly print: (text: string) => Effect.Effect<void>
  /** Writes to the errors, above the line that is being typed. */
  readonly complain: (text: string) => Effect.Effect<void>
  /** The same for a logger, which is no effect. The text ends its own lines. */
  readonly log: (text: string) => void
}

/** Somebody who waits for a line. */
interface Reading extends Prompt {
  readonly hidden: boolean
  readonly done: (line: Line) => void
}

/** How many lines may wait before the input is told to. */
const backlogLength = 256

/** How many lines of a person are remembered. */
const historyLength = 500

/** What a terminal shows of what readline writes: nothing while `isHidden`. */
const veiled = (output: LineStreams["output"], isHidden: () => boolean): Writable => {
  const veil = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      if (!isHidden()) output.write(chunk)
      done()
    }
  })
  return Object.defineProperty(veil, "columns", { get: () => output.columns })
}

/** Reads lines for as long as the scope; a terminal is then as it was before. */
export const openLineReader = Effect.fnUntraced(function* ({
  errors,
  input,
  output,
  isTerminal = input.isTTY === true && output.isTTY === true
}: LineStreams): Effect.fn.Return<LineReader, never, Scope.Scope> {
  const turns = yield* Semaphore.make(1)
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const backlog: Array<string> = []
  const listeners = new Set<() => void>()
  let reading: Reading | undefined
  let isPrivate: NonNullable<Prompt["isPrivate"]> = () => false
  let isClosed = false
  let isHidden = false
  let isAttended = false
  /** Ctrl-C has come since the last line, and nobody has heard it yet. */
  let isInterrupted = false

  const screen = veiled(output, () => isHidden)
  const onResize = () => screen.emit("resize")
  const completer = (
    line: string,
    callback: (error: Error | null, found: [Array<string>, string]) => void
  ) => {
    const complete = reading?.complete
    if (complete === undefined) return callback(null, [[], line])
    run(
      complete(line).pipe(
        Effect.catchCause((cause) =>
          Effect.as(Effect.logError("completion failed", cause), { candidates: [], word: line })
        ),
        Effect.map(({ candidates, word }) => callback(null, [[...candidates], word]))
      )
    )
  }
  const lines = yield* Effect.acquireRelease(
    Effect.sync(() => {
      output.on("resize", onResize)
      return isTerminal
        ? createInterface({ input, output: screen, terminal: true, historySize: historyLength, completer })
        : createInterface({ input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY })
    }),
    (open) =>
      Effect.sync(() => {
        output.off("resize", onResize)
        open.close()
      })
  )

  /** Takes the line away from whoever waits for one. */
  const settle = (line: Line) => {
    const waiting = reading
    reading = undefined
    if (isTerminal) lines.setPrompt("")
    if (isHidden) {
      isHidden = false
      output.write("\n")
    }
    waiting?.done(line)
  }

  lines.on("line", (text) => {
    if (reading !== undefined) return settle({ _tag: "Line", text })
    backlog.push(text)
    if (backlog.length >= backlogLength) lines.pause()
  })
  lines.on("history", (history) => {
    const [latest = ""] = history
    if (isHidden || isPrivate(latest)) history.shift()
  })
  const end = () => {
    isClosed = true
    settle({ _tag: "Ended" })
  }
  lines.on("close", end)
  // A terminal that was hung up: nothing more comes from it.
  lines.on("error", end)
  lines.on("SIGINT", () => {
    if (reading !== undefined) {
      const isEmpty = lines.line === ""
      lines.write(null, { ctrl: true, name: "e" })
      lines.write(null, { ctrl: true, name: "u" })
      if (!isHidden) output.write("^C\n")
      return settle({ _tag: "Interrupted", isEmpty })
    }
    // A terminal in raw mode sends no signal: without somebody here to hear it, the process is told as usual.
    if (!isAttended) return process.kill(process.pid, "SIGINT")
    isInterrupted = listeners.size === 0
    for (const hear of listeners) hear()
  })

  const show = ({ hidden, text }: Reading) => {
    if (!isTerminal) return
    lines.setPrompt(hidden ? "" : text)
    if (hidden) output.write(text)
    isHidden = hidden
    lines.prompt(true)
  }

  /** Waits for a line; a question is not answered by what was typed before it was asked. */
  const next = (prompt: Prompt, hidden: boolean, isQuestion: boolean) =>
    Effect.callback<Line>((resume) => {
      const waiting = isQuestion ? undefined : backlog.shift()
      if (waiting !== undefined) {
        if (backlog.length === 0 && !isClosed) lines.resume()
        return resume(Effect.succeed({ _tag: "Line", text: waiting }))
      }
      if (isClosed) return resume(Effect.succeed({ _tag: "Ended" }))
      isInterrupted = false
      const own: Reading = { ...prompt, hidden, done: (line) => resume(Effect.succeed(line)) }
      reading = own
      if (!isQuestion) isPrivate = prompt.isPrivate ?? (() => false)
      show(own)
      return Effect.sync(() => {
        if (reading !== own) return
        reading = undefined
        isHidden = false
        if (isTerminal) output.write("\n")
      })
    })

  /** Writes where the line that is being typed stands, and puts that line below it. */
  const above = (write: () => void) => {
    if (!isTerminal || isClosed || (reading === undefined && lines.line === "")) return write()
    // While an answer is hidden the cursor has not moved past the question.
    const rows = isHidden ? 0 : lines.getCursorPos().rows
    moveCursor(output, 0, -rows)
    cursorTo(output, 0)
    clearScreenDown(output)
    write()
    if (reading === undefined) return
    if (isHidden) return void output.write(reading.text)
    // Readline goes up as many rows as the line had before it draws the line anew.
    output.write("\n".repeat(rows))
    lines.prompt(true)
  }

  return {
    isTerminal,
    read: (prompt) => turns.withPermit(next(prompt, false, false)),
    ask: (text, { hidden }) =>
      isTerminal
        ? Effect.map(turns.withPermit(next({ text, isPrivate: () => true }, hidden, true)), (line) =>
            line._tag === "Line" && line.text !== "" ? Option.some(line.text) : Option.none()
          )
        : Effect.succeedNone,
    isReading: () => reading !== undefined,
    attended: (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          isAttended = true
        }),
        () => effect,
        () =>
          Effect.sync(() => {
            isAttended = false
          })
      ),
    interruption: Effect.callback((resume) => {
      if (isInterrupted) {
        isInterrupted = false
        return resume(Effect.void)
      }
      const hear = () => {
        listeners.delete(hear)
        resume(Effect.void)
      }
      listeners.add(hear)
      return Effect.sync(() => void listeners.delete(hear))
    }),
    print: (text) => Effect.sync(() => above(() => void output.write(`${text}\n`))),
    complain: (text) => Effect.sync(() => above(() => void errors.write(`${text}\n`))),
    log: (text) => above(() => void errors.write(text))
  }
})
