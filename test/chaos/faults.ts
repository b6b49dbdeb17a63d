import { Effect } from "effect"
import type { Fleet } from "./Fleet.ts"
import type { Pair } from "./Ledger.ts"
import type { MemberPart, ServerPart } from "./parts.ts"

/** Seconds that something lasts at least and at most. */
type Lasting = readonly [least: number, most: number]

/** What can go wrong with some kind of part. */
interface FaultCondition {
  readonly kind: string
  readonly lasting: Lasting
  /** Does it heal by itself? Then the time to recover is counted from when it began, else from when it ended. */
  readonly heals: boolean
  readonly begin: Effect.Effect<void>
  readonly end: Effect.Effect<void>
}

/** Something that can go wrong, with one part of the fleet. */
export interface Fault extends FaultCondition {
  /** The part that it happens to; never two at once to the same. */
  readonly part: string
  /** The pairs that cannot work, as things stand when it begins. */
  readonly affected: () => ReadonlyArray<Pair>
}

/** How much later everything comes on a slow way, in milliseconds. */
const slowness = 250

/** Kinds that take as long as a missed sign of life: too long for a short run. */
export const slowKinds: ReadonlySet<string> = new Set(["a member's way is silent for ever"])

/** Trouble that is over when it is ended. */
const passing = (
  kind: string,
  lasting: Lasting,
  begin: Effect.Effect<void>,
  end: Effect.Effect<void>
): FaultCondition => ({ kind, lasting, heals: false, begin, end })

/** Trouble that comes in a moment and is never ended: the others have to find a way around it. */
const sudden = (kind: string, begin: Effect.Effect<void>): FaultCondition => ({
  kind,
  lasting: [0, 0],
  heals: true,
  begin,
  end: Effect.void
})

/** What can be stopped, and go on. */
interface Stoppable {
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

const stopped = (who: string, { pause, resume }: Stoppable, lasting: Lasting) =>
  passing(`${who} stands still`, lasting, pause, resume)

const serverConditions = ({ kept }: ServerPart): ReadonlyArray<FaultCondition> => [
  // Its members go to another one.
  { ...passing("a Server is killed and comes back", [1, 3], kept.kill, kept.revive), heals: true },
  stopped("a Server", kept, [1, 6])
]

const redisPathConditions = ({ wayToRedis: way }: ServerPart): ReadonlyArray<FaultCondition> => {
  const wayIs = (what: string) => `a Server's way to Redis ${what}`
  return [
    passing(wayIs("is cut"), [1, 5], way.cut, way.heal),
    passing(wayIs("stands still"), [1, 5], way.hold, way.heal),
    sudden(wayIs("is silent for ever"), way.silence)
  ]
}

const memberPathConditions = ({ way }: MemberPart): ReadonlyArray<FaultCondition> => {
  const wayIs = (what: string) => `a member's way ${what}`
  return [
    passing(wayIs("is cut"), [0.5, 3], way.cut, way.heal),
    passing(wayIs("is slow"), [2, 5], way.slow(slowness), way.heal),
    passing(wayIs("stands still"), [1, 6], way.hold, way.heal),
    sudden(wayIs("is half-open: the Server hears nothing"), way.halfOpen),
    sudden(wayIs("is silent for ever"), way.silence)
  ]
}

const memberConditions = (
  who: string,
  { kept }: MemberPart,
  stops: Stoppable
): ReadonlyArray<FaultCondition> => [
  passing(`${who} is killed and comes back`, [0.2, 2], kept.kill, kept.revive),
  stopped(who, stops, [1, 6])
]

/** Everything that can go wrong with a fleet. */
export const faultsOf = ({ agents, computers, pairs, redis, servers }: Fleet): ReadonlyArray<Fault> => {
  const members = new Map([...agents, ...computers].map((member) => [member.name, member]))
  const serverOf = (name: string) => members.get(name)?.server()
  const of = (name: string) => () => pairs.filter(({ agent, computer }) => [agent, computer].includes(name))
  const at = (index: number) => () =>
    pairs.filter(({ agent, computer }) => [serverOf(agent), serverOf(computer)].includes(index))
  const isAcross = ({ agent, computer }: Pair) => serverOf(agent) !== serverOf(computer)

  const faults = (part: string, conditions: ReadonlyArray<FaultCondition>, affected: Fault["affected"]) =>
    conditions.map((condition): Fault => ({ ...condition, part, affected }))

  const ofServer = (server: ServerPart, index: number) => [
    ...faults(server.name, serverConditions(server), at(index)),
    ...faults(server.name, redisPathConditions(server), () => at(index)().filter(isAcross))
  ]
  return [
    ...servers.flatMap(ofServer),
    ...[...agents, ...computers].flatMap((one) => faults(one.name, memberPathConditions(one), of(one.name))),
    ...agents.flatMap((one) => faults(one.name, memberConditions("an Agent", one, one), of(one.name))),
    ...computers.flatMap((one) => {
      const conditions = [
        ...memberConditions("a Computer", one, one.kept),
        sudden("an MCP server is killed", one.killTool)
      ]
      return faults(one.name, conditions, of(one.name))
    }),
    ...faults(
      "redis",
      [
        stopped("Redis", redis, [1, 5]),
        passing("Redis is killed and comes back empty", [0.5, 3], redis.kill, redis.restart)
      ],
      () => pairs.filter(isAcross)
    )
  ]
}
