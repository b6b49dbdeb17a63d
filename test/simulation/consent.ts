import { approvalTimeout } from "./Approvers.ts"
import type { CallerProcess, Revisions, TrackedAnswer, TrackedApproval, TrackedRequest } from "./History.ts"
import type { World } from "./World.ts"

/** How an approval ended, according to its answers and the grants of others. */
type Decision = "open" | "allowed" | "denied" | "expired" | "cancelled" | "unclear"

/** A call of a tool at a Computer, at a time. */
interface Place extends Pick<TrackedApproval, "approvers" | "call"> {
  readonly at: number
  readonly computer: string
  readonly office: string
  readonly revisions: Revisions
}

/** True when a tool may have the same definition, or certainly has. */
export const isSameRevision = (one: Revisions, other: Revisions, isCertain = false): boolean =>
  isCertain ? new Set([...one, ...other]).size === 1 : one[0] <= other[1] && other[0] <= one[1]

/** The approvals of a call: one, or several for a request that was repeated after its first execution had ended. */
export const approvalsOf = ({ history }: World, call: string): ReadonlyArray<TrackedApproval> =>
  [...history.approvals.values()].filter((one) => one.call === call)

/** The request of a call; the first one of a request that was repeated. */
export const requestOf = ({ history }: World, call: string): TrackedRequest | undefined =>
  history.requests.get(call) ?? history.requests.get(`${call}-first`)

const isSameProcess = (one: CallerProcess, other: CallerProcess): boolean =>
  one.program === other.program && one.visit === other.visit

/** True for the process that made a call, and for one that has shown the id of its task. */
export const isCallerOf = (world: World, call: string, process: CallerProcess, at: number): boolean => {
  const request = requestOf(world, call)
  if (request !== undefined && isSameProcess(request, process)) return true
  return world.history.tasks.some(
    (task) => task.call === call && task.shown.some((shown) => shown.at <= at && isSameProcess(shown, process))
  )
}

/** True for an answer of an approver that the owner of the Computer names, and of the caller to a question. */
export const mayDecide = (world: World, approval: TrackedApproval, { at, caller, kind }: TrackedAnswer): boolean => {
  const { approvers, call, isQuestion } = approval
  if (caller === undefined) return true
  if (kind === "operator" && approvers.includes("page")) return true
  return (isQuestion || (kind === "agent" && approvers.includes("agent"))) && isCallerOf(world, call, caller, at)
}

const isAccepted = ({ outcome }: TrackedAnswer) => outcome === "accepted"

const mayAllow = ({ allows, outcome }: TrackedAnswer) => allows && (outcome === "accepted" || outcome === "unknown")

/** True for the accepted answer of a permitted approver, and without one for an answer whose outcome is unknown. */
export const mayHaveDecided = (world: World, approval: TrackedApproval, answer: TrackedAnswer): boolean => {
  if (!mayDecide(world, approval, answer)) return false
  const { answers, closedAt } = approval
  return (
    isAccepted(answer) ||
    (answer.outcome === "unknown" && answer.at <= (closedAt ?? Infinity) && !answers.some(isAccepted))
  )
}

/** A grant of an Agent covers its calls only, and ends with its membership or the connection of its Computer. */
const isOfAgent = ({ kind }: TrackedAnswer) => kind === "agent"

/** True when the grant of an answer covers a call: the owner lets its approver decide, or it is a call of this Agent. */
const isInForce = (world: World, { caller, kind }: TrackedAnswer, { approvers, call }: Place): boolean => {
  if (kind === "operator") return approvers.includes("page")
  if (kind !== "agent") return true
  const request = requestOf(world, call)
  return approvers.includes("agent") && request !== undefined && caller !== undefined && isSameProcess(request, caller)
}

/** The approvals at a place with an answer that gave a grant which lasts, as far as this function tells. */
const grantsWith = (
  world: World,
  place: Place,
  isGiven: (approval: TrackedApproval, answer: TrackedAnswer) => boolean
): ReadonlyArray<TrackedApproval> =>
  [...world.history.approvals.values()].filter(
    (one) =>
      !one.isQuestion &&
      one.computer === place.computer &&
      one.office === place.office &&
      one.answers.some(
        (answer) => (answer.grantedUntil ?? 0) > place.at && isInForce(world, answer, place) && isGiven(one, answer)
      )
  )

const revokedAt = ({ history }: World, { id }: TrackedApproval): number => history.revocations.get(id) ?? Infinity

/** The approvals whose answer may have granted a tool that runs at this time. */
export const grantsAt = (world: World, place: Place): ReadonlyArray<TrackedApproval> =>
  grantsWith(
    world,
    place,
    (one, answer) =>
      answer.at <= place.at &&
      revokedAt(world, one) >= place.at &&
      isSameRevision(one.revisions, place.revisions) &&
      mayHaveDecided(world, one, answer)
  )

/** The grant that certainly covered the call of an approval when it was opened. */
export const coveringGrant = (world: World, approval: TrackedApproval): TrackedApproval | undefined => {
  const { openedAt: at } = approval
  const [grant] = grantsWith(
    world,
    { ...approval, at },
    (one, answer) =>
      isAccepted(answer) &&
      !isOfAgent(answer) &&
      (answer.settledAt ?? at) < at &&
      revokedAt(world, one) > at &&
      isSameRevision(one.revisions, approval.revisions, true)
  )
  return grant
}

export const decisionOf = (world: World, one: TrackedApproval): Decision => {
  const { closedAt, id, openedAt } = one
  if (closedAt === undefined) return "open"
  const winner = one.answers.find(isAccepted)
  if (winner !== undefined) return winner.allows ? "allowed" : "denied"
  if (one.answers.some((answer) => mayHaveDecided(world, one, answer))) return "unclear"
  const grants = grantsAt(world, { ...one, at: closedAt }).filter((grant) => grant.id !== id)
  if (grants.some(({ answers }) => answers.some((answer) => mayAllow(answer) && !isOfAgent(answer)))) return "allowed"
  if (grants.length > 0) return "unclear"
  // Times are fractions of milliseconds.
  return closedAt - openedAt > approvalTimeout - 1 ? "expired" : "cancelled"
}
