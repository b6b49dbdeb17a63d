import type { AwaitedApproval } from "../../model/CallStatus.ts"
import type { OfficeAddress, PageCall } from "../PageEvent.ts"
import type { PageState, TrackedCall } from "../PageState.ts"
import { phaseOf } from "./callPhase.ts"

/** An approval that a call waits for, or has waited for. */
export interface ListedApproval {
  /** Unique on the page: a Computer chooses the ids of its approvals. */
  readonly key: string
  readonly call: PageCall
  readonly approval: AwaitedApproval
}

const awaitedBy = (call: PageCall): AwaitedApproval | undefined =>
  call.status?._tag === "WaitingForConsent" && phaseOf(call) === "consent" ? call.status.approval : undefined

export const isOpen = ({ approval, call }: ListedApproval): boolean => awaitedBy(call)?.id === approval.id

/** Closed approvals that a list keeps, the latest ones. */
export const maxClosedApprovals = 5

/** Decided calls that are listed. */
export const maxDecidedCalls = 20

/** The approvals that calls of all offices wait for, the oldest call first. */
export const findOpenApprovals = (calls: PageState["calls"]): ReadonlyArray<ListedApproval> =>
  [...calls.values()]
    .flatMap(({ call }) => {
      const approval = awaitedBy(call)
      return approval === undefined ? [] : [{ key: JSON.stringify([call.id, approval.id]), call, approval }]
    })
    .toSorted((one, other) => one.call.startedAt - other.call.startedAt)

export const approvalsOfOffice = (
  open: ReadonlyArray<ListedApproval>,
  { line, office }: OfficeAddress
): ReadonlyArray<ListedApproval> => open.filter(({ call }) => call.office === office && call.line === line)

/** Adds new approvals behind the listed ones, whose calls have changed. No entry changes its place. */
export const updateListed = (
  listed: ReadonlyArray<ListedApproval>,
  open: ReadonlyArray<ListedApproval>,
  calls: PageState["calls"]
): ReadonlyArray<ListedApproval> => {
  const known = new Set(listed.map(({ key }) => key))
  const kept = listed.map((one): ListedApproval => {
    // A call that is not known any more waits for nothing.
    const { status: _status, ...unknown } = one.call
    return { ...one, call: calls.get(one.call.id)?.call ?? unknown }
  })
  const dropped = new Set(kept.filter((one) => !isOpen(one)).slice(0, -maxClosedApprovals))
  return [...kept.filter((one) => !dropped.has(one)), ...open.filter(({ key }) => !known.has(key))]
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
