import { Effect, Layer, type Scope } from "effect"
import * as Dialogue from "../../adapters/terminal/Dialogue.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"
import { type LineReader, makeLineReader } from "../../adapters/terminal/LineReader.ts"
import { openHistory } from "../../adapters/terminal/LineHistory.ts"
import * as TerminalLog from "../../adapters/log/TerminalLog.ts"
import { userStateFile } from "../../adapters/process/userFolders.ts"
import { definedOnly } from "../../domain/objects.ts"
import { printLine } from "./output/print.ts"

/** The terminal of a command: questions, log and results. */
export interface TerminalIO {
  /** Asks the user; `undefined` without a terminal. */
  readonly dialogue: Dialogue.Dialogue | undefined
  /** Replaces the log of the process where the log shares the screen with questions. */
  readonly log: Layer.Layer<never>
  readonly print: (text: string) => Effect.Effect<void>
}

/** For commands without a shell. Questions and the log share stderr; an open question stays the last line. */
export const makeTerminalIO: Effect.Effect<TerminalIO> = Effect.gen(function* () {
  const dialogue = yield* Dialogue.onProcessTerminal("not answered: the command ends")
  if (dialogue === undefined) return { dialogue, log: Layer.empty, print: printLine }
  const { printAbove } = dialogue
  return {
    dialogue,
    log: TerminalLog.layerTo(printAbove),
    // On a terminal stdout shares the screen with an open question.
    print: process.stdout.isTTY ? (text) => Effect.sync(() => printAbove(`${escapeForTerminal(text)}\n`)) : printLine
  }
})

/** For a shell: its line reader also answers questions. */
export const makeReplTerminalIO: Effect.Effect<TerminalIO & { readonly reader: LineReader }, never, Scope.Scope> =
  Effect.gen(function* () {
    const { stderr: errors, stdin: input, stdout: output } = process
    const historyFile = input.isTTY && output.isTTY ? userStateFile("history") : undefined
    const history = historyFile === undefined ? undefined : yield* openHistory(historyFile)
    const reader = yield* makeLineReader({ input, output, errors, ...definedOnly({ history }) })
    return {
      reader,
      dialogue: reader.isTerminal ? Dialogue.fromLineReader(reader) : undefined,
      log: TerminalLog.layerTo(reader.printLog),
      print: reader.print
    }
  })
