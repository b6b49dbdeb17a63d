import type { AwaitedApproval } from "../../model/CallStatus.ts"
import type { OfficeAddress, PageCall } from "../PageEvent.ts"
import type { PageState, TrackedCall } from "../PageState.ts"
import { phaseOf } from "./callPhase.ts"

/** A call that waits for an approval. */
export interface OpenApproval {
  /** Unique on the page: a Computer chooses the ids of its approvals. */
  readonly key: string
  readonly call: PageCall
  readonly approval: AwaitedApproval
}

/** An approval of a list. A closed one keeps its place. */
export interface ListedApproval extends OpenApproval {
  readonly isOpen: boolean
}

/** Closed approvals that a list keeps, the latest ones. */
export const maxClosedApprovals = 5

/** Decided calls that are listed. */
export const maxDecidedCalls = 20

/** The approvals that calls of all offices wait for, the oldest call first. */
export const findOpenApprovals = (calls: PageState["calls"]): ReadonlyArray<OpenApproval> => {
  const open: Array<OpenApproval> = []
  for (const { call } of calls.values()) {
    const { id, status } = call
    if (status?._tag !== "WaitingForConsent" || phaseOf(call) !== "consent") continue
    const { approval } = status
    if (approval !== undefined) open.push({ key: JSON.stringify([id, approval.id]), call, approval })
  }
  return open.toSorted((one, other) => one.call.startedAt - other.call.startedAt)
}

/** The approvals of one office. */
export const approvalsOfOffice = (
  open: ReadonlyArray<OpenApproval>,
  { line, office }: OfficeAddress
): ReadonlyArray<OpenApproval> => open.filter(({ call }) => call.office === office && call.line === line)

/** Adds new approvals behind the listed ones, and closes those that are not open any more. No entry changes its place. */
export const updateListed = (
  listed: ReadonlyArray<ListedApproval>,
  open: ReadonlyArray<OpenApproval>,
  calls: PageState["calls"]
): ReadonlyArray<ListedApproval> => {
  const current = new Map(open.map((one) => [one.key, one]))
  const known = new Set(listed.map(({ key }) => key))
  const kept = listed.map((one): ListedApproval => {
    const now = current.get(one.key)
    if (now !== undefined) return { ...now, isOpen: true }
    return { ...one, call: calls.get(one.call.id)?.call ?? one.call, isOpen: false }
  })
  const closed = kept.filter(({ isOpen }) => !isOpen)
  const dropped = new Set(closed.slice(0, Math.max(0, closed.length - maxClosedApprovals)))
  const added = open.filter(({ key }) => !known.has(key)).map((one) => ({ ...one, isOpen: true }))
  return [...kept.filter((one) => !dropped.has(one)), ...added]
}

/** The time of the decision, or the start of a call whose wait the page has not seen. */
const decisionTime = ({ call, phases }: TrackedCall): number => {
  const consent = phases.findLastIndex(({ phase }) => phase === "consent")
  if (consent < 0) return call.startedAt
  return phases[consent + 1]?.at ?? call.endedAt ?? call.startedAt
}

/** The latest decided calls of an office, the latest decision first. */
export const findDecidedCalls = (calls: PageState["calls"], { line, office }: OfficeAddress) =>
  [...calls.values()]
    .flatMap((entry) => {
      const { call } = entry
      const { decision } = call
      const isListed = call.office === office && call.line === line && decision !== undefined
      return isListed ? [{ call, decision, at: decisionTime(entry) }] : []
    })
    .toSorted((one, other) => other.at - one.at)
    .slice(0, maxDecidedCalls)

/** A call with the decision of an approver. */
export type DecidedCall = ReturnType<typeof findDecidedCalls>[number]
