import { Data, Effect, type Result, Runtime, Stream } from "effect"
import type { OfficeStatus } from "../application/computer/office/OfficeConnection.ts"
import { asString } from "../domain/json.ts"
import { formatSome } from "../domain/errorMessage.ts"
import { definedOnly } from "../domain/objects.ts"
import { ownCodes } from "./A2cError.ts"
import { didYouMean } from "./config/didYouMean.ts"

/** A command cannot do its work. The message is printed to stderr, and nothing else. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly message: string
  /** The exit code of the process; 1 unless given. */
  readonly exitCode?: number
  /** For programs that read errors as JSON: a number of the protocol or a word; `failed` unless given. */
  readonly code?: string | number
  readonly reason?: string
}> {
  override readonly [Runtime.errorExitCode] = this.exitCode ?? 1
  override readonly [Runtime.errorReported] = false
}

export const failCommand = (message: string): Effect.Effect<never, CommandFailed> =>
  Effect.fail(new CommandFailed({ message }))

/** Fails for a name that no tool at a place has: with a similar name, else with the names and the reason why one may be missing. */
export const failUnknownTool = (tool: string, place: string, names: ReadonlyArray<string>, reason = "") => {
  const others = names.length === 0 ? "" : `; there are ${formatSome(names)}`
  const message = `No tool '${tool}' is ${place}${didYouMean(tool, names) || others + reason}`
  return Effect.fail(new CommandFailed({ message, code: ownCodes.UnknownTool }))
}

/** The value of a result; its failure becomes the message of a failed command. */
export const requireSuccess = <A, E>(result: Result.Result<A, E>, toMessage: (failure: E) => string = String) =>
  Effect.mapError(Effect.fromResult(result), (failure) => new CommandFailed({ message: toMessage(failure) }))

/** The next step, by the reason of an error. */
const hints: { readonly [reason: string]: string } = {
  missing_credentials: "; give --token-file FILE, or set A2C_TOKEN",
  untrusted_certificate: "; trust its authority by --tls-ca FILE"
}

export const hintFor = (reason: unknown): string => hints[String(reason)] ?? ""

/** An error whose message suits the user. */
export interface CommandError {
  readonly message: string
  readonly reason?: unknown
  readonly code?: unknown
  readonly _tag?: string
}

const isOwnTag = (tag: string | undefined): tag is keyof typeof ownCodes => Object.hasOwn(ownCodes, tag ?? "")

const codeOf = ({ _tag, code }: CommandError): string | number | undefined => {
  if (typeof code === "number") return code
  return isOwnTag(_tag) ? ownCodes[_tag] : undefined
}

/** Turns an error into a failure with the same message; keeps a failure as it is. */
export const toCommandFailed = (error: CommandError): CommandFailed =>
  error instanceof CommandFailed
    ? error
    : new CommandFailed({
        message: error.message + hintFor(error.reason),
        ...definedOnly({ code: codeOf(error), reason: asString(error.reason) })
      })

/** Waits until the membership of an office ends for good, then fails with the reason. */
export const untilMembershipEnds = (status: Stream.Stream<OfficeStatus>) =>
  Stream.runForEach(status, (current) => (current._tag === "Failed" ? Effect.fail(current.error) : Effect.void)).pipe(
    Effect.andThen(Effect.never)
  )
