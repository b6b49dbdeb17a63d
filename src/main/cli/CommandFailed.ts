import { Data, Effect, Runtime, Stream } from "effect"
import type { OfficeStatus } from "../../application/computer/office/OfficeConnection.ts"

/** What a person at a terminal is told when a command cannot do its work; nothing else is printed. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly message: string
  /** What the process exits with: 1 unless the command says more by it. */
  readonly exitCode?: number
}> {
  override readonly [Runtime.errorExitCode] = this.exitCode ?? 1
  override readonly [Runtime.errorReported] = false
}

/** Fails with what a person is told. */
export const failCommand = (message: string): Effect.Effect<never, CommandFailed> =>
  Effect.fail(new CommandFailed({ message }))

/** What somebody at a terminal can do about a Server that asks for credentials. */
const credentialsHint = "; give --token-file FILE, or set A2C_TOKEN"

/** A failure in the words of the error that caused it. */
export const toCommandFailed = (error: {
  readonly message: string
  readonly reason?: unknown
}): CommandFailed =>
  new CommandFailed({
    message: error.message + (error.reason === "missing_credentials" ? credentialsHint : "")
  })

/** Waits as long as a member may come back to its office, and fails with the reason when it may not. */
export const untilMembershipEnds = (
  status: Stream.Stream<OfficeStatus>
): Effect.Effect<never, CommandFailed> =>
  Stream.runForEach(status, (current) =>
    current._tag === "Failed" ? Effect.fail(toCommandFailed(current.error)) : Effect.void
  ).pipe(Effect.andThen(Effect.never))
