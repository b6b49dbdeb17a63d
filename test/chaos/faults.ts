import { Effect } from "effect"
import type { Fleet, MemberPart, ServerPart } from "./Fleet.ts"
import type { Pair } from "./Ledger.ts"

/** Something that can go wrong, with one part of the fleet. */
export interface Fault {
  readonly kind: string
  /** The part that it happens to; never two at once to the same. */
  readonly part: string
  /** How many seconds it lasts at least and at most. */
  readonly lasting: readonly [least: number, most: number]
  /** Does it heal by itself? Then the time to recover is counted from when it began, else from when it ended. */
  readonly heals: boolean
  readonly begin: Effect.Effect<void>
  readonly end: Effect.Effect<void>
  /** The pairs that cannot work, as things stand when it begins. */
  readonly affected: () => ReadonlyArray<Pair>
}

/** How much later everything comes on a slow way, in milliseconds. */
const slowness = 250

/** Kinds that take as long as a missed sign of life: too long for a short run. */
export const slowKinds: ReadonlySet<string> = new Set(["a member's way is silent for ever"])

const nothing = Effect.void

/** Everything that can go wrong with a fleet. */
export const faultsOf = ({ agents, computers, pairs, redis, servers }: Fleet): ReadonlyArray<Fault> => {
  const members = new Map([...agents, ...computers].map((member) => [member.name, member]))
  const serverOf = (name: string) => members.get(name)?.server()
  const of = (name: string) => () => pairs.filter(({ agent, computer }) => [agent, computer].includes(name))
  const at = (index: number) => () =>
    pairs.filter(({ agent, computer }) => [serverOf(agent), serverOf(computer)].includes(index))
  const isAcross = ({ agent, computer }: Pair) => serverOf(agent) !== serverOf(computer)
  const across = (index: number) => () => at(index)().filter(isAcross)

  const ofServer = ({ kept, name, wayToRedis }: ServerPart, index: number): ReadonlyArray<Fault> => [
    {
      kind: "a Server is killed and comes back",
      part: name,
      lasting: [1, 3],
      // Its members go to another one.
      heals: true,
      begin: kept.kill,
      end: kept.revive,
      affected: at(index)
    },
    {
      kind: "a Server stands still",
      part: name,
      lasting: [1, 6],
      heals: false,
      begin: kept.pause,
      end: kept.resume,
      affected: at(index)
    },
    {
      kind: "a Server's way to Redis is cut",
      part: name,
      lasting: [1, 5],
      heals: false,
      begin: wayToRedis.cut,
      end: wayToRedis.heal,
      affected: across(index)
    },
    {
      kind: "a Server's way to Redis stands still",
      part: name,
      lasting: [1, 5],
      heals: false,
      begin: wayToRedis.hold,
      end: wayToRedis.heal,
      affected: across(index)
    },
    {
      kind: "a Server's way to Redis is silent for ever",
      part: name,
      lasting: [0, 0],
      heals: true,
      begin: wayToRedis.silence,
      end: nothing,
      affected: across(index)
    }
  ]

  const ofMember = ({ name, way }: MemberPart): ReadonlyArray<Fault> => [
    {
      kind: "a member's way is cut",
      part: name,
      lasting: [0.5, 3],
      heals: false,
      begin: way.cut,
      end: way.heal,
      affected: of(name)
    },
    {
      kind: "a member's way is slow",
      part: name,
      lasting: [2, 5],
      heals: false,
      begin: way.slow(slowness),
      end: way.heal,
      affected: of(name)
    },
    {
      kind: "a member's way stands still",
      part: name,
      lasting: [1, 6],
      heals: false,
      begin: way.hold,
      end: way.heal,
      affected: of(name)
    },
    {
      kind: "a member's way is half-open: the Server hears nothing",
      part: name,
      lasting: [0, 0],
      heals: true,
      begin: way.halfOpen,
      end: nothing,
      affected: of(name)
    },
    {
      kind: "a member's way is silent for ever",
      part: name,
      lasting: [0, 0],
      heals: true,
      begin: way.silence,
      end: nothing,
      affected: of(name)
    }
  ]

  return [
    ...servers.flatMap(ofServer),
    ...[...agents, ...computers].flatMap(ofMember),
    ...agents.flatMap(
      ({ kept, name, pause, resume }): ReadonlyArray<Fault> => [
        {
          kind: "an Agent is killed and comes back",
          part: name,
          lasting: [0.2, 2],
          heals: false,
          begin: kept.kill,
          end: kept.revive,
          affected: of(name)
        },
        {
          kind: "an Agent stands still",
          part: name,
          lasting: [1, 6],
          heals: false,
          begin: pause,
          end: resume,
          affected: of(name)
        }
      ]
    ),
    ...computers.flatMap(
      ({ kept, killTool, name }): ReadonlyArray<Fault> => [
        {
          kind: "a Computer is killed and comes back",
          part: name,
          lasting: [0.2, 2],
          heals: false,
          begin: kept.kill,
          end: kept.revive,
          affected: of(name)
        },
        {
          kind: "a Computer stands still",
          part: name,
          lasting: [1, 6],
          heals: false,
          begin: kept.pause,
          end: kept.resume,
          affected: of(name)
        },
        {
          kind: "an MCP server is killed",
          part: name,
          lasting: [0, 0],
          heals: true,
          begin: killTool,
          end: nothing,
          affected: of(name)
        }
      ]
    ),
    {
      kind: "Redis stands still",
      part: "redis",
      lasting: [1, 5],
      heals: false,
      begin: redis.pause,
      end: redis.resume,
      affected: () => pairs.filter(isAcross)
    },
    {
      kind: "Redis is killed and comes back empty",
      part: "redis",
      lasting: [0.5, 3],
      heals: false,
      begin: redis.kill,
      end: redis.restart,
      affected: () => pairs.filter(isAcross)
    }
  ]
}
