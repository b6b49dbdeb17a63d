import { Duration } from "effect"
import { type Caller, isInOffice, memberName } from "../../../domain/approvals/Caller.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import type { ToolCallRequest } from "../../../domain/wire/calls.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { CallReporter } from "./CallReporter.ts"

/** A call, from the office or from this Computer. */
export type Call = Omit<ToolCallRequest, "agent" | "computer" | "timeout"> & {
  readonly caller: Caller
  readonly reporter: CallReporter
}

/** A report of the status of a call. */
export const reportOf = ({ caller, reqId }: Pick<Call, "caller" | "reqId">, status: CallStatus) => ({
  reqId,
  status,
  ...definedOnly({ agent: isInOffice(caller) ? memberName(caller) : undefined })
})

/** The time that a call leaves, after it has waited, to run the tool or to tell what it waited for. */
export const timeAfterWait = (timeout: Duration.Duration): Duration.Duration =>
  Duration.min(Duration.times(timeout, 0.1), Duration.seconds(2))
