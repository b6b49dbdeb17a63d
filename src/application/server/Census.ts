import type { EntryFact } from "./EntryObservers.ts"

/** How many sit in one office. */
export interface OfficeCount {
  readonly office: string
  readonly agents: number
  readonly computers: number
}

/** Counts who sits here, from what is told of coming and going. */
export interface Census {
  readonly observe: (fact: EntryFact) => void
  readonly agents: () => number
  readonly computers: () => number
  readonly offices: () => number
  /** The offices by name, at most so many; never who sits in them. */
  readonly list: (most: number) => ReadonlyArray<OfficeCount>
}

/** A census that begins with nobody. */
export const makeCensus = (): Census => {
  const offices = new Map<string, { agent: number; computer: number }>()
  const total = { agent: 0, computer: 0 }

  const observe = (fact: EntryFact) => {
    if (fact._tag !== "Entered" && fact._tag !== "Left") return
    const { office, role } = fact.seat
    const step = fact._tag === "Entered" ? 1 : -1
    const counts = offices.get(office) ?? { agent: 0, computer: 0 }
    counts[role] += step
    total[role] += step
    if (counts.agent + counts.computer > 0) offices.set(office, counts)
    else offices.delete(office)
  }

  const list = (most: number): ReadonlyArray<OfficeCount> => {
    const found: Array<OfficeCount> = []
    for (const [office, { agent, computer }] of offices) {
      if (found.length === most) break
      found.push({ office, agents: agent, computers: computer })
    }
    return found
  }

  return {
    observe,
    agents: () => total.agent,
    computers: () => total.computer,
    offices: () => offices.size,
    list
  }
}
