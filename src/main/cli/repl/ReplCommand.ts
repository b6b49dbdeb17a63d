import { Effect, Result } from "effect"
import type { Prompter } from "../../../adapters/terminal/Dialogue.ts"
import type { Computer } from "../../../application/computer/Computer.ts"
import type { Inputs } from "../../../application/computer/inputs/Inputs.ts"
import type { CommandFailed } from "../../CommandFailed.ts"
import { parseJsonOrThrow } from "../../../domain/json.ts"

export type ReplServices = Computer | Inputs

export interface ReplCommand {
  /** One word, or two for commands of a group: `server add`. */
  readonly name: string
  /** The parameters, as help shows them; none by default. Those in brackets are optional, `…` stands for any number. */
  readonly parameters?: string
  /** Minimum and maximum number of words after the name; by default that of the parameters. */
  readonly arity?: readonly [number, number]
  readonly help: string
  /** Runs the command; succeeds with the text to print. */
  readonly run: (words: ReadonlyArray<string>, prompter: Prompter) => Effect.Effect<string, CommandFailed, ReplServices>
  /** Candidates for the next word, after these words. */
  readonly complete?: (words: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, never, ReplServices>
  readonly endsRepl?: true
  /** The words may be secret: the line stays out of the history. */
  readonly isPrivate?: true
}

/** Completes the first word after the name of a command. */
export const completeFirst =
  (candidates: Effect.Effect<ReadonlyArray<string>, never, ReplServices>): NonNullable<ReplCommand["complete"]> =>
  (words) =>
    words.length === 0 ? candidates : Effect.succeed([])

export const usage = ({ name, parameters }: ReplCommand) => (parameters === undefined ? name : `${name} ${parameters}`)

const countWords = (parameters: string): number => parameters.replaceAll(/ \| \S+/g, "").match(/\S+/g)?.length ?? 0

export const arityOf = ({ arity, parameters = "" }: ReplCommand): readonly [number, number] =>
  arity ?? [
    countWords(parameters.replaceAll(/\[.*?\]…?/g, "")),
    parameters.includes("…") ? Number.POSITIVE_INFINITY : countWords(parameters)
  ]

/** Parses JSON. The error repeats nothing of the text, which may hold secrets. */
export const parseJsonResult = (text: string): Result.Result<unknown, string> =>
  Result.try({
    try: () => parseJsonOrThrow(text),
    catch: (error) => (error instanceof Error ? error.message.replace(/, (\.\.\.)?".*$/s, "") : "invalid")
  })
