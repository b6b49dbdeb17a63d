import { Context, Effect, type Option } from "effect"
import type { Computer } from "../../application/computer/Computer.ts"
import type { Inputs } from "../../application/computer/Inputs.ts"
import type { CommandFailed } from "../failure.ts"

/** What a command works on. */
export type ShellServices = Computer | Inputs

/** A command of the shell. */
export interface ShellCommand {
  /** One word, or two where several commands concern the same thing: `server add`. */
  readonly name: string
  /** What follows the name, as help spells it. */
  readonly takes: string
  /** How many words may follow the name, at least and at most. */
  readonly words: readonly [number, number]
  readonly help: string
  /** Does it, and gives what there is to print. */
  readonly run: (words: ReadonlyArray<string>) => Effect.Effect<string, CommandFailed, ShellServices>
  /** What the next word may be, after these. */
  readonly complete?: (
    words: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<string>, never, ShellServices>
  /** Does the shell end with it? */
  readonly ends?: true
  /** May its words be secret? Then the line is not remembered. */
  readonly isPrivate?: true
}

/** A person who can be asked for a line; there may be nobody, or no answer. */
export type Asking = (
  question: string,
  options: { readonly hidden: boolean }
) => Effect.Effect<Option.Option<string>>

/** Whom commands ask for what was not given with them. */
export const Asking = Context.Reference<Asking>("a2c-smcp/main/shell/Asking", {
  defaultValue: () => () => Effect.succeedNone
})

/** How a command is written. */
export const usage = ({ name, takes }: ShellCommand): string => [name, takes].filter(Boolean).join(" ")
