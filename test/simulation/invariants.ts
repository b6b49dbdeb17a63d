import { Effect, HashMap, Option, SubscriptionRef } from "effect"
import { approvalTimeout } from "./Approvers.ts"
import {
  approvalsOf,
  coveringGrant,
  decisionOf,
  grantsAt,
  isSameRevision,
  mayDecide,
  mayHaveDecided
} from "./consent.ts"
import {
  approvalsReachTheirCallers,
  departedCallsEnd,
  onlyApproversDecide,
  previousArgumentsReachTheirCaller,
  tasksNeedTheirId,
  tasksOutliveTheirAgents
} from "./callers.ts"
import type { TrackedAnswer, TrackedApproval, TrackedRequest } from "./History.ts"
import { toolKinds } from "./plan.ts"
import { type Findings, isAgentOf, nameOf, officesOf, toolNameIn, windowText, type World } from "./World.ts"

/** Tolerance for late outcomes in milliseconds: the last hop of a message. */
const slack = 20

/** How long after a membership its notifications may still arrive, in milliseconds. */
const lateNotificationTime = 120_000

/** How long an undisturbed cancellation may take to reach a tool, in milliseconds. */
const cancelTime = 100

/** A call that waits longer for an approval announces it, in milliseconds. */
const announceTime = 200

/** How much longer an Agent waits than an approval, in milliseconds. */
const waitMargin = 2000

/** A wait up to this time may count as execution time: it ends before it is announced. In milliseconds. */
const unannouncedTime = 300

// After every step

/** An office never has two Agents. */
const oneAgentPerOffice = (world: World): Findings =>
  officesOf(world).flatMap((office) => {
    const sitting = [...HashMap.values(world.cluster.offices.state.sessions)].filter(({ membership }) =>
      Option.exists(membership, (one) => one.office === office && one.role === "agent")
    )
    return sitting.length > 1 ? [`${office} has the Agents ${sitting.map(({ sid }) => sid).join(", ")}`] : []
  })

/** All members of an office speak one protocol line. */
const linesNeverMeet = (world: World): Findings =>
  officesOf(world).flatMap((office) => {
    const versions = [...HashMap.values(world.cluster.offices.state.sessions)].flatMap(({ membership, version }) =>
      Option.exists(membership, (one) => one.office === office) ? [version] : []
    )
    return new Set(versions).size > 1 ? [`${office} has members of the versions ${versions.join(", ")}`] : []
  })

/** The names of the Computers in an office are unique. */
const namesAreUnique = (world: World): Findings =>
  officesOf(world).flatMap((office) => {
    const names = [...HashMap.values(world.cluster.offices.state.sessions)].flatMap(({ membership }) =>
      Option.isSome(membership) && membership.value.office === office && membership.value.role === "computer"
        ? [membership.value.name]
        : []
    )
    return names.length === new Set(names).size ? [] : [`${office} has a name twice: ${names.join(", ")}`]
  })

const requests = (world: World, check: (one: TrackedRequest) => string | undefined): Findings =>
  [...world.history.requests.values()].flatMap((one) => {
    const finding = check(one)
    return finding === undefined ? [] : [`${one.id}: ${finding}`]
  })

/** True for a call that may wait for an approver. */
const mayWait = (tool: TrackedRequest["tool"]): boolean => tool === "guarded" || tool === "asking"

/** How much longer an Agent may wait for a call that waits for an approval, in milliseconds. */
const extensionOf = (world: World, { call, tool }: TrackedRequest): number => {
  // A question is announced at once.
  const isAnnounced = ({ closedAt, isQuestion, openedAt }: TrackedApproval) =>
    isQuestion || (closedAt ?? world.now()) - openedAt >= announceTime
  return mayWait(tool) && approvalsOf(world, call).some(isAnnounced) ? approvalTimeout + waitMargin : 0
}

/** Every request ends exactly once and in time. */
const everyRequestEndsOnce = (world: World): Findings =>
  requests(world, (one) => {
    const { ends, maxDuration, sentAt } = one
    if (ends.length > 1) return `ended ${ends.length} times`
    const late = (ends[0]?.at ?? world.now()) - sentAt - maxDuration - extensionOf(world, one)
    if (late <= slack) return undefined
    return ends.length === 0 ? `sent at ${sentAt}, has not ended` : `ended ${late} ms too late`
  })

/** A result belongs to its call. */
const resultsReachTheirCaller = (world: World): Findings =>
  requests(world, ({ call, computer, ends, takes }) => {
    const wrong = ends.find(
      ({ outcome }) => takes !== undefined && outcome.startsWith("=") && outcome !== `=${call} by ${computer}`
    )
    return wrong && `got ${JSON.stringify(wrong.outcome)}`
  })

/** An undisturbed call with a sufficient timeout succeeds. */
const undisturbedCallsSucceed = (world: World): Findings =>
  requests(world, ({ undisturbed, call, cancelledAt, ends, id, computer, takes, timeout, tool }) => {
    const [end] = ends
    if (end === undefined || !undisturbed || cancelledAt !== undefined || tool === "guarded") return undefined
    if (takes === undefined || takes + 100 + (tool === "asking" ? unannouncedTime : 0) > timeout) return undefined
    // An earlier request for the result of the task was disturbed or cancelled.
    if (call !== id) return undefined
    return end.outcome === `=${call} by ${computer}` ? undefined : `ended with ${end.outcome}`
  })

/** Every other undisturbed request succeeds. */
const undisturbedRequestsSucceed = (world: World): Findings =>
  requests(world, ({ undisturbed, ends, takes }) => {
    const [end] = ends
    if (end === undefined || !undisturbed || takes !== undefined) return undefined
    return end.outcome.startsWith("=") ? undefined : `ended with ${end.outcome}`
  })

/** No call runs twice, even with connection faults. */
const nothingRunsTwice = (world: World): Findings => {
  const seen = new Map<string, number>()
  for (const { id } of world.history.runs) seen.set(id, (seen.get(id) ?? 0) + 1)
  return [...seen].flatMap(([id, times]) =>
    times > (id.startsWith("twice") ? 2 : 1) ? [`${id} ran ${times} times`] : []
  )
}

/** An undisturbed cancellation stops the call at the Computer at once. */
const cancelledCallsStop = (world: World): Findings =>
  world.history.runs.flatMap(({ endedAt, id }) => {
    const call = world.history.requests.get(id)
    if (call?.cancelledAt === undefined || !call.undisturbed || endedAt === undefined) return []
    const late = endedAt - call.cancelledAt
    return late > cancelTime ? [`${id} ran on for ${late} ms`] : []
  })

/** A call never runs in another office. */
const callsStayInTheirOffice = (world: World): Findings =>
  world.history.runs.flatMap(({ at, from, id }) =>
    at === undefined || at === from ? [] : [`${id} of ${from} ran in ${at}`]
  )

/** Notifications concern members of the same office only. */
const nothingCrossesOffices = (world: World): Findings =>
  world.history.mentions.flatMap(({ at, event, name, office }) => {
    const known = world.history.stays.some(
      (stay) =>
        stay.office === office && stay.name === name && stay.from <= at && (stay.to ?? at) + lateNotificationTime >= at
    )
    return known ? [] : [`${office} received ${event} at ${at} about ${name}, which was not a member`]
  })

const approvals = (world: World, check: (one: TrackedApproval) => string | undefined): Findings =>
  [...world.history.approvals.values()].flatMap((one) => {
    const finding = check(one)
    return finding === undefined ? [] : [`the approval of ${one.call} at ${one.computer}: ${finding}`]
  })

/** An approval has one decision: its first answer is accepted, and later ones fail with 409 or 404. */
const approvalsAreDecidedOnce = (world: World): Findings =>
  approvals(world, (one) => {
    const { call, closedAt, computer, incarnation, isQuestion, openedAt } = one
    // Another rule is about the others.
    const answers = one.answers.filter((answer) => mayDecide(world, one, answer))
    const accepted = answers.filter(({ outcome }) => outcome === "accepted")
    if (accepted.length > 1) return `accepted the answers of ${accepted.map(({ by }) => by).join(" and ")}`
    const late = accepted.find(({ at }) => at > (closedAt ?? at))
    if (late !== undefined) return `accepted an answer ${late.at - (closedAt ?? 0)} ms after its end`
    const isRejection = ({ outcome, settledAt = 0 }: TrackedAnswer) =>
      outcome === 409 || outcome === 404 || (outcome === 403 && settledAt > (closedAt ?? Infinity))
    const other = answers.find((answer) => typeof answer.outcome === "number" && !isRejection(answer))
    if (other !== undefined) return `failed an answer with ${other.outcome}`
    const [first] = answers
    if (
      typeof first?.outcome === "number" &&
      first.settledAt !== undefined &&
      first.settledAt < (closedAt ?? Infinity)
    ) {
      return `rejected its first answer with ${first.outcome}`
    }
    const decisions = world.history.decisions.filter(
      (decision) =>
        decision.call === call &&
        decision.isQuestion === isQuestion &&
        decision.computer === computer &&
        decision.incarnation === incarnation &&
        decision.at >= openedAt
    )
    const isRepeated = approvalsOf(world, call).length > 1
    if (isRepeated) return undefined
    if (decisions.length > 1)
      return `has the decisions ${decisions.map(({ action, by }) => `${action} by ${by}`).join(", ")}`
    const [decision] = decisions
    const [answer] = accepted
    if (decision === undefined || answer === undefined) return undefined
    const action = answer.allows ? "allow" : "deny"
    return decision.action === action && decision.by === answer.by
      ? undefined
      : `has the decision ${decision.action} by ${decision.by}, but accepted ${action} by ${answer.by}`
  })

/**
 * A tool that needs consent runs only after a decision that allowed the call, or under a valid grant. That of an operator
 * is valid while operators may decide, and that of an Agent for its calls.
 */
const consentPrecedesRuns = (world: World): Findings =>
  world.history.runs.flatMap((run) => {
    const { approvers, beganAt, computer, from, id, revisions } = run
    if (revisions === undefined) return []
    const isAllowed = approvalsOf(world, id).some(
      (approval) =>
        approval.computer === computer &&
        isSameRevision(approval.revisions, revisions) &&
        approval.answers.some(
          (answer) => answer.allows && answer.at <= beganAt && mayHaveDecided(world, approval, answer)
        )
    )
    if (
      isAllowed ||
      grantsAt(world, { at: beganAt, computer, office: from, revisions, approvers, call: id }).length > 0
    )
      return []
    return [`${id} ran at ${computer} at ${beganAt} without consent`]
  })

/** A denied, expired or cancelled approval never lets its call run. An undisturbed caller receives 4005 at once. */
const deniedCallsNeverRun = (world: World): Findings =>
  approvals(world, (one) => {
    const { call, closedAt, computer, isQuestion, openedAt } = one
    const now = world.now()
    const waited = (closedAt ?? now) - openedAt
    if (waited > approvalTimeout + slack) return `waited for ${waited} ms`
    if (isQuestion) return undefined
    const decision = decisionOf(world, one)
    if (decision === "open" || decision === "allowed" || decision === "unclear") return undefined
    const isRepeated = approvalsOf(world, call).length > 1
    const run = world.history.runs.find(({ id, ...other }) => id === call && other.computer === computer)
    if (run !== undefined && !isRepeated) return `was ${decision}, but the call ran at ${run.beganAt}`
    const request = world.history.requests.get(call)
    if (request === undefined || !request.undisturbed || closedAt === undefined) return undefined
    const [end] = request.ends
    if (request.cancelledAt !== undefined) {
      const late = closedAt - request.cancelledAt
      return late > cancelTime ? `ended ${late} ms after the call` : undefined
    }
    if (end === undefined) return now - closedAt > cancelTime ? `was ${decision}, but the call waits` : undefined
    if (!end.outcome.startsWith("failed: 4005")) return `was ${decision}, but the call ended with ${end.outcome}`
    return end.at - closedAt > cancelTime
      ? `was ${decision}, but the call ended ${end.at - closedAt} ms later`
      : undefined
  })

/** An undisturbed call waits for an approval as long as the settings of its Computer say. */
const approvalsWaitInFull = (world: World): Findings =>
  approvals(world, (one) => {
    const { call, closedAt, openedAt } = one
    const request = world.history.requests.get(call)
    if (request === undefined || closedAt === undefined) return undefined
    if (!request.undisturbed || request.cancelledAt !== undefined) return undefined
    return decisionOf(world, one) === "cancelled"
      ? `ended after ${closedAt - openedAt} ms without an answer`
      : undefined
  })

/** An undisturbed call that is allowed runs once. Its wait for the approval does not shorten its execution timeout. */
const allowedCallsSucceed = (world: World): Findings =>
  requests(world, ({ undisturbed, call, cancelledAt, ends, id, computer, takes, timeout, tool }) => {
    const [end] = ends
    if (end === undefined || !undisturbed || cancelledAt !== undefined || tool !== "guarded") return undefined
    if (takes === undefined || takes + unannouncedTime + 100 > timeout || call !== id) return undefined
    const [approval] = approvalsOf(world, id)
    if (approval !== undefined && decisionOf(world, approval) !== "allowed") return undefined
    if (end.outcome !== `=${id} by ${computer}`) return `was allowed, but ended with ${end.outcome}`
    const runs = world.history.runs.filter((run) => run.id === id).length
    return runs === 1 ? undefined : `was allowed, but ran ${runs} times`
  })

/** A valid grant of another approver than an Agent outlives restarts of its Computer: no call that it covers needs another approval. */
const grantsAreKept = (world: World): Findings =>
  approvals(world, (one) => {
    const grant = one.isQuestion ? undefined : coveringGrant(world, one)
    return grant === undefined ? undefined : `is covered by the grant of ${grant.call}`
  })

/**
 * An MCP server receives the accepted answer to its question, once, and no other. A question is declined without an answer
 * when its caller is out of reach.
 */
const answersReachTheirServer = (world: World): Findings =>
  approvals(world, ({ answers, call, computer, isQuestion }) => {
    if (!isQuestion || approvalsOf(world, call).length > 1) return undefined
    const received = world.history.received.filter((one) => one.call === call && one.computer === computer)
    if (received.length > 1) return `has ${received.length} answers at its MCP server`
    const [first] = received
    if (first === undefined) return undefined
    const { answer } = first
    const given = answer.action === "accept" ? answer.content?.["by"] : undefined
    const isGiven = answers.some(({ allows, by }) => (allows ? by === given : answer.action === "decline"))
    const isExcused = answer.action === "decline" && world.history.requests.get(call)?.undisturbed === false
    if (answer.action !== "cancel" && !isGiven && !isExcused) return "has an answer at its MCP server that none gave"
    const accepted = answers.find(({ outcome }) => outcome === "accepted")
    if (accepted === undefined) return undefined
    const isSame = accepted.allows ? given === accepted.by : answer.action === "decline"
    return isSame ? undefined : `accepted the answer of ${accepted.by}, but its MCP server received ${answer.action}`
  })

/** The progress of a call arrives in order, and never after its end. */
const progressPrecedesEnds = (world: World): Findings =>
  requests(world, ({ ends, progress }) => {
    const end = ends[0]?.at ?? Infinity
    const late = progress.find(({ at }) => at > end)
    if (late !== undefined) return `received progress ${late.at - end} ms after its end`
    const steps = progress.map((one) => one.progress)
    return steps.every((step, index) => index === 0 || step > (steps[index - 1] ?? 0))
      ? undefined
      : `received the progress ${steps.join(", ")}`
  })

/** A Computer knows its tasks until it leaves the office or its process ends. */
const tasksAreKept = (world: World): Findings =>
  requests(world, ({ call, computer, ends }) => {
    const task = world.history.tasks.find((one) => one.call === call)
    const lost = ends.find(({ outcome }) => outcome.startsWith("failed: The Computer does not know this task"))
    const party = world.computers.find(({ name }) => name === computer)
    if (task === undefined || lost === undefined || party?.visits !== task.visit) return undefined
    return `is not known to the Computer that started it`
  })

/** The code under test logs no error. */
const noErrorIsLogged = ({ errors }: World): Findings => errors

/** Rules that hold after every step. */
export const always = [
  oneAgentPerOffice,
  linesNeverMeet,
  namesAreUnique,
  everyRequestEndsOnce,
  resultsReachTheirCaller,
  undisturbedCallsSucceed,
  undisturbedRequestsSucceed,
  nothingRunsTwice,
  cancelledCallsStop,
  callsStayInTheirOffice,
  nothingCrossesOffices,
  approvalsAreDecidedOnce,
  consentPrecedesRuns,
  deniedCallsNeverRun,
  approvalsWaitInFull,
  allowedCallsSucceed,
  grantsAreKept,
  answersReachTheirServer,
  progressPrecedesEnds,
  tasksAreKept,
  approvalsReachTheirCallers,
  previousArgumentsReachTheirCaller,
  onlyApproversDecide,
  tasksNeedTheirId,
  departedCallsEnd,
  tasksOutliveTheirAgents,
  noErrorIsLogged
] as const

// Once all requests have ended

/** No tool is running: cancelled and abandoned calls have stopped. */
const noToolRunsOn = (world: World): Findings =>
  world.history.runs.flatMap(({ beganAt, computer, endedAt, id }) =>
    endedAt === undefined ? [`${id} is still running at ${computer} since ${beganAt}`] : []
  )

/** Every join and leave is notified to the other members exactly once and in order. */
const membershipChangesAreNotifiedOnce = (world: World): Findings =>
  world.offices.flatMap((office) => {
    const here = new Set<string>()
    const findings: Array<string> = []
    for (const { at, name, office: of, role, what, witness } of world.history.notified) {
      if (witness !== office) continue
      const who = `${role} ${name}`
      if (of !== office) findings.push(`${office} was notified at ${at} that ${who} ${what} ${of}`)
      else if (what === "entered" && here.has(who)) findings.push(`${office} was notified twice that ${who} entered`)
      else if (what === "left" && !here.delete(who)) findings.push(`${office} was notified twice that ${who} left`)
      else if (what === "entered") here.add(who)
    }
    const truth = new Set(world.membersIn(office).map(({ membership }) => `${membership.role} ${membership.name}`))
    for (const who of truth) if (!here.has(who)) findings.push(`${office} was never notified of ${who}`)
    for (const who of here) if (!truth.has(who)) findings.push(`${office} was not notified that ${who} left`)
    return findings
  })

/** True when a party's status is `Joined`. */
const hasJoined = ({ process }: World["agents"][number] | World["computers"][number]): Effect.Effect<boolean> => {
  if (process === undefined) return Effect.succeed(false)
  const { member } = process.service
  return Effect.map(Effect.isEffect(member) ? member : Effect.succeed(member), (joined) =>
    joined === undefined ? false : SubscriptionRef.getUnsafe(joined.status)._tag === "Joined"
  )
}

/** The status of the parties agrees with the members according to the Servers. */
const membershipConverges = (world: World): Effect.Effect<Findings> =>
  Effect.map(Effect.filter([...world.agents, ...world.computers], hasJoined), (believers) =>
    world.offices.flatMap((office) => {
      const truth = world.membersIn(office).map(({ membership }) => membership.name)
      const own = believers.filter((party) => party.office === office).map(({ name }) => name)
      return [
        ...own.filter((name) => !truth.includes(name)).map((name) => `${name} has status Joined in ${office}`),
        ...truth.filter((name) => !own.includes(name)).map((name) => `${name} is still a member of ${office}`)
      ]
    })
  )

const sorted = (names: Iterable<string>) => [...names].toSorted().join(", ")

/** The view of every Agent is correct: members, tools and desktops. */
const viewsAreTrue = (world: World): Effect.Effect<Findings> =>
  Effect.map(
    Effect.forEach(world.agents, ({ name, office, process, program }) => {
      if (process === undefined || office === undefined || !isAgentOf(world, program, office)) {
        return Effect.succeed<Findings>([])
      }
      return Effect.map(process.service.view, ({ computers, members }): Findings => {
        const findings: Array<string> = []
        const there = world.membersIn(office).map(({ membership }) => membership.name)
        const seen = members.map((member) => member.name).filter((one) => !one.startsWith("witness"))
        if (sorted(there) !== sorted(seen)) {
          findings.push(`${name} sees ${sorted(seen)} in ${office}, expected ${sorted(there)}`)
        }
        for (const { index } of world.computers.map(({ who }) => who)) {
          const computer = nameOf({ kind: "computer", index })
          const view = computers.get(computer)
          const machine = world.machines[index]
          if (view === undefined || machine === undefined) continue
          const tools = [
            ...[...toolKinds, `tool-${machine.tools}`].map((tool) => toolNameIn(office, tool)),
            ...(machine.hasExtra ? [toolNameIn(office, "extra", "extra")] : [])
          ]
          const found = (view.tools ?? []).map((tool) => tool.name)
          if (sorted(found) !== sorted(tools)) {
            findings.push(`${name} sees the tools ${sorted(found)} of ${computer}, expected ${sorted(tools)}`)
          }
          const text = windowText(index, machine.windows)
          if (!(view.desktop ?? []).some((window) => window.includes(text))) {
            findings.push(`${name} sees ${JSON.stringify(view.desktop)}, expected ${text}`)
          }
        }
        return findings
      })
    }),
    (findings) => findings.flat()
  )

/** The member list of the Server is correct. */
const listsAreTrue = (world: World): Effect.Effect<Findings> =>
  Effect.map(
    Effect.forEach(world.agents, ({ name, office, process, program }) => {
      if (process === undefined || office === undefined || !isAgentOf(world, program, office)) {
        return Effect.succeed<Findings>([])
      }
      const truth = sorted(world.membersIn(office).map(({ membership }) => membership.name))
      return Effect.match(process.service.members, {
        onFailure: ({ message }): Findings => [`${name} cannot list ${office}: ${message}`],
        onSuccess: (members): Findings => {
          const listed = sorted(members.map((one) => one.name).filter((one) => !one.startsWith("witness")))
          return listed === truth ? [] : [`${name} receives the list ${listed} of ${office}, expected ${truth}`]
        }
      })
    }),
    (findings) => findings.flat()
  )

export const onceQuiet = [...always, noToolRunsOn, membershipChangesAreNotifiedOnce] as const

export const onceQuietAsking = [membershipConverges, viewsAreTrue, listsAreTrue] as const

// Once all members have left

/** No session, office, connection, call, byte or subscription is left. */
export const nothingIsLeaked = (world: World): Findings => {
  const { offices, sessions } = world.cluster.offices.state
  const left: ReadonlyArray<readonly [string, number]> = [
    ["sessions", HashMap.size(sessions)],
    ["offices", HashMap.size(offices)],
    ["connections", world.net.size()],
    ...[...world.nodes].flatMap(([index, { gauge, server }]) => [
      ...Object.entries(server.load()).map(([what, count]) => [`${what} at n${index}`, count] as const),
      ...["backlog_bytes", "request_bytes"].map((name) => [`${name} at n${index}`, gauge(name)] as const)
    ]),
    ...world.machines.flatMap(({ extra, main }, index) => [
      [`subscriptions at the servers of computer-${index}`, main.subscriptions().length] as const,
      [`subscriptions at the extra server of computer-${index}`, extra.subscriptions().length] as const
    ])
  ]
  return left.flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what} left`]))
}

const allRules = [...onceQuiet, ...onceQuietAsking, nothingIsLeaked] as const

/** The names of all rules. */
export const ruleNames: ReadonlyArray<string> = allRules.map(({ name }) => name)
