import { Context, Effect, type Option } from "effect"
import type { Computer } from "../../application/computer/Computer.ts"
import type { Inputs } from "../../application/computer/inputs/Inputs.ts"
import type { CommandFailed } from "../cli/CommandFailed.ts"

/** What a command works on. */
export type ReplServices = Computer | Inputs

/** A command of the shell. */
export interface ReplCommand {
  /** One word, or two where several commands concern the same thing: `server add`. */
  readonly name: string
  /** What follows the name, as help spells it. */
  readonly parameters: string
  /** How many words may follow the name, at least and at most. */
  readonly arity: readonly [number, number]
  readonly help: string
  /** Does it, and gives what there is to print. */
  readonly run: (words: ReadonlyArray<string>) => Effect.Effect<string, CommandFailed, ReplServices>
  /** What the next word may be, after these. */
  readonly complete?: (
    words: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<string>, never, ReplServices>
  /** Does the shell end with it? */
  readonly endsRepl?: true
  /** May its words be secret? Then the line is not remembered. */
  readonly isPrivate?: true
}

/** A person who can be asked for a line; there may be nobody, or no answer. */
export type PromptUser = (
  question: string,
  options: { readonly hidden: boolean }
) => Effect.Effect<Option.Option<string>>

/** Whom commands ask for what was not given with them. */
export const PromptUser = Context.Reference<PromptUser>("a2c-smcp/main/shell/Asking", {
  defaultValue: () => () => Effect.succeedNone
})

/** How a command is written. */
export const usage = ({ name, parameters }: ReplCommand): string =>
  [name, parameters].filter(Boolean).join(" ")
