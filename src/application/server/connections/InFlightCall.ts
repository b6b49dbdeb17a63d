import { Duration, Exit } from "effect"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { StartedCall } from "../observability/observers.ts"
import { makeExtension, type ReplyExit, SendFailed } from "../../ports/Transport.ts"

/** The origin of a call, at the node of its Agent. */
interface CallOrigin {
  readonly computer: string
  readonly reqId: string
  /** As in {@link StartedCall}. */
  readonly serial: number
  readonly startedAt: number
  /** Gives the call as observers see it. */
  readonly describe: () => StartedCall
}

/** A call between two members. It ends once: by its reply, by {@link abort}, or by {@link cancel}. */
export class InFlightCall {
  /** The office of both members. A member that changes offices keeps no calls. */
  readonly office: string
  /** Missing at the node of the Computer. */
  readonly origin: CallOrigin | undefined
  /** The id of the request. */
  readonly reqId: () => string | undefined
  readonly #onEnd: (call: InFlightCall, exit: ReplyExit | undefined) => void
  /** What the Computer reported last, and the decision of an approver. */
  reported: Pick<StartedCall, "status" | "decision"> | undefined
  readonly #extension = makeExtension()
  #cancelRequest = () => {}
  #hasEnded = false

  /** `onEnd` is called with the reply, or with `undefined` after {@link cancel}. */
  constructor(
    office: string,
    onEnd: (call: InFlightCall, exit: ReplyExit | undefined) => void,
    origin: CallOrigin | (() => string | undefined) = () => undefined
  ) {
    this.office = office
    this.origin = typeof origin === "function" ? undefined : origin
    this.reqId = typeof origin === "function" ? origin : () => origin.reqId
    this.#onEnd = onEnd
  }

  readonly end = (exit: ReplyExit | undefined): void => {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#onEnd(this, exit)
  }

  /** The request waits longer than its timeout: the call waits for an approval. */
  extend(seconds: number): void {
    this.#extension.add(Duration.seconds(seconds))
  }

  /** The time by which the request was extended. */
  readonly takeExtension = (): Duration.Duration => this.#extension.take()

  /** Takes the function that cancels the request. */
  started(cancelRequest: () => void): void {
    this.#cancelRequest = cancelRequest
  }

  /** Ends the call with an error instead of its reply. */
  abort(error: ProtocolError): void {
    if (this.#hasEnded) return
    this.#cancelRequest()
    this.end(Exit.fail(new SendFailed({ error })))
  }

  /** Ends the call because its caller does not wait any more. False when it has ended already. */
  cancel(): boolean {
    if (this.#hasEnded) return false
    this.#cancelRequest()
    this.end(undefined)
    return true
  }
}

/** Aborts those of the calls that belong to an office. */
export const abortCalls = (calls: Iterable<InFlightCall>, office: string, reason: ProtocolError): void => {
  const affected = Array.from(calls).filter((call) => call.office === office)
  for (const call of affected) call.abort(reason)
}
