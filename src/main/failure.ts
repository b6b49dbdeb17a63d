import { Data, Runtime } from "effect"

/** What a person at a terminal is told when a command cannot do its work; nothing else is printed. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly message: string
  /** What the process exits with: 1 unless the command says more by it. */
  readonly exitCode?: number
}> {
  override readonly [Runtime.errorExitCode] = this.exitCode ?? 1
  override readonly [Runtime.errorReported] = false
}

/** A failure in the words of the error that caused it. */
export const failed = (error: { readonly message: string }): CommandFailed =>
  new CommandFailed({ message: error.message })
