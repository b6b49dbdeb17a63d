import { Context } from "effect"
import type { Membership } from "../../../domain/model/Membership.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { Body } from "../../ports/Body.ts"

/** One routed request and how it ended. */
export interface CompletedCall {
  /** The event as the table knows it; `client:*` for those it does not know. */
  readonly event: string
  /** Who asked, and where it sits. */
  readonly sid: string
  readonly agent: Membership
  /** Who that is by the word of the authenticator; `undefined` where nobody is asked. */
  readonly subject: string | undefined
  readonly computer: string
  readonly reqId: string
  readonly request: Body
  /** The Computer's answer, or why there is none. */
  readonly outcome: Body | ProtocolError
  /** Milliseconds of the epoch, with fractions. */
  readonly startedAt: number
  readonly endedAt: number
}

/** Those who want to know of every routed request when it has ended: metrics, traces, the audit. They must not throw. */
export const CallObservers = Context.Reference<ReadonlyArray<(call: CompletedCall) => void>>(
  "a2c-smcp/application/server/CallObservers",
  { defaultValue: () => [] }
)
