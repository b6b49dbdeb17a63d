import { Duration, Exit } from "effect"
import type { OfficeKey } from "../../../domain/model/ids.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import {
  type RoutedCallCommand,
  type RoutedCallEvent,
  callInFlight,
  callTransition
} from "../../../domain/office/callLifecycle.ts"
import type { StartedCall } from "../observability/observers.ts"
import { type ReplyExit, SendFailed } from "../../ports/Transport.ts"

/** The origin of a call, at the node of its Agent. */
interface CallOrigin extends Pick<StartedCall, "computer" | "reqId" | "serial" | "startedAt"> {
  /** Gives the call as observers see it. */
  readonly describe: () => StartedCall
}

/** Executes a command of a call. The outcome is missing when its caller does not wait. */
export type ExecuteCallCommand = (
  command: Exclude<RoutedCallCommand, "DropRequest">,
  outcome: ReplyExit | undefined,
  call: InFlightCall
) => void

// Made once, for all calls.
const replied: RoutedCallEvent = { _tag: "Replied" }
const failed: RoutedCallEvent = { _tag: "Failed" }
const aborted: RoutedCallEvent = { _tag: "Aborted" }
const abandoned: RoutedCallEvent = { _tag: "Abandoned" }

/** A call between two members, which follows {@link callTransition}. */
export class InFlightCall {
  /** The office of both members. A member that changes offices keeps no calls. */
  readonly office: OfficeKey
  /** Missing at the node of the Computer. */
  readonly origin: CallOrigin | undefined
  /** The id of the request. */
  readonly reqId: () => string | undefined
  /** What the Computer reported last, and the decision of an approver. */
  reported: Pick<StartedCall, "status" | "decision"> | undefined
  readonly #execute: ExecuteCallCommand
  #state = callInFlight
  #dropRequest = () => {}

  constructor(
    office: OfficeKey,
    execute: ExecuteCallCommand,
    origin: CallOrigin | (() => string | undefined) = () => undefined
  ) {
    this.office = office
    this.origin = typeof origin === "function" ? undefined : origin
    this.reqId = typeof origin === "function" ? origin : () => origin.reqId
    this.#execute = execute
  }

  /** Ends the call with the outcome of its request. A reply that its caller cannot take is a failure. */
  end(outcome: ReplyExit, isUsable = Exit.isSuccess(outcome)): void {
    this.#apply(isUsable ? replied : failed, outcome)
  }

  /** The request waits longer than its timeout: the call waits for an approval. */
  extend(seconds: number): void {
    this.#apply({ _tag: "Extended", millis: seconds * 1000 })
  }

  /** The time by which the request was extended. */
  readonly takeExtension = (): Duration.Duration => {
    const millis = this.#state._tag === "InFlight" ? this.#state.addedMillis : 0
    this.#apply({ _tag: "TimerRang" })
    return Duration.millis(millis)
  }

  /** Takes the function that drops the request. */
  started(dropRequest: () => void): void {
    this.#dropRequest = dropRequest
  }

  /** Ends the call with an error instead of its reply. */
  abort(error: ProtocolError): void {
    this.#apply(aborted, Exit.fail(new SendFailed({ error })))
  }

  /** Ends the call because its caller does not wait any more. */
  cancel(): void {
    this.#apply(abandoned)
  }

  #apply(event: RoutedCallEvent, outcome?: ReplyExit): void {
    const [state, commands] = callTransition(this.#state, event)
    this.#state = state
    for (const command of commands) {
      if (command === "DropRequest") this.#dropRequest()
      else this.#execute(command, outcome, this)
    }
  }
}

/** Aborts those of the calls that belong to an office. */
export const abortCalls = (calls: Iterable<InFlightCall>, office: OfficeKey, reason: ProtocolError): void => {
  const affected = Array.from(calls).filter((call) => call.office === office)
  for (const call of affected) call.abort(reason)
}
