import { Exit } from "effect"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { type ReplyExit, SendFailed } from "../../ports/Transport.ts"

/** A call between two members. It ends once: by its reply, by {@link abort}, or by {@link cancel}. */
export class InFlightCall {
  /** The office of both members. A member that changes offices keeps no calls. */
  readonly office: string
  /** The Computer and the request id, at the node of the Agent. */
  readonly computer: string | undefined
  readonly reqId: string | undefined
  readonly #onEnd: (call: InFlightCall, exit: ReplyExit | undefined) => void
  #cancelRequest = () => {}
  #hasEnded = false

  /** `onEnd` is called with the reply, or with `undefined` after {@link cancel}. */
  constructor(
    office: string,
    onEnd: (call: InFlightCall, exit: ReplyExit | undefined) => void,
    { computer, reqId }: { readonly computer?: string; readonly reqId?: string } = {}
  ) {
    this.office = office
    this.computer = computer
    this.reqId = reqId
    this.#onEnd = onEnd
  }

  readonly end = (exit: ReplyExit | undefined): void => {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#onEnd(this, exit)
  }

  /** Takes the function that cancels the request. */
  started(cancelRequest: () => void): void {
    this.#cancelRequest = cancelRequest
  }

  /** Ends the call with an error in place of its reply. */
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
