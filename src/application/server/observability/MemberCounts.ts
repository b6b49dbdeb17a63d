import type { MembershipEvent } from "./observers.ts"

export interface OfficeCount {
  readonly office: string
  readonly agents: number
  readonly computers: number
}

/** Counts the members of this Server from its membership events. */
export interface MemberCounts {
  readonly observe: (event: MembershipEvent) => void
  readonly agents: () => number
  readonly computers: () => number
  readonly offices: () => number
  /** At most `max` offices, without the names of their members. */
  readonly list: (max: number) => ReadonlyArray<OfficeCount>
}

export const makeMemberCounts = (): MemberCounts => {
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

  const list = (max: number): ReadonlyArray<OfficeCount> => {
    const counted: Array<OfficeCount> = []
    for (const [office, { agent, computer }] of offices) {
      if (counted.length === max) break
      counted.push({ office, agents: agent, computers: computer })
    }
    return counted
  }

  return {
    observe,
    agents: () => total.agent,
    computers: () => total.computer,
    offices: () => offices.size,
    list
  }
}
