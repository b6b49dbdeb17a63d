import { Duration, Result } from "effect"
import type { ApprovalAnswer } from "../../../domain/approvals/Approval.ts"
import { parseShortDuration } from "../../../domain/time/shortDuration.ts"

/** The answer that allows a call: once without a scope, its tool `always`, or for a time such as `2h` from `now` on. */
export const parseApprovalEnd = (scope: string | undefined, now: number): Result.Result<ApprovalAnswer, string> => {
  if (scope === undefined) return Result.succeed({ action: "allow", scope: "once" })
  if (scope === "always") return Result.succeed({ action: "allow", scope: "tool" })
  const duration = parseShortDuration(scope)
  return duration === undefined
    ? Result.fail(`'${scope}' is neither 'always' nor a time such as 30m, 2h or 1d`)
    : Result.succeed({ action: "allow", scope: "tool", until: now + Duration.toMillis(duration) })
}
