import { createInterface } from "node:readline"
import { Writable } from "node:stream"
import { Effect, FiberSet, Latch, Option, type Scope, Semaphore } from "effect"

import { definedOnly } from "../../domain/objects.ts"
import { escapeForTerminal, escapeLinesForTerminal } from "../../domain/text/escapeForTerminal.ts"
import { type LineHistory, maxHistoryLines } from "./LineHistory.ts"
import { clearRowsAbove, type Context, joinLines, makeContextLines, type TerminalOutput } from "./questionContext.ts"

export interface LineStreams {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream & TerminalOutput & { readonly isTTY?: boolean }
  readonly errors: NodeJS.WritableStream
  /** The history of earlier shells; without it, the history ends with the reader. */
  readonly history?: LineHistory
  /** By default: input and output are both terminals. */
  readonly isTerminal?: boolean
}

export type TerminalLine =
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
export interface Prompt {
  readonly text: string
  /** The lines above a question. */
  readonly context?: Context
  readonly complete?: (line: string) => Effect.Effect<Completions>
  /** Lines that are not kept in the history. */
  readonly isPrivate?: (line: string) => boolean
}

export interface LineReader {
  readonly isTerminal: boolean
  /** Reads the next line. Concurrent reads run one after the other. */
  readonly read: (prompt: Prompt) => Effect.Effect<TerminalLine>
  /** Asks a question on a terminal; none for an empty line, and without a terminal. */
  readonly ask: (
    question: string,
    options: { readonly hidden: boolean; readonly context?: Context }
  ) => Effect.Effect<Option.Option<string>>
  /** True while a read is pending: the next question has to wait. */
  readonly isReading: () => boolean
  /** While the effect runs, Ctrl-C goes to {@link read} or {@link awaitInterrupt} and not to the process. */
  readonly captureInterrupts: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Ends at a Ctrl-C after the last line was read; never without a terminal. */
  readonly awaitInterrupt: Effect.Effect<void>
  /** Writes to stdout, above the current line. */
  readonly print: (text: string) => Effect.Effect<void>
  /** Writes to stderr, above the current line. */
  readonly printError: (text: string) => Effect.Effect<void>
  /** As {@link printError}, for a logger. The text contains its line breaks. */
  readonly printLog: (text: string) => void
}

interface PendingRead extends Prompt {
  readonly contextLines: () => ReadonlyArray<string>
  readonly isQuestion: boolean
  readonly onLine: (line: TerminalLine) => void
}

/** Unread lines at which the input is paused. */
const maxBacklogLines = 256

/** Reads lines until the scope closes, and then restores the terminal. */
export const makeLineReader = Effect.fnUntraced(function* ({
  errors,
  history,
  input,
  output,
  isTerminal = input.isTTY === true && output.isTTY === true
}: LineStreams): Effect.fn.Return<LineReader, never, Scope.Scope> {
  const lock = yield* Semaphore.make(1)
  const run = yield* FiberSet.makeRuntime<never>()
  const backlog: Array<string> = []
  /** Open after a Ctrl-C since the last line, until a listener has received it. */
  const interrupted = Latch.makeUnsafe(false)
  let pendingRead: PendingRead | undefined
  let isPrivate: Prompt["isPrivate"]
  /** The current line, when it belongs into the saved history. */
  let lineToSave: string | undefined
  let isHistoryReported = false
  let isClosed = false
  let isHidden = false
  let shownContext: ReadonlyArray<string> = []
  let isCapturingInterrupts = false

  const maskedOutput = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      if (!isHidden) output.write(chunk)
      done()
    }
  })
  Object.defineProperty(maskedOutput, "columns", { get: () => output.columns })
  const onResize = () => maskedOutput.emit("resize")
  const completer = (line: string, callback: (error: Error | null, found: [Array<string>, string]) => void) => {
    const complete = pendingRead?.complete
    if (complete === undefined) return callback(null, [[], line])
    const completions = Effect.catchCause(complete(line), (cause) =>
      Effect.as(Effect.logError("completion failed", cause), { candidates: [], word: line })
    )
    // Readline prints candidates as they are.
    const isSafe = (candidate: string) => escapeForTerminal(candidate) === candidate
    run(Effect.map(completions, ({ candidates, word }) => callback(null, [candidates.filter(isSafe), word])))
  }
  const lines = yield* Effect.acquireRelease(
    Effect.sync(() => {
      output.on("resize", onResize)
      return isTerminal
        ? createInterface({
            input,
            output: maskedOutput,
            terminal: true,
            history: history === undefined ? [] : history.lines.toReversed(),
            historySize: maxHistoryLines,
            completer
          })
        : createInterface({ input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY })
    }),
    (open) =>
      Effect.sync(() => {
        output.off("resize", onResize)
        open.close()
      })
  )

  const completeRead = (line: TerminalLine) => {
    const waiting = pendingRead
    pendingRead = undefined
    if (isTerminal) lines.setPrompt("")
    if (isHidden) {
      isHidden = false
      output.write("\n")
    }
    waiting?.onLine(line)
  }

  /** Saves the line that the history has received. A failure is reported once. */
  const saveLine = () => {
    const problem = lineToSave === undefined ? undefined : history?.append(lineToSave)
    lineToSave = undefined
    if (problem === undefined || isHistoryReported) return
    isHistoryReported = true
    printAbove(() => void errors.write(`${escapeForTerminal(`The history cannot be saved: ${problem}`)}\n`))
  }
  lines.on("line", (text) => {
    if (pendingRead !== undefined) {
      completeRead({ _tag: "Line", text })
      return saveLine()
    }
    saveLine()
    backlog.push(text)
    if (backlog.length >= maxBacklogLines) lines.pause()
  })
  lines.on("history", (recalled) => {
    const [latest = ""] = recalled
    if (isHidden || isPrivate?.(latest) === true) recalled.shift()
    // The first prompt tells which lines are private. Answers to questions are not lines of the shell.
    else if (isPrivate !== undefined && pendingRead?.isQuestion !== true) lineToSave = latest
  })
  const onClose = () => {
    isClosed = true
    completeRead({ _tag: "Closed" })
  }
  lines.on("close", onClose)
  // The terminal was hung up.
  lines.on("error", onClose)
  /** Drops what is typed in the current line. */
  const eraseLine = () => {
    lines.write(null, { ctrl: true, name: "e" })
    lines.write(null, { ctrl: true, name: "u" })
  }

  lines.on("SIGINT", () => {
    if (pendingRead !== undefined) {
      const isEmpty = lines.line === ""
      eraseLine()
      if (!isHidden) output.write("^C\n")
      return completeRead({ _tag: "Interrupted", isEmpty })
    }
    // A terminal in raw mode raises no signal, so it is raised here unless interrupts are captured.
    if (!isCapturingInterrupts) return process.kill(process.pid, "SIGINT")
    interrupted.openUnsafe()
  })

  /** Reads a line. Lines typed before a question do not answer it. */
  const nextLine = (given: Prompt, hidden: boolean, isQuestion: boolean) =>
    Effect.callback<TerminalLine>((resume) => {
      const prompt = { ...given, text: escapeForTerminal(given.text) }
      if (!isQuestion) isPrivate = prompt.isPrivate ?? (() => false)
      const waiting = isQuestion ? undefined : backlog.shift()
      if (waiting !== undefined) {
        if (backlog.length === 0 && !isClosed) lines.resume()
        return resume(Effect.succeed({ _tag: "Line", text: waiting }))
      }
      if (isClosed) return resume(Effect.succeed({ _tag: "Closed" }))
      interrupted.closeUnsafe()
      const contextLines = makeContextLines(prompt.context, output)
      const own = { ...prompt, contextLines, isQuestion, onLine: (line: TerminalLine) => resume(Effect.succeed(line)) }
      pendingRead = own
      if (isTerminal) {
        shownContext = contextLines()
        output.write(joinLines(shownContext))
        lines.setPrompt(hidden ? "" : prompt.text)
        if (hidden) output.write(prompt.text)
        isHidden = hidden
        lines.prompt(true)
      }
      return Effect.sync(() => {
        if (pendingRead !== own) return
        pendingRead = undefined
        if (!isTerminal) return
        // A secret that is typed in part must not appear in the next line.
        if (isQuestion) eraseLine()
        isHidden = false
        output.write("\n")
      })
    })

  /** Writes instead of the current line and redraws that line below. */
  const printAbove = (write: () => void) => {
    if (!isTerminal || isClosed || (pendingRead === undefined && lines.line === "")) return write()
    // While an answer is hidden, the cursor is still in the first row.
    const rows = isHidden ? 0 : lines.getCursorPos().rows
    clearRowsAbove(output, rows + (pendingRead === undefined ? 0 : shownContext.length))
    write()
    if (pendingRead === undefined) return
    shownContext = pendingRead.contextLines()
    output.write(joinLines(shownContext))
    if (isHidden) return void output.write(pendingRead.text)
    // Readline moves up as many rows as the line had before it redraws the line.
    output.write("\n".repeat(rows))
    lines.prompt(true)
  }

  return {
    isTerminal,
    read: (prompt) => lock.withPermit(nextLine(prompt, false, false)),
    ask: (text, { hidden, context }) =>
      isTerminal
        ? Effect.map(lock.withPermit(nextLine({ text, ...definedOnly({ context }) }, hidden, true)), (line) =>
            line._tag === "Line" && line.text !== "" ? Option.some(line.text) : Option.none()
          )
        : Effect.succeedNone,
    isReading: () => pendingRead !== undefined,
    captureInterrupts: (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => void (isCapturingInterrupts = true)),
        () => effect,
        () => Effect.sync(() => void (isCapturingInterrupts = false))
      ),
    awaitInterrupt: Effect.tap(interrupted.await, interrupted.close),
    print: (text) => Effect.sync(() => printAbove(() => void output.write(`${escapeLinesForTerminal(text)}\n`))),
    printError: (text) => Effect.sync(() => printAbove(() => void errors.write(`${escapeLinesForTerminal(text)}\n`))),
    printLog: (text) => printAbove(() => void errors.write(text))
  }
})
