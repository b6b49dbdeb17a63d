import { approvalTimeout } from "./Approvers.ts"
import type { Revisions, TrackedAnswer, TrackedApproval } from "./History.ts"
import type { World } from "./World.ts"

/** How an approval ended, according to its answers and the grants of others. */
type Decision = "open" | "allowed" | "denied" | "expired" | "cancelled" | "unclear"

/** A tool at a Computer, at a time. */
interface Place {
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

const isAccepted = ({ outcome }: TrackedAnswer) => outcome === "accepted"

const mayAllow = ({ allows, outcome }: TrackedAnswer) => allows && (outcome === "accepted" || outcome === "unknown")

/** True for the accepted answer, and without one for an answer whose outcome is unknown. */
export const mayHaveDecided = ({ answers, closedAt }: TrackedApproval, answer: TrackedAnswer): boolean =>
  isAccepted(answer) ||
  (answer.outcome === "unknown" && answer.at <= (closedAt ?? Infinity) && !answers.some(isAccepted))

/** A grant of an Agent covers its calls only, and ends with its membership or the connection of its Computer. */
const isOfAgent = ({ by }: TrackedAnswer) => by.startsWith("agent ")

/** The approvals at a place with an answer that gave a grant which lasts, as far as this function tells. */
const grantsWith = (
  { history }: World,
  { at, computer, office }: Place,
  isGiven: (approval: TrackedApproval, answer: TrackedAnswer) => boolean
): ReadonlyArray<TrackedApproval> =>
  [...history.approvals.values()].filter(
    (one) =>
      !one.isQuestion &&
      one.computer === computer &&
      one.office === office &&
      one.answers.some((answer) => (answer.grantedUntil ?? 0) > at && isGiven(one, answer))
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
      mayHaveDecided(one, answer)
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
  if (one.answers.some((answer) => mayHaveDecided(one, answer))) return "unclear"
  const grants = grantsAt(world, { ...one, at: closedAt }).filter((grant) => grant.id !== id)
  if (grants.some(({ answers }) => answers.some((answer) => mayAllow(answer) && !isOfAgent(answer)))) return "allowed"
  if (grants.length > 0) return "unclear"
  // Times are fractions of milliseconds.
  return closedAt - openedAt > approvalTimeout - 1 ? "expired" : "cancelled"
}
