import { createInterface, type Interface } from "node:readline"
import { type Readable, Writable } from "node:stream"
import { Effect, FiberSet, Latch, Semaphore } from "effect"
import { makePaint } from "../log/colours.ts"
import { statusLine } from "../log/statusLine.ts"
import { escapeForTerminal, escapeLinesForTerminal } from "../../domain/text/escapeForTerminal.ts"
import { type LineHistory, maxHistoryLines } from "./LineHistory.ts"
import { clearRowsAbove, type Context, joinLines, makeContextLines, type TerminalOutput } from "./questionContext.ts"

export interface LineStreams {
  readonly input: Readable & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream & TerminalOutput & { readonly isTTY?: boolean }
  readonly errors: NodeJS.WritableStream
  /** The history of earlier shells; without it, the history ends with the reader. */
  readonly history?: LineHistory
  /** By default: input and output are both terminals. */
  readonly isTerminal?: boolean
}

type TerminalLine =
  | { readonly _tag: "Line"; readonly text: string }
  /** Ctrl-C; `isEmpty` when the line was empty. */
  | { readonly _tag: "Interrupted"; readonly isEmpty: boolean }
  /** Ctrl-D, or the end of a pipe. */
  | { readonly _tag: "Closed" }

/** Completions of the last word of a line, and that word. */
export interface Completions {
  readonly candidates: ReadonlyArray<string>
  readonly word: string
}

/** The prompt of a line. Ignored when the input is not a terminal. */
interface Prompt extends Pick<LineQuestion, "prompt"> {
  readonly complete?: (line: string) => Effect.Effect<Completions>
  /** Lines that are not kept in the history. */
  readonly isPrivate?: (line: string) => boolean
}

export interface LineQuestion {
  /** Text before the cursor, on one line. */
  readonly prompt: string
  /** The lines above the prompt. */
  readonly context?: Context | undefined
  readonly hidden?: boolean
  /** Discards input typed before the question was shown. */
  readonly discardTypeahead?: boolean
}

/** Reads lines and answers; see {@link makeLineReader}. */
export type LineReader = Effect.Success<ReturnType<typeof makeLineReader>>

interface PendingRead extends Prompt {
  readonly contextLines: () => ReadonlyArray<string>
  /** Without it, the line belongs to the shell. */
  readonly question: LineQuestion | undefined
  readonly onLine: (line: TerminalLine) => void
}

/** Milliseconds without an entered line after which typeahead has ended. */
const typeaheadSilence = 100

/** Unread lines at which the input is paused. */
const maxBacklogLines = 256

type Run = (effect: Effect.Effect<unknown>) => unknown

/** Readline, its pending read, and what it shows. */
class TerminalLines {
  readonly isTerminal: boolean
  /** Open after a Ctrl-C since the last line, until a listener has received it. */
  readonly interrupted = Latch.makeUnsafe(false)
  isCapturingInterrupts = false
  readonly #streams: LineStreams
  readonly #run: Run
  readonly #lines: Interface
  readonly #backlog: Array<string> = []
  #pendingRead: PendingRead | undefined
  #isPrivate: Prompt["isPrivate"]
  /** The current line, when it belongs into the saved history. */
  #lineToSave: string | undefined
  #isHistoryReported = false
  #isClosed = false
  #isHidden = false
  /** Runs while what was typed before a question is discarded. */
  #discarding: NodeJS.Timeout | undefined
  #shownContext: ReadonlyArray<string> = []
  readonly #maskedOutput: Writable

  constructor(streams: LineStreams, run: Run) {
    const { history, input, output, isTerminal = input.isTTY === true && output.isTTY === true } = streams
    this.isTerminal = isTerminal
    this.#streams = streams
    this.#run = run
    this.#maskedOutput = new Writable({
      decodeStrings: false,
      write: (chunk: string, _encoding, done) => {
        if (!this.#isHidden) output.write(chunk)
        done()
      }
    })
    Object.defineProperty(this.#maskedOutput, "columns", { get: () => output.columns })
    output.on("resize", this.#onResize)
    this.#lines = isTerminal
      ? createInterface({
          input,
          output: this.#maskedOutput,
          terminal: true,
          history: history === undefined ? [] : history.lines.toReversed(),
          historySize: maxHistoryLines,
          completer: this.#complete
        })
      : createInterface({ input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY })
    this.#lines.on("line", (text) => this.#onLine(text))
    this.#lines.on("history", (recalled) => this.#onHistory(recalled))
    this.#lines.on("close", this.#onClose)
    // The terminal was hung up.
    this.#lines.on("error", this.#onClose)
    this.#lines.on("SIGINT", () => this.#onInterrupt())
    // An ended stream emits no further event.
    this.#isClosed = input.readableEnded || input.destroyed
  }

  isReading(): boolean {
    return this.#pendingRead !== undefined
  }

  close(): void {
    this.#streams.output.off("resize", this.#onResize)
    this.#lines.close()
  }

  readonly #onResize = () => void this.#maskedOutput.emit("resize")

  readonly #complete = (line: string, callback: (error: Error | null, found: [Array<string>, string]) => void) => {
    const complete = this.#pendingRead?.complete
    if (complete === undefined) return callback(null, [[], line])
    const completions = Effect.catchCause(complete(line), (cause) =>
      Effect.as(Effect.logError("completion failed", cause), { candidates: [], word: line })
    )
    // Readline prints candidates as they are.
    const isSafe = (candidate: string) => escapeForTerminal(candidate) === candidate
    this.#run(Effect.map(completions, ({ candidates, word }) => callback(null, [candidates.filter(isSafe), word])))
  }

  #takeRead(): PendingRead | undefined {
    const read = this.#pendingRead
    this.#pendingRead = undefined
    clearTimeout(this.#discarding)
    this.#discarding = undefined
    statusLine.release()
    return read
  }

  #completeRead(line: TerminalLine): void {
    const waiting = this.#takeRead()
    if (this.isTerminal) this.#lines.setPrompt("")
    if (this.#isHidden) {
      this.#isHidden = false
      this.#streams.output.write("\n")
    }
    waiting?.onLine(line)
  }

  /** Saves the line that the history has received. A failure is reported once. */
  #saveLine(): void {
    const { errors, history } = this.#streams
    const problem = this.#lineToSave === undefined ? undefined : history?.append(this.#lineToSave)
    this.#lineToSave = undefined
    if (problem === undefined || this.#isHistoryReported) return
    this.#isHistoryReported = true
    this.printAbove(() => void errors.write(`${escapeForTerminal(`The history cannot be saved: ${problem}`)}\n`))
  }

  #onLine(text: string): void {
    if (this.#discarding !== undefined) return void this.#discarding.refresh()
    if (this.#pendingRead !== undefined) {
      this.#completeRead({ _tag: "Line", text })
      return this.#saveLine()
    }
    this.#saveLine()
    this.#backlog.push(text)
    if (this.#backlog.length >= maxBacklogLines) this.#lines.pause()
  }

  #onHistory(recalled: Array<string>): void {
    const [latest = ""] = recalled
    if (this.#isHidden || this.#isPrivate?.(latest) === true) recalled.shift()
    // The first prompt tells which lines are private. Answers to questions are not lines of the shell.
    else if (this.#isPrivate !== undefined && this.#pendingRead?.question === undefined) this.#lineToSave = latest
  }

  readonly #onClose = () => {
    this.#isClosed = true
    this.#completeRead({ _tag: "Closed" })
  }

  #eraseLine(): void {
    this.#lines.write(null, { ctrl: true, name: "e" })
    this.#lines.write(null, { ctrl: true, name: "u" })
  }

  #onInterrupt(): void {
    if (this.#pendingRead !== undefined) {
      const isEmpty = this.#lines.line === ""
      this.#eraseLine()
      if (!this.#isHidden) this.#streams.output.write("^C\n")
      return this.#completeRead({ _tag: "Interrupted", isEmpty })
    }
    // A terminal in raw mode raises no signal, so it is raised here unless interrupts are captured.
    if (!this.isCapturingInterrupts) return void process.kill(process.pid, "SIGINT")
    this.interrupted.openUnsafe()
  }

  /** Reads a line. Lines typed before a question do not answer it. */
  next(given: Prompt, question?: LineQuestion): Effect.Effect<TerminalLine> {
    return Effect.callback<TerminalLine>((resume) => {
      const paint = makePaint(question && this.#streams.output)
      if (question === undefined) this.#isPrivate = given.isPrivate ?? (() => false)
      const waiting = question === undefined ? this.#backlog.shift() : undefined
      if (waiting !== undefined) {
        if (this.#backlog.length === 0 && !this.#isClosed) this.#lines.resume()
        return resume(Effect.succeed({ _tag: "Line", text: waiting }))
      }
      if (this.#isClosed) return resume(Effect.succeed({ _tag: "Closed" }))
      this.interrupted.closeUnsafe()
      const prompt = paint("cyan", escapeForTerminal(given.prompt))
      const contextLines = makeContextLines(question?.context, this.#streams.output)
      const onLine = (line: TerminalLine) => resume(Effect.succeed(line))
      const own = { ...given, prompt, contextLines, question, onLine }
      this.#pendingRead = own
      if (this.isTerminal) this.#show(own)
      return Effect.sync(() => this.#abandonRead(own))
    })
  }

  #show(read: PendingRead): void {
    statusLine.hold()
    this.#shownContext = read.contextLines()
    this.#streams.output.write(joinLines(this.#shownContext))
    if (read.question?.discardTypeahead !== true) return this.#showPrompt(read)
    this.#isHidden = true
    this.#discarding = setTimeout(() => {
      this.#discarding = undefined
      this.#eraseLine()
      this.#showPrompt(read)
    }, typeaheadSilence)
  }

  #showPrompt({ prompt, question }: PendingRead): void {
    const { hidden = false } = question ?? {}
    this.#lines.setPrompt(hidden ? "" : prompt)
    if (hidden) this.#streams.output.write(prompt)
    this.#isHidden = hidden
    this.#lines.prompt(true)
  }

  #abandonRead(read: PendingRead): void {
    if (this.#pendingRead !== read) return
    this.#takeRead()
    if (!this.isTerminal) return
    // A secret that is typed in part must not appear in the next line.
    if (read.question !== undefined) this.#eraseLine()
    this.#isHidden = false
    this.#streams.output.write("\n")
  }

  /** Writes instead of the current line and redraws that line below. */
  printAbove(write: () => void): void {
    statusLine.clear()
    const { output } = this.#streams
    const read = this.#pendingRead
    if (!this.isTerminal || this.#isClosed || (read === undefined && this.#lines.line === "")) return write()
    // While an answer is hidden, the cursor is still in the first row.
    const rows = this.#isHidden ? 0 : this.#lines.getCursorPos().rows
    clearRowsAbove(output, rows + (read === undefined ? 0 : this.#shownContext.length))
    write()
    if (read === undefined) return
    this.#shownContext = read.contextLines()
    output.write(joinLines(this.#shownContext))
    if (this.#isHidden) return void output.write(this.#discarding === undefined ? read.prompt : "")
    // Readline moves up as many rows as the line had before it redraws the line.
    output.write("\n".repeat(rows))
    this.#lines.prompt(true)
  }
}

/** Reads lines until the scope closes, and then restores the terminal. */
export const makeLineReader = Effect.fnUntraced(function* (streams: LineStreams) {
  const { errors, output } = streams
  const lock = yield* Semaphore.make(1)
  const run = yield* FiberSet.makeRuntime<never>()
  const lines = yield* Effect.acquireRelease(
    Effect.sync(() => new TerminalLines(streams, run)),
    (open) => Effect.sync(() => open.close())
  )
  const { interrupted, isTerminal } = lines
  const printTo = (stream: NodeJS.WritableStream) => (text: string) =>
    Effect.sync(() => lines.printAbove(() => void stream.write(`${escapeLinesForTerminal(text)}\n`)))
  return {
    isTerminal,
    /** Reads the next line. Concurrent reads run one after the other. */
    read: (prompt: Prompt) => lock.withPermit(lines.next(prompt)),
    ask: (question: LineQuestion): Effect.Effect<TerminalLine> =>
      isTerminal ? lock.withPermit(lines.next(question, question)) : Effect.succeed({ _tag: "Closed" }),
    /** True while a read is pending: the next question has to wait. */
    isReading: () => lines.isReading(),
    /** While the effect runs, Ctrl-C goes to `read` or `awaitInterrupt` and not to the process. */
    captureInterrupts: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.acquireUseRelease(
        Effect.sync(() => void (lines.isCapturingInterrupts = true)),
        () => effect,
        () => Effect.sync(() => void (lines.isCapturingInterrupts = false))
      ),
    /** Ends at a Ctrl-C after the last line was read; never without a terminal. */
    awaitInterrupt: Effect.tap(interrupted.await, interrupted.close),
    /** Writes to stdout, above the current line. */
    print: printTo(output),
    /** Writes to stderr, above the current line. */
    printError: printTo(errors),
    /** As `printError`, for a logger. The text contains its line breaks. */
    printLog: (text: string) => lines.printAbove(() => void errors.write(text))
  }
})
