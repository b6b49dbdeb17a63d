import { Effect, HashMap, Option, SubscriptionRef } from "effect"
import type { TrackedRequest } from "./History.ts"
import { agentOf, nameOf, officesOf, toolNameIn, windowText, type World } from "./World.ts"

/** The violations of a rule; empty when it holds. */
export type Findings = ReadonlyArray<string>

/** Tolerance for late outcomes in milliseconds: the last hop of a message. */
const slack = 20

/** How long after a membership its notifications may still arrive, in milliseconds. */
const lateNotificationTime = 120_000

/** How long an undisturbed cancellation may take to reach a tool, in milliseconds. */
const cancelTime = 100

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

const asked = (world: World, check: (one: TrackedRequest) => string | undefined): Findings =>
  [...world.history.asked.values()].flatMap((one) => {
    const finding = check(one)
    return finding === undefined ? [] : [`${one.id}: ${finding}`]
  })

/** Every request ends exactly once and in time. */
const everyRequestEndsOnce = (world: World): Findings =>
  asked(world, ({ sentAt, maxDuration, ends }) => {
    if (ends.length > 1) return `ended ${ends.length} times`
    const late = (ends[0]?.at ?? world.now()) - sentAt - maxDuration
    if (late <= slack) return undefined
    return ends.length === 0 ? `sent at ${sentAt}, has not ended` : `ended ${late} ms too late`
  })

/** A result belongs to its call. */
const resultsReachTheirCaller = (world: World): Findings =>
  asked(world, ({ computer, ends, id, takes }) => {
    const wrong = ends.find(
      ({ outcome }) => takes !== undefined && outcome.startsWith("=") && outcome !== `=${id} by ${computer}`
    )
    return wrong && `got ${JSON.stringify(wrong.outcome)}`
  })

/** An undisturbed call with a sufficient timeout succeeds. */
const undisturbedCallsSucceed = (world: World): Findings =>
  asked(world, ({ undisturbed, cancelledAt, ends, id, computer, maxDuration, takes }) => {
    const [end] = ends
    if (end === undefined || !undisturbed || cancelledAt !== undefined) return undefined
    if (takes === undefined || takes + 100 > maxDuration) return undefined
    return end.outcome === `=${id} by ${computer}` ? undefined : `ended with ${end.outcome}`
  })

/** Every other undisturbed request succeeds. */
const undisturbedRequestsSucceed = (world: World): Findings =>
  asked(world, ({ undisturbed, ends, takes }) => {
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
    const call = world.history.asked.get(id)
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
    Effect.forEach(world.agents, ({ name, office, process }) => {
      if (process === undefined || office === undefined || agentOf(world, office)?.membership.name !== name) {
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
            ...["work", `tool-${machine.tools}`].map((tool) => toolNameIn(office, tool)),
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
    Effect.forEach(world.agents, ({ name, office, process }) => {
      if (process === undefined || office === undefined || agentOf(world, office)?.membership.name !== name) {
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
