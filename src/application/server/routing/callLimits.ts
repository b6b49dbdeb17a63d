import { Effect } from "effect"
import { type ProtocolError, tooManyRequests } from "../../../domain/model/ProtocolError.ts"
import { InFlightCalls } from "./InFlightCalls.ts"
import { Limits, formatLimitName } from "../connections/Limits.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

/** Why a call between two sessions may not begin now, or `undefined` when it may. */
export const makeCallLimits = Effect.gen(function* () {
  const { count } = yield* InFlightCalls
  const { callsPerAgent, callsPerComputer } = yield* Limits
  const metrics = yield* ServerMetrics

  const reject = (
    limit: "callsPerAgent" | "callsPerComputer",
    max: number,
    subject: string
  ): ProtocolError => {
    metrics.limitExceeded(limit)
    return tooManyRequests(
      `${subject} ${max} calls under way and may have no more`,
      formatLimitName(limit),
      max
    )
  }

  return (agent: string, computer: string): ProtocolError | undefined => {
    if (count(agent) >= callsPerAgent) return reject("callsPerAgent", callsPerAgent, "You have")
    return count(computer) >= callsPerComputer
      ? reject("callsPerComputer", callsPerComputer, "The Computer has")
      : undefined
  }
})
