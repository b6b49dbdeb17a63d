import { Duration } from "effect"
import type { Caller } from "../../../domain/approvals/Caller.ts"
import type { ToolCallRequest } from "../../../domain/model/messages/requests.ts"

/** A call, from the office or from this Computer. */
export type Call = Omit<ToolCallRequest, "agent" | "computer" | "timeout"> & { readonly caller: Caller }

/** The time that a call leaves, after it has waited, to run the tool or to tell what it waited for. */
export const timeAfterWait = (timeout: Duration.Duration): Duration.Duration =>
  Duration.min(Duration.times(timeout, 0.1), Duration.seconds(2))
