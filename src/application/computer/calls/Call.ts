import { Duration } from "effect"
import type { ToolCallRequest } from "../../../domain/model/messages/requests.ts"

/** A call of an Agent, or a local one, whose `agent` is its requester. */
export type Call = Omit<ToolCallRequest, "agent" | "computer" | "timeout"> & {
  readonly agent: string | undefined
  readonly isLocal: boolean
}

/** The time that a call leaves, after it has waited, to run the tool or to tell what it waited for. */
export const timeAfterWait = (timeout: Duration.Duration): Duration.Duration =>
  Duration.min(Duration.times(timeout, 0.1), Duration.seconds(2))
