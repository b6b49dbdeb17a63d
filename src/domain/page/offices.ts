import type { OfficeAddress, PageMember } from "./PageEvent.ts"
import { type ActivitySecond, historySeconds, officeKey, type PageState } from "./PageState.ts"

const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const byName = (one: PageMember, other: PageMember): number => byText(one.name, other.name)

const sumOf = (activity: ReadonlyArray<ActivitySecond>, name: "calls" | "failed"): number =>
  activity.reduce((sum, one) => sum + one[name], 0)

const summarize = (
  { line, office }: OfficeAddress,
  members: ReadonlyArray<PageMember>,
  activity: ReadonlyArray<ActivitySecond>,
  at: number
) => {
  const first = Math.floor(at / 1000) - historySeconds + 1
  const bySecond = Map.groupBy(activity, ({ second }) => second - first)
  const history = Array.from({ length: historySeconds }, (_, index) => sumOf(bySecond.get(index) ?? [], "calls"))
  const sorted = members.toSorted(byName)
  return {
    line,
    office,
    agents: sorted.filter(({ role }) => role === "agent"),
    computers: sorted.filter(({ role }) => role === "computer"),
    /** Calls in the last full second, which the Server reports after its end. */
    callsPerSecond: history.slice(-2).findLast((calls) => calls > 0) ?? 0,
    /** Failed calls of the last minute. */
    failed: sumOf(activity, "failed"),
    /** Calls in each of the last {@link historySeconds} seconds, the oldest first. */
    history
  }
}

export type OfficeSummary = ReturnType<typeof summarize>

/** All offices that have members, by id and line. */
export const listOffices = ({ activity, at, members }: PageState): ReadonlyArray<OfficeSummary> => {
  const activities = Map.groupBy(activity, ({ key }) => key)
  return [...Map.groupBy(members.values(), officeKey)]
    .flatMap(([key, all]) => all.slice(0, 1).map((one) => summarize(one, all, activities.get(key) ?? [], at)))
    .toSorted((one, other) => byText(one.office, other.office) || byText(one.line, other.line))
}

/** One office, without members when it is empty. */
export const findPageOffice = ({ activity, at, members }: PageState, address: OfficeAddress): OfficeSummary => {
  const key = officeKey(address)
  const all = [...members.values()].filter((member) => officeKey(member) === key)
  const own = activity.filter((one) => one.key === key)
  return summarize(address, all, own, at)
}
