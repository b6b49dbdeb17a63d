import { type Notice, type Part, parts } from "./notice.ts"

/**
 * What a member has not been told, in as few notices as leave it with the same view: an update once, whoever came and
 * went again not at all. Changed in place.
 */
export interface Missed {
  readonly facts: Map<string, ReadonlyArray<Notice>>
  /** How many notices that are. */
  size: number
}

/** Nothing was missed. */
export const nothingMissed = (): Missed => ({ facts: new Map(), size: 0 })

const memberKey = (role: string, office: string, name: string) => JSON.stringify([role, office, name])
const cancelledKey = (agent: string, reqId: string) => JSON.stringify(["cancelled", agent, reqId])
const updateKey = (part: Part, computer: string) => JSON.stringify([part, computer])

const put = (missed: Missed, key: string, notices: ReadonlyArray<Notice>): void => {
  missed.size += notices.length - (missed.facts.get(key)?.length ?? 0)
  // What has changed is told where it changed last: after whatever it may depend on.
  missed.facts.delete(key)
  if (notices.length > 0) missed.facts.set(key, notices)
}

/** Adds a notice to what was missed. */
export const addMissed = (missed: Missed, notice: Notice): void => {
  switch (notice._tag) {
    case "Updated": {
      const key = updateKey(notice.part, notice.computer)
      if (!missed.facts.has(key)) put(missed, key, [notice])
      return
    }
    case "Cancelled":
      return put(missed, cancelledKey(notice.agent, notice.reqId), [notice])
    case "Entered":
    case "Left": {
      const { name, office, role } = notice.seat
      const key = memberKey(role, office, name)
      const before = missed.facts.get(key) ?? []
      if (role === "computer" && notice._tag === "Left") {
        for (const part of parts) put(missed, updateKey(part, name), [])
      }
      if (before.at(-1)?._tag === notice._tag) return
      return put(missed, key, before.at(-1)?._tag === "Entered" ? before.slice(0, -1) : [...before, notice])
    }
  }
}

/** What is to be told to make up for what was missed, in order. */
export const missedNotices = (missed: Missed): ReadonlyArray<Notice> => [...missed.facts.values()].flat()
