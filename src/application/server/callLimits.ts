import { Effect } from "effect"
import { type Refusal, tooMany } from "../../domain/refusal.ts"
import { Cancellation } from "./Cancellation.ts"
import { Limits, spellLimit } from "./Limits.ts"
import { Tally } from "./Tally.ts"

/** Why a call between two sessions may not begin now, or `undefined` when it may. */
export const makeCallLimits = Effect.gen(function* () {
  const { pending } = yield* Cancellation
  const { callsPerAgent, callsPerComputer } = yield* Limits
  const tally = yield* Tally

  const refuse = (limit: "callsPerAgent" | "callsPerComputer", most: number, what: string): Refusal => {
    tally.refused(limit)
    return tooMany(`${what} ${most} calls under way and may have no more`, spellLimit(limit), most)
  }

  return (agent: string, computer: string): Refusal | undefined => {
    if (pending(agent) >= callsPerAgent) return refuse("callsPerAgent", callsPerAgent, "You have")
    return pending(computer) >= callsPerComputer
      ? refuse("callsPerComputer", callsPerComputer, "The Computer has")
      : undefined
  }
})
