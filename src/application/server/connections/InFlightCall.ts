import { Duration, Exit } from "effect"
import type { OfficeKey } from "../../../domain/model/ids.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { StartedCall } from "../observability/observers.ts"
import { makeExtension, type ReplyExit, SendFailed } from "../../ports/Transport.ts"

/** The origin of a call, at the node of its Agent. */
interface CallOrigin extends Pick<StartedCall, "computer" | "reqId" | "serial" | "startedAt"> {
  /** Gives the call as observers see it. */
  readonly describe: () => StartedCall
}

/** Runs at the end of a call. The outcome is missing when its caller does not wait. `isReplied`: the caller can take the reply. */
export type OnCallEnd = (outcome: ReplyExit | undefined, isReplied: boolean, call: InFlightCall) => void

/** A call between two members, which ends once: by its reply, an error, the Server, or a caller that does not wait any more. */
export class InFlightCall {
  /** The office of both members. A member that changes offices keeps no calls. */
  readonly office: OfficeKey
  /** Missing at the node of the Computer. */
  readonly origin: CallOrigin | undefined
  readonly reqId: () => string | undefined
  /** What the Computer reported last, and the approval with its decision. */
  reported: Pick<StartedCall, "status" | "approval" | "decision"> | undefined
  readonly #onEnd: OnCallEnd
  #isEnded = false
  /** Made when it is needed: most calls are not extended. */
  #extension: ReturnType<typeof makeExtension> | undefined
  #dropRequest = () => {}

  constructor(office: OfficeKey, onEnd: OnCallEnd, origin: CallOrigin | (() => string | undefined) = () => undefined) {
    this.office = office
    this.origin = typeof origin === "function" ? undefined : origin
    this.reqId = typeof origin === "function" ? origin : () => origin.reqId
    this.#onEnd = onEnd
  }

  /** Ends the call with the outcome of its request. A reply that its caller cannot take is a failure. */
  end(outcome: ReplyExit, isUsable = Exit.isSuccess(outcome)): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#onEnd(outcome, isUsable, this)
  }

  /** The request waits longer than its timeout: the call waits for an approval. */
  extend(seconds: number): void {
    this.#extension ??= makeExtension()
    this.#extension.add(Duration.seconds(seconds))
  }

  /** The time by which the request was extended. */
  readonly takeExtension = (): Duration.Duration => this.#extension?.take() ?? Duration.zero

  started(dropRequest: () => void): void {
    this.#dropRequest = dropRequest
  }

  /** Ends the call with an error instead of its reply. */
  abort(error: ProtocolError): void {
    this.#drop(Exit.fail(new SendFailed({ error })))
  }

  /** Ends the call because its caller does not wait any more. */
  cancel(): void {
    this.#drop()
  }

  /** Drops the request, whose reply may still arrive. */
  #drop(outcome?: ReplyExit): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#dropRequest()
    this.#onEnd(outcome, false, this)
  }
}

/** Aborts those of the calls that belong to an office. An error costs more than a member that leaves without calls. */
export const abortCalls = (calls: Iterable<InFlightCall>, office: OfficeKey, makeReason: () => ProtocolError): void => {
  const affected = Array.from(calls).filter((call) => call.office === office)
  for (const call of affected) call.abort(makeReason())
}
