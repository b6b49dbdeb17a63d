import { Effect, HashMap, Option, SubscriptionRef } from "effect"
import type { Asked } from "./History.ts"
import { agentOf, nameOf, officesOf, windowText, type World } from "./World.ts"

/** What a rule found wrong: nothing when it holds. */
export type Findings = ReadonlyArray<string>

/** How late an end may be beyond what was allowed, in milliseconds: the last hop of a message. */
const slack = 20

/** How long after its end somebody may still hear of a stay: what is under way for long is told then. */
const rumourTime = 120_000

/** How long a cancel may take to reach a tool in calm weather, in milliseconds. */
const cancelTime = 100

// At every moment

/** An office never has two Agents: whoever sits there as one is the one. */
const oneAgentPerOffice = (world: World): Findings =>
  officesOf(world).flatMap((office) => {
    const sitting = [...HashMap.values(world.cluster.offices.state.sessions)].filter(({ membership }) =>
      Option.exists(membership, (one) => one.office === office && one.role === "agent")
    )
    return sitting.length > 1 ? [`${office} has the Agents ${sitting.map(({ sid }) => sid).join(", ")}`] : []
  })

/** No two Computers of an office share a name, and no session sits twice. */
const namesAreUnique = (world: World): Findings =>
  officesOf(world).flatMap((office) => {
    const names = [...HashMap.values(world.cluster.offices.state.sessions)].flatMap(({ membership }) =>
      Option.isSome(membership) && membership.value.office === office && membership.value.role === "computer"
        ? [membership.value.name]
        : []
    )
    return names.length === new Set(names).size ? [] : [`${office} has a name twice: ${names.join(", ")}`]
  })

const asked = (world: World, check: (one: Asked) => string | undefined): Findings =>
  [...world.history.asked.values()].flatMap((one) => {
    const finding = check(one)
    return finding === undefined ? [] : [`${one.id}: ${finding}`]
  })

/** Every request ends exactly once, and within its time. */
const everyRequestEndsOnce = (world: World): Findings =>
  asked(world, ({ askedAt, atMost, ends }) => {
    if (ends.length > 1) return `ended ${ends.length} times`
    const late = (ends[0]?.at ?? world.now()) - askedAt - atMost
    if (late <= slack) return undefined
    return ends.length === 0 ? `asked at ${askedAt}, has not ended` : `ended ${late} ms too late`
  })

/** A result is that of the call it answers. */
const resultsReachTheirAsker = (world: World): Findings =>
  asked(world, ({ computer, ends, id, takes }) => {
    const wrong = ends.find(
      ({ outcome }) => takes !== undefined && outcome.startsWith("=") && outcome !== `=${id} by ${computer}`
    )
    return wrong && `got ${JSON.stringify(wrong.outcome)}`
  })

/** In calm weather a call with enough time ends with its result. */
const calmCallsSucceed = (world: World): Findings =>
  asked(world, ({ calm, cancelledAt, ends, id, computer, atMost, takes }) => {
    const [end] = ends
    if (end === undefined || !calm || cancelledAt !== undefined) return undefined
    if (takes === undefined || takes + 100 > atMost) return undefined
    return end.outcome === `=${id} by ${computer}` ? undefined : `ended with ${end.outcome}`
  })

/** In calm weather every question ends with its answer. */
const calmQuestionsAreAnswered = (world: World): Findings =>
  asked(world, ({ calm, ends, takes }) => {
    const [end] = ends
    if (end === undefined || !calm || takes !== undefined) return undefined
    return end.outcome.startsWith("=") ? undefined : `ended with ${end.outcome}`
  })

/** No call runs twice, whatever happens to the connections. */
const nothingRunsTwice = (world: World): Findings => {
  const seen = new Map<string, number>()
  for (const { id } of world.history.runs) seen.set(id, (seen.get(id) ?? 0) + 1)
  return [...seen].flatMap(([id, times]) =>
    times > (id.startsWith("twice") ? 2 : 1) ? [`${id} ran ${times} times`] : []
  )
}

/** In calm weather a cancelled call stops at the Computer at once. */
const cancelledCallsStop = (world: World): Findings =>
  world.history.runs.flatMap(({ endedAt, id }) => {
    const call = world.history.asked.get(id)
    if (call?.cancelledAt === undefined || !call.calm || endedAt === undefined) return []
    const late = endedAt - call.cancelledAt
    return late > cancelTime ? [`${id} ran on for ${late} ms`] : []
  })

/** A call of one office never runs in another one. */
const callsStayInTheirOffice = (world: World): Findings =>
  world.history.runs.flatMap(({ at, from, id }) =>
    at === undefined || at === from ? [] : [`${id} of ${from} ran in ${at}`]
  )

/** Nobody hears of somebody who was not in its office then. */
const nothingCrossesOffices = (world: World): Findings =>
  world.history.mentions.flatMap(({ at, event, name, office }) => {
    const known = world.history.stays.some(
      (stay) =>
        stay.office === office && stay.name === name && stay.from <= at && (stay.to ?? at) + rumourTime >= at
    )
    return known ? [] : [`${office} heard at ${at} by ${event} of ${name}, who was not there`]
  })

/** Nothing has failed where nobody looks. */
const nothingFailsInside = ({ errors }: World): Findings => errors

/** What holds at every moment. */
export const always = [
  oneAgentPerOffice,
  namesAreUnique,
  everyRequestEndsOnce,
  resultsReachTheirAsker,
  calmCallsSucceed,
  calmQuestionsAreAnswered,
  nothingRunsTwice,
  cancelledCallsStop,
  callsStayInTheirOffice,
  nothingCrossesOffices,
  nothingFailsInside
] as const

// Once the world is quiet

/** Whatever was cancelled, or whose asker is gone, does not run on: nothing runs in a quiet world. */
const nothingRunsOn = (world: World): Findings =>
  world.history.runs.flatMap(({ beganAt, computer, endedAt, id }) =>
    endedAt === undefined ? [`${id} has run at ${computer} since ${beganAt}`] : []
  )

/** Every join and every leave is told to the others exactly once, and in their order. */
const everyMoveIsToldOnce = (world: World): Findings =>
  world.offices.flatMap((office) => {
    const here = new Set<string>()
    const findings: Array<string> = []
    for (const { at, name, office: of, role, what, witness } of world.history.told) {
      if (witness !== office) continue
      const who = `${role} ${name}`
      if (of !== office) findings.push(`${office} heard at ${at} that ${who} has ${what} ${of}`)
      else if (what === "entered" && here.has(who))
        findings.push(`${office} heard twice that ${who} is there`)
      else if (what === "left" && !here.delete(who))
        findings.push(`${office} heard twice that ${who} has left`)
      else if (what === "entered") here.add(who)
    }
    const truth = new Set(
      world.seated(office).map(({ membership }) => `${membership.role} ${membership.name}`)
    )
    for (const who of truth) if (!here.has(who)) findings.push(`${office} never heard of ${who}`)
    for (const who of here) if (!truth.has(who)) findings.push(`${office} did not hear that ${who} has left`)
    return findings
  })

/** Does somebody believe to sit in its office? Whoever lost its seat to another keeps asking for it, and knows. */
const isSeated = ({
  process
}: World["agents"][number] | World["computers"][number]): Effect.Effect<boolean> => {
  if (process === undefined) return Effect.succeed(false)
  const { member } = process.service
  return Effect.map(Effect.isEffect(member) ? member : Effect.succeed(member), (joined) =>
    joined === undefined ? false : SubscriptionRef.getUnsafe(joined.status)._tag === "Joined"
  )
}

/** Whoever believes to sit in an office sits there, and nobody else does. */
const membershipConverges = (world: World): Effect.Effect<Findings> =>
  Effect.map(Effect.filter([...world.agents, ...world.computers], isSeated), (believers) =>
    world.offices.flatMap((office) => {
      const truth = world.seated(office).map(({ membership }) => membership.name)
      const own = believers.filter((party) => party.office === office).map(({ name }) => name)
      return [
        ...own.filter((name) => !truth.includes(name)).map((name) => `${name} believes to sit in ${office}`),
        ...truth.filter((name) => !own.includes(name)).map((name) => `${name} still sits in ${office}`)
      ]
    })
  )

const sorted = (names: Iterable<string>) => [...names].toSorted().join(", ")

/** What every Agent sees of its office is what is there: members, tools and desktops. */
const viewsAreTrue = (world: World): Effect.Effect<Findings> =>
  Effect.map(
    Effect.forEach(world.agents, ({ name, office, process }) => {
      if (process === undefined || office === undefined || agentOf(world, office)?.membership.name !== name) {
        return Effect.succeed<Findings>([])
      }
      return Effect.map(process.service.view, ({ computers, members }): Findings => {
        const findings: Array<string> = []
        const there = world.seated(office).map(({ membership }) => membership.name)
        const seen = members.map((member) => member.name).filter((one) => !one.startsWith("witness"))
        if (sorted(there) !== sorted(seen)) {
          findings.push(`${name} sees ${sorted(seen)} in ${office}, there are ${sorted(there)}`)
        }
        for (const { index } of world.computers.map(({ who }) => who)) {
          const computer = nameOf({ kind: "computer", index })
          const view = computers.get(computer)
          const machine = world.machines[index]
          if (view === undefined || machine === undefined) continue
          const tools = ["work", `tool-${machine.tools}`, ...(machine.hasExtra ? ["extra"] : [])]
          const found = (view.tools ?? []).map((tool) => tool.name)
          if (sorted(found) !== sorted(tools)) {
            findings.push(`${name} sees the tools ${sorted(found)} of ${computer}, it has ${sorted(tools)}`)
          }
          const text = windowText(index, machine.windows)
          if (!(view.desktop ?? []).some((window) => window.includes(text))) {
            findings.push(`${name} does not see ${text}, but ${JSON.stringify(view.desktop)}`)
          }
        }
        return findings
      })
    }),
    (findings) => findings.flat()
  )

/** What a Server lists is what is there. */
const listsAreTrue = (world: World): Effect.Effect<Findings> =>
  Effect.map(
    Effect.forEach(world.agents, ({ name, office, process }) => {
      if (process === undefined || office === undefined || agentOf(world, office)?.membership.name !== name) {
        return Effect.succeed<Findings>([])
      }
      const truth = sorted(world.seated(office).map(({ membership }) => membership.name))
      return Effect.match(process.service.members, {
        onFailure: ({ message }): Findings => [`${name} cannot list ${office}: ${message}`],
        onSuccess: (members): Findings => {
          const listed = sorted(members.map((one) => one.name).filter((one) => !one.startsWith("witness")))
          return listed === truth ? [] : [`${name} gets listed ${listed} in ${office}, there are ${truth}`]
        }
      })
    }),
    (findings) => findings.flat()
  )

export const onceQuiet = [...always, nothingRunsOn, everyMoveIsToldOnce] as const

export const onceQuietAsking = [membershipConverges, viewsAreTrue, listsAreTrue] as const

// Once everybody has gone

/** Nothing is left of anybody: no session, office, connection or call. */
export const nothingIsLeft = (world: World): Findings => {
  const { offices, sessions } = world.cluster.offices.state
  const left: ReadonlyArray<readonly [string, number]> = [
    ["sessions", HashMap.size(sessions)],
    ["offices", HashMap.size(offices)],
    ["connections", world.net.size()],
    ...[...world.nodes].flatMap(([index, { server }]) =>
      Object.entries(server.load()).map(([what, count]) => [`${what} at n${index}`, count] as const)
    ),
    ...world.machines.flatMap(({ extra, main }, index) => [
      [`subscriptions at the servers of computer-${index}`, main.subscriptions().length] as const,
      [`subscriptions at the extra server of computer-${index}`, extra.subscriptions().length] as const
    ])
  ]
  return left.flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what} left`]))
}

const allRules = [...onceQuiet, ...onceQuietAsking, nothingIsLeft] as const

/** How every rule is called. */
export const ruleNames: ReadonlyArray<string> = allRules.map(({ name }) => name)
