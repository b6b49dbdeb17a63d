import { Clock, Duration, Effect } from "effect"
import type { ApprovalAnswer } from "../../../domain/approvals/Approval.ts"
import { parseShortDuration } from "../../../domain/time/shortDuration.ts"
import { type CommandFailed, failCommand } from "../../CommandFailed.ts"

/** The answer that allows a call: once without a scope, its tool `always`, or for a time such as `2h` from now on. */
export const parseApprovalEnd = (scope: string | undefined): Effect.Effect<ApprovalAnswer, CommandFailed> => {
  if (scope === undefined) return Effect.succeed({ action: "allow", scope: "once" })
  if (scope === "always") return Effect.succeed({ action: "allow", scope: "tool" })
  const duration = parseShortDuration(scope)
  return duration === undefined
    ? failCommand(`'${scope}' is neither 'always' nor a time such as 30m, 2h or 1d`)
    : Effect.map(Clock.currentTimeMillis, (now) => ({
        action: "allow",
        scope: "tool",
        until: now + Duration.toMillis(duration)
      }))
}
