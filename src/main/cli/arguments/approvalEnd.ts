import { Duration, Option, Result } from "effect"
import type { ApprovalAnswer } from "../../../domain/approvals/Approval.ts"

/** `2h`, `30m`, `1d` or `90s`, as Effect writes durations. */
const units: { readonly [unit: string]: string } = { s: "seconds", m: "minutes", h: "hours", d: "days" }

const parseDuration = (text: string): Option.Option<Duration.Duration> => {
  const [, amount = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return Duration.fromInput(`${amount} ${units[unit] ?? ""}` as Duration.Input)
}

/** The answer that allows a call: once without a scope, its tool `always`, or for a time such as `2h` from `now` on. */
export const parseApprovalEnd = (scope: string | undefined, now: number): Result.Result<ApprovalAnswer, string> => {
  if (scope === undefined) return Result.succeed({ action: "allow", scope: "once" })
  if (scope === "always") return Result.succeed({ action: "allow", scope: "tool" })
  const duration = Option.getOrUndefined(parseDuration(scope))
  return duration === undefined || Duration.isZero(duration)
    ? Result.fail(`'${scope}' is neither 'always' nor a time such as 30m, 2h or 1d`)
    : Result.succeed({ action: "allow", scope: "tool", until: now + Duration.toMillis(duration) })
}
