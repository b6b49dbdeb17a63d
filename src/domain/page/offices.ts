import type { OfficeAddress, PageMember } from "./PageEvent.ts"
import { type ActivitySecond, historySeconds, officeKey, type PageState } from "./PageState.ts"

const byText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const byName = (one: PageMember, other: PageMember): number => byText(one.name, other.name)

/** Calls of each second up to the latest one. */
const historyOf = (seconds: ReadonlyArray<ActivitySecond>, latest: number): ReadonlyArray<number> => {
  const history = Array.from({ length: historySeconds }, () => 0)
  for (const { calls, second } of seconds) {
    const index = historySeconds - 1 - (latest - second)
    if (index >= 0 && index < historySeconds) history[index] = calls
  }
  return history
}

const summarize = ({ line, office }: OfficeAddress, members: ReadonlyArray<PageMember>, state: PageState) => {
  const latest = Math.floor(state.at / 1000)
  const seconds = state.activity.get(officeKey({ line, office })) ?? []
  const recent = seconds.filter(({ second }) => second > latest - historySeconds)
  const sorted = members.toSorted(byName)
  return {
    line,
    office,
    agents: sorted.filter(({ role }) => role === "agent"),
    computers: sorted.filter(({ role }) => role === "computer"),
    /** Calls in the last full second, which the Server reports after its end. */
    callsPerSecond: recent.findLast(({ second }) => second >= latest - 1)?.calls ?? 0,
    /** Failed calls of the last minute. */
    failed: recent.reduce((sum, { failed }) => sum + failed, 0),
    /** Calls in each of the last {@link historySeconds} seconds, the oldest first. */
    history: historyOf(recent, latest)
  }
}

/** An office with its members and its activity. */
export type OfficeSummary = ReturnType<typeof summarize>

/** All offices that have members, by id and line. */
export const listOffices = (state: PageState): ReadonlyArray<OfficeSummary> =>
  [...Map.groupBy(state.members.values(), officeKey).values()]
    .flatMap((members) => members.slice(0, 1).map((member) => summarize(member, members, state)))
    .toSorted((one, other) => byText(one.office, other.office) || byText(one.line, other.line))

/** One office, without members when it is empty. */
export const findPageOffice = (state: PageState, address: OfficeAddress): OfficeSummary => {
  const key = officeKey(address)
  return summarize(
    address,
    [...state.members.values()].filter((member) => officeKey(member) === key),
    state
  )
}
