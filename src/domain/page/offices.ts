import type { OfficeAddress, PageMember } from "./PageEvent.ts"
import { type ActivitySecond, historySeconds, officeKey, type PageState } from "./PageState.ts"

/** An office with its members and its activity. */
export interface OfficeSummary extends OfficeAddress {
  readonly agents: ReadonlyArray<PageMember>
  readonly computers: ReadonlyArray<PageMember>
  /** Calls in the last full second. */
  readonly callsPerSecond: number
  /** Failed calls of the last minute. */
  readonly failed: number
  /** Calls in each of the last {@link historySeconds} seconds, the oldest first. */
  readonly history: ReadonlyArray<number>
}

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

const summarize = (address: OfficeAddress, members: ReadonlyArray<PageMember>, state: PageState): OfficeSummary => {
  const seconds = state.activity.get(officeKey(address)) ?? []
  const latest = Math.floor(state.at / 1000)
  const recent = seconds.filter(({ second }) => second > latest - historySeconds)
  const sorted = members.toSorted(byName)
  return {
    line: address.line,
    office: address.office,
    agents: sorted.filter(({ role }) => role === "agent"),
    computers: sorted.filter(({ role }) => role === "computer"),
    // The Server reports a second after its end.
    callsPerSecond: recent.findLast(({ second }) => second >= latest - 1)?.calls ?? 0,
    failed: recent.reduce((sum, { failed }) => sum + failed, 0),
    history: historyOf(recent, latest)
  }
}

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
