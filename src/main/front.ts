import { Console, Effect, type Layer, Option, type Scope } from "effect"
import * as Dialogue from "../adapters/node/Dialogue.ts"
import { type LineReader, openLineReader } from "../adapters/node/LineReader.ts"
import * as TerminalLog from "../adapters/node/TerminalLog.ts"

/** How a command meets the person who has started it, if one is there. */
export interface Front {
  /** Questions for the person; missing when nobody is there. */
  readonly dialogue: Dialogue.Dialogue | undefined
  readonly log: Layer.Layer<never>
  /** Says a result on stdout. */
  readonly say: (text: string) => Effect.Effect<void>
}

/** For commands that only ask now and then: questions and the log share stderr, a question stays the last line. */
export const quietFront: Effect.Effect<Front> = Effect.gen(function* () {
  const terminal = yield* Dialogue.terminalOfProcess
  if (Option.isNone(terminal)) return { dialogue: undefined, log: TerminalLog.layer, say: Console.log }
  const dialogue = yield* Dialogue.make(terminal.value)
  const { above } = dialogue
  return {
    dialogue,
    log: TerminalLog.layerTo(above),
    // On a terminal stdout is the same screen, which a question must get back.
    say: process.stdout.isTTY ? (text) => Effect.sync(() => above(`${text}\n`)) : Console.log
  }
})

/** For a shell: whoever types the commands answers the questions, too. */
export const shellFront: Effect.Effect<Front & { readonly reader: LineReader }, never, Scope.Scope> =
  Effect.gen(function* () {
    const { stderr: errors, stdin: input, stdout: output } = process
    const reader = yield* openLineReader({ input, output, errors })
    return {
      reader,
      dialogue: reader.isTerminal ? yield* Dialogue.overReader(reader, output.columns) : undefined,
      log: TerminalLog.layerTo(reader.log),
      say: reader.print
    }
  })
