import { Iterable } from "effect"
import type { MembershipEvent } from "./observers.ts"

export interface OfficeCount {
  readonly office: string
  readonly agents: number
  readonly computers: number
}

/** Counts the members of this Server from its membership events. */
export const makeMemberCounts = () => {
  const offices = new Map<string, { agent: number; computer: number }>()
  const total = { agent: 0, computer: 0 }

  const observe = (event: MembershipEvent) => {
    if (event._tag !== "Entered" && event._tag !== "Left") return
    const { office, role } = event.membership
    const step = event._tag === "Entered" ? 1 : -1
    const counts = offices.get(office) ?? { agent: 0, computer: 0 }
    counts[role] += step
    total[role] += step
    if (counts.agent + counts.computer > 0) offices.set(office, counts)
    else offices.delete(office)
  }

  /** At most `max` offices, without the names of their members. */
  const list = (max: number): ReadonlyArray<OfficeCount> =>
    Array.from(Iterable.take(offices, max), ([office, { agent, computer }]) => ({
      office,
      agents: agent,
      computers: computer
    }))

  return {
    observe,
    agents: () => total.agent,
    computers: () => total.computer,
    offices: () => offices.size,
    list
  }
}
