import { Iterable } from "effect"
import type { ObservedEvent } from "./observers.ts"
import type { OfficeCount } from "./statusReport.ts"

interface Counts {
  agent: number
  computer: number
}

/** Counts the members of this Server from its membership events. */
export const makeMemberCounts = () => {
  /** By office id, then by line. */
  const offices = new Map<string, Map<string, Counts>>()
  const total: Counts = { agent: 0, computer: 0 }
  let size = 0

  const observe = (event: ObservedEvent) => {
    if (event._tag !== "Entered" && event._tag !== "Left") return
    const { line, membership } = event
    const { office, role } = membership
    const step = event._tag === "Entered" ? 1 : -1
    const lines = offices.get(office) ?? new Map<string, Counts>()
    const counts = lines.get(line) ?? { agent: 0, computer: 0 }
    size -= lines.size
    counts[role] += step
    total[role] += step
    if (counts.agent + counts.computer > 0) lines.set(line, counts)
    else lines.delete(line)
    size += lines.size
    if (lines.size > 0) offices.set(office, lines)
    else offices.delete(office)
  }

  function* counted(): Generator<OfficeCount> {
    for (const [office, lines] of offices) {
      for (const [line, { agent, computer }] of lines) {
        const otherLines = [...lines.keys()].filter((other) => other !== line)
        const shown = otherLines.length === 0 ? {} : { otherLines }
        yield { office, line, agents: agent, computers: computer, ...shown }
      }
    }
  }

  return {
    observe,
    agents: () => total.agent,
    computers: () => total.computer,
    offices: () => size,
    /** At most `max` offices, without the names of their members. */
    list: (max: number): ReadonlyArray<OfficeCount> => Array.from(Iterable.take(counted(), max))
  }
}
