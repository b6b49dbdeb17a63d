import { decisionOf, isCallerOf, mayDecide, requestOf } from "./consent.ts"
import type { TrackedApproval } from "./History.ts"
import type { Findings, World } from "./World.ts"

/** How long an undisturbed end of a process may take to end what waits for it, in milliseconds. */
const departureTime = 200

const isOperator = (program: string): boolean => program.startsWith("operator:")

const taskOf = ({ history }: World, call: string) => history.tasks.find((one) => one.call === call)

/** An Agent only sees the approvals and questions of its calls; an operator those of its calls, and where operators decide. */
export const approvalsReachTheirCallers = (world: World): Findings =>
  world.history.seen.flatMap(({ at, id, program, visit }) => {
    const approval = world.history.approvals.get(id)
    if (approval === undefined) return []
    const { approvers, call, computer } = approval
    if (isOperator(program) && approvers.includes("page")) return []
    if (isCallerOf(world, call, { program, visit }, at)) return []
    return [`${program} (${visit}) saw the approval of ${call} of ${requestOf(world, call)?.program} at ${computer}`]
  })

/** The arguments of the last approved call are only shown to its caller, and to operators. */
export const previousArgumentsReachTheirCaller = (world: World): Findings =>
  world.history.seen.flatMap(({ id, previousCall, program, visit }) => {
    const before = previousCall === undefined ? undefined : requestOf(world, previousCall)
    const approval = world.history.approvals.get(id)
    if (before === undefined || approval === undefined) return []
    if (isOperator(program) && approval.approvers.includes("page")) return []
    if (before.program === program && before.visit === visit) return []
    const call = `${previousCall} of ${before.program}`
    return [`${program} (${visit}) saw the arguments of ${call} with those of ${approval.call}`]
  })

/** An answer is only accepted from an approver whom the owner names, or to a question from the caller. */
export const onlyApproversDecide = (world: World): Findings =>
  [...world.history.approvals.values()].flatMap((approval) =>
    approval.answers.flatMap((answer) => {
      if (answer.outcome !== "accepted" || mayDecide(world, approval, answer)) return []
      const program = answer.caller?.program ?? answer.by
      return [`accepted the answer of ${program} about ${approval.call} at ${approval.computer}`]
    })
  )

/** A program without the id of a task gets nothing of it. */
export const tasksNeedTheirId = (world: World): Findings =>
  [...world.history.requests.values()].flatMap(({ ends, id, isGuess, program }) => {
    const found = isGuess ? ends.find(({ outcome }) => outcome.startsWith("=")) : undefined
    return found === undefined ? [] : [`${id} of ${program}, which does not know the task, got ${found.outcome}`]
  })

const closed = (world: World, { closedAt }: TrackedApproval) => closedAt ?? world.now()

/** The approvals and questions of a call end with its Agent. */
export const departedCallsEnd = (world: World): Findings =>
  [...world.history.approvals.values()].flatMap((approval) => {
    const { call, computer, openedAt, undisturbed } = approval
    const caller = requestOf(world, call)
    if (!undisturbed || caller === undefined || caller.tool === undefined || call.startsWith("task-")) return []
    const departure = world.history.departures.find(
      ({ at, program, visit }) => program === caller.program && visit === caller.visit && at >= openedAt
    )
    const late = departure === undefined ? 0 : closed(world, approval) - departure.at
    return late > departureTime ? [`${call} waited at ${computer} for ${late} ms after ${caller.program} had left`] : []
  })

/** The approvals and questions of a task wait in full, whether its Agent has left or not. */
export const tasksOutliveTheirAgents = (world: World): Findings =>
  [...world.history.approvals.values()].flatMap((approval) => {
    const { call, closedAt, computer, openedAt, undisturbed } = approval
    if (!undisturbed || closedAt === undefined || taskOf(world, call) === undefined) return []
    if (requestOf(world, call)?.cancelledAt !== undefined || decisionOf(world, approval) !== "cancelled") return []
    return [`${call} waited at ${computer} for ${closedAt - openedAt} ms without an answer`]
  })
