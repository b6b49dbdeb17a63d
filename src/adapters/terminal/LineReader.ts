import { clearScreenDown, createInterface, cursorTo, moveCursor } from "node:readline"
import { Writable } from "node:stream"
import { Effect, FiberSet, Option, type Scope, Semaphore } from "effect"

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
  | { readonly _tag: "Closed" }

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
  /** While this runs, Ctrl-C is for whoever reads or waits for {@link awaitInterrupt}, and not for the process. */
  readonly captureInterrupts: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Ends at a Ctrl-C that comes after the last line was read; never where nobody types. */
  readonly awaitInterrupt: Effect.Effect<void>
  /** Writes to the output, above the line that is being typed. */
  readonly print: (text: string) => Effect.Effect<void>
  /** Writes to the errors, above the line that is being typed. */
  readonly printError: (text: string) => Effect.Effect<void>
  /** The same for a logger, which is no effect. The text ends its own lines. */
  readonly printLog: (text: string) => void
}

/** Somebody who waits for a line. */
interface PendingRead extends Prompt {
  readonly hidden: boolean
  readonly onLine: (line: Line) => void
}

/** How many lines may wait before the input is told to. */
const maxBacklogLines = 256

/** How many lines of a person are remembered. */
const maxHistoryLines = 500

/** What a terminal shows of what readline writes: nothing while `isHidden`. */
const makeMaskedOutput = (output: LineStreams["output"], isHidden: () => boolean): Writable => {
  const masked = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      if (!isHidden()) output.write(chunk)
      done()
    }
  })
  return Object.defineProperty(masked, "columns", { get: () => output.columns })
}

/** Reads lines for as long as the scope; a terminal is then as it was before. */
export const makeLineReader = Effect.fnUntraced(function* ({
  errors,
  input,
  output,
  isTerminal = input.isTTY === true && output.isTTY === true
}: LineStreams): Effect.fn.Return<LineReader, never, Scope.Scope> {
  const lock = yield* Semaphore.make(1)
  const run = yield* FiberSet.makeRuntime<never>()
  const backlog: Array<string> = []
  const interruptListeners = new Set<() => void>()
  let pendingRead: PendingRead | undefined
  let isPrivate: NonNullable<Prompt["isPrivate"]> = () => false
  let isClosed = false
  let isHidden = false
  let isCapturingInterrupts = false
  /** Ctrl-C has come since the last line, and nobody has heard it yet. */
  let hasPendingInterrupt = false

  const maskedOutput = makeMaskedOutput(output, () => isHidden)
  const onResize = () => maskedOutput.emit("resize")
  const completer = (
    line: string,
    callback: (error: Error | null, found: [Array<string>, string]) => void
  ) => {
    const complete = pendingRead?.complete
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
        ? createInterface({
            input,
            output: maskedOutput,
            terminal: true,
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

  /** Takes the line away from whoever waits for one. */
  const completeRead = (line: Line) => {
    const waiting = pendingRead
    pendingRead = undefined
    if (isTerminal) lines.setPrompt("")
    if (isHidden) {
      isHidden = false
      output.write("\n")
    }
    waiting?.onLine(line)
  }

  lines.on("line", (text) => {
    if (pendingRead !== undefined) return completeRead({ _tag: "Line", text })
    backlog.push(text)
    if (backlog.length >= maxBacklogLines) lines.pause()
  })
  lines.on("history", (history) => {
    const [latest = ""] = history
    if (isHidden || isPrivate(latest)) history.shift()
  })
  const onClose = () => {
    isClosed = true
    completeRead({ _tag: "Closed" })
  }
  lines.on("close", onClose)
  // A terminal that was hung up: nothing more comes from it.
  lines.on("error", onClose)
  lines.on("SIGINT", () => {
    if (pendingRead !== undefined) {
      const isEmpty = lines.line === ""
      lines.write(null, { ctrl: true, name: "e" })
      lines.write(null, { ctrl: true, name: "u" })
      if (!isHidden) output.write("^C\n")
      return completeRead({ _tag: "Interrupted", isEmpty })
    }
    // A terminal in raw mode sends no signal: without somebody here to hear it, the process is told as usual.
    if (!isCapturingInterrupts) return process.kill(process.pid, "SIGINT")
    hasPendingInterrupt = interruptListeners.size === 0
    for (const listener of interruptListeners) listener()
  })

  const showPrompt = ({ hidden, text }: PendingRead) => {
    if (!isTerminal) return
    lines.setPrompt(hidden ? "" : text)
    if (hidden) output.write(text)
    isHidden = hidden
    lines.prompt(true)
  }

  /** Waits for a line; a question is not answered by what was typed before it was asked. */
  const nextLine = (prompt: Prompt, hidden: boolean, isQuestion: boolean) =>
    Effect.callback<Line>((resume) => {
      const waiting = isQuestion ? undefined : backlog.shift()
      if (waiting !== undefined) {
        if (backlog.length === 0 && !isClosed) lines.resume()
        return resume(Effect.succeed({ _tag: "Line", text: waiting }))
      }
      if (isClosed) return resume(Effect.succeed({ _tag: "Closed" }))
      hasPendingInterrupt = false
      const own: PendingRead = { ...prompt, hidden, onLine: (line) => resume(Effect.succeed(line)) }
      pendingRead = own
      if (!isQuestion) isPrivate = prompt.isPrivate ?? (() => false)
      showPrompt(own)
      return Effect.sync(() => {
        if (pendingRead !== own) return
        pendingRead = undefined
        isHidden = false
        if (isTerminal) output.write("\n")
      })
    })

  /** Writes where the line that is being typed stands, and puts that line below it. */
  const printAbove = (write: () => void) => {
    if (!isTerminal || isClosed || (pendingRead === undefined && lines.line === "")) return write()
    // While an answer is hidden the cursor has not moved past the question.
    const rows = isHidden ? 0 : lines.getCursorPos().rows
    moveCursor(output, 0, -rows)
    cursorTo(output, 0)
    clearScreenDown(output)
    write()
    if (pendingRead === undefined) return
    if (isHidden) return void output.write(pendingRead.text)
    // Readline goes up as many rows as the line had before it draws the line anew.
    output.write("\n".repeat(rows))
    lines.prompt(true)
  }

  return {
    isTerminal,
    read: (prompt) => lock.withPermit(nextLine(prompt, false, false)),
    ask: (text, { hidden }) =>
      isTerminal
        ? Effect.map(lock.withPermit(nextLine({ text, isPrivate: () => true }, hidden, true)), (line) =>
            line._tag === "Line" && line.text !== "" ? Option.some(line.text) : Option.none()
          )
        : Effect.succeedNone,
    isReading: () => pendingRead !== undefined,
    captureInterrupts: (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          isCapturingInterrupts = true
        }),
        () => effect,
        () =>
          Effect.sync(() => {
            isCapturingInterrupts = false
          })
      ),
    awaitInterrupt: Effect.callback((resume) => {
      if (hasPendingInterrupt) {
        hasPendingInterrupt = false
        return resume(Effect.void)
      }
      const onInterrupt = () => {
        interruptListeners.delete(onInterrupt)
        resume(Effect.void)
      }
      interruptListeners.add(onInterrupt)
      return Effect.sync(() => void interruptListeners.delete(onInterrupt))
    }),
    print: (text) => Effect.sync(() => printAbove(() => void output.write(`${text}\n`))),
    printError: (text) => Effect.sync(() => printAbove(() => void errors.write(`${text}\n`))),
    printLog: (text) => printAbove(() => void errors.write(text))
  }
})
