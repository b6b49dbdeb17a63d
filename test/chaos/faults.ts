import { Effect } from "effect"
import type { Page, Upgrades } from "../adapters/socketio/client/HttpProxy.ts"
import { allCommands, sendCommands } from "../fixtures/redisErrors.ts"
import type { Fleet } from "./Fleet.ts"
import type { Pair } from "./Ledger.ts"
import { type Observe, observeMember, observeRedis } from "./observation.ts"
import type { MemberPart, ServerPart } from "./parts.ts"

/** Minimum and maximum duration of a fault in seconds. */
type Lasting = readonly [least: number, most: number]

/** A fault of one kind of part. */
interface FaultCondition {
  readonly kind: string
  readonly lasting: Lasting
  /** True when the fault heals by itself: then the recovery time starts with the fault, else with its end. */
  readonly heals: boolean
  readonly begin: Effect.Effect<void>
  readonly end: Effect.Effect<void>
  /** Starts to observe the outage that it causes. */
  readonly observe?: Observe
}

/** A possible fault of one part. */
export interface Fault extends FaultCondition {
  /** The affected part; it never has two faults at once. */
  readonly part: string
  /** The pairs that cannot work during the fault, as of its start. */
  readonly affected: () => ReadonlyArray<Pair>
}

/** Delay of a slow connection in milliseconds. */
const slowness = 250

/** Kinds that take as long as a keepalive timeout: too long for a short run. */
export const slowKinds: ReadonlySet<string> = new Set(["the connection of a member is silenced"])

/** A fault with a duration. */
const passing = (
  kind: string,
  lasting: Lasting,
  begin: Effect.Effect<void>,
  end: Effect.Effect<void>
): FaultCondition => ({ kind, lasting, heals: false, begin, end })

/** A fault without an end: the other parts must work around it. */
const sudden = (kind: string, begin: Effect.Effect<void>): FaultCondition => ({
  kind,
  lasting: [0, 0],
  heals: true,
  begin,
  end: Effect.void
})

/** An outage: parts get answers, but wrong ones. It lasts for several retries. */
const answering = (
  kind: string,
  begin: Effect.Effect<void>,
  end: Effect.Effect<void>,
  observe: Observe
): FaultCondition => ({ ...passing(kind, [3, 5], begin, end), observe })

/** A part that can be stopped and continued. */
interface Stoppable {
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

const stopped = (who: string, { pause, resume }: Stoppable, lasting: Lasting) =>
  passing(`${who} is stopped`, lasting, pause, resume)

const serverConditions = ({ kept }: ServerPart): ReadonlyArray<FaultCondition> => [
  // Its members use another Server.
  { ...passing("a Server is killed and restarted", [1, 3], kept.kill, kept.revive), heals: true },
  stopped("a Server", kept, [1, 6])
]

const redisPathConditions = ({ wayToRedis: way }: ServerPart): ReadonlyArray<FaultCondition> => {
  const wayIs = (what: string) => `the Redis connection of a Server ${what}`
  return [
    passing(wayIs("is cut"), [1, 5], way.cut, way.heal),
    passing(wayIs("stalls"), [1, 5], way.hold, way.heal),
    sudden(wayIs("is silenced"), way.silence)
  ]
}

const linkPathConditions = ({ wayToLinks: way }: ServerPart): ReadonlyArray<FaultCondition> => {
  const wayIs = (what: string) => `the links to a Server ${what}`
  return [
    passing(wayIs("are cut"), [1, 5], way.cut, way.heal),
    passing(wayIs("are slow"), [2, 5], way.slow(slowness), way.heal),
    passing(wayIs("stall"), [1, 5], way.hold, way.heal),
    sudden(wayIs("are half-open"), way.halfOpen),
    sudden(wayIs("are silenced"), way.silence)
  ]
}

const memberPathConditions = ({ way }: MemberPart): ReadonlyArray<FaultCondition> => {
  const wayIs = (what: string) => `the connection of a member ${what}`
  return [
    passing(wayIs("is cut"), [0.5, 3], way.cut, way.heal),
    passing(wayIs("is slow"), [2, 5], way.slow(slowness), way.heal),
    passing(wayIs("stalls"), [1, 6], way.hold, way.heal),
    sudden(wayIs("is half-open: the Server hears nothing"), way.halfOpen),
    sudden(wayIs("is silenced"), way.silence)
  ]
}

const html = (status: number, body: string): Page => ({ status, type: "text/html", body })

/** What a proxy answers instead of the Server, and what it does with WebSockets meanwhile. */
const pages: ReadonlyArray<readonly [what: string, page: Page | undefined, upgrades: Upgrades]> = [
  ["answers 401", html(401, "<h1>Sign in</h1>"), 401],
  ["answers 403", html(403, "<h1>Forbidden</h1>"), 403],
  ["answers 502", html(502, "<h1>Bad gateway</h1>"), 502],
  ["answers with a login page", html(200, "<form>"), 200],
  ["answers with empty bodies", { status: 200, type: "text/plain", body: "" }, 200],
  ["answers with other JSON", { status: 404, type: "application/json", body: '{"error":"no route"}' }, 404],
  ["closes upgrades", undefined, "close"],
  ["hangs upgrades", undefined, "hang"]
]

const memberProxyConditions = (fleet: Fleet, member: MemberPart): ReadonlyArray<FaultCondition> =>
  pages.map(([what, page, upgrades]) => {
    const answer = (now: Page | undefined, way: Upgrades) =>
      Effect.sync(() => {
        member.http.answer = () => now
        member.http.upgrades = way
        // Open connections would not notice it, and hanging ones not its end.
        member.http.closeAll()
      })
    const kind = `the proxy of a member ${what}`
    return answering(kind, answer(page, upgrades), answer(undefined, "pass"), observeMember(fleet, member, kind))
  })

/** Error replies by a proxy, to scripts or to all commands of a connection. */
const errorReplies: ReadonlyArray<readonly [error: string, commands?: ReadonlyArray<string>]> = [
  ["BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."],
  ["MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."],
  ["LOADING Redis is loading the dataset in memory", allCommands],
  ["NOPERM this user has no permissions to run the command", allCommands],
  ["WRONGPASS invalid username-password pair or user is disabled.", allCommands]
]

/** Errors of Redis itself. */
const redisStates: ReadonlyArray<readonly [code: string, begin: ReadonlyArray<string>, end: ReadonlyArray<string>]> = [
  ["READONLY", ["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]],
  ["OOM", ["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]],
  ["NOREPLICAS", ["CONFIG", "SET", "min-replicas-to-write", "1"], ["CONFIG", "SET", "min-replicas-to-write", "0"]]
]

const redisErrorConditions = (fleet: Fleet): ReadonlyArray<FaultCondition> => {
  const { redis, redisProxy } = fleet
  const conditionFor = (code: string, begin: Effect.Effect<void>, end: Effect.Effect<void>) => {
    const kind = `Redis answers ${code}`
    return answering(kind, begin, end, observeRedis(fleet, kind, code))
  }
  return [
    ...errorReplies.map(([error, commands]) =>
      conditionFor(error.split(" ")[0] ?? error, redisProxy.fail(error, commands), redisProxy.fail(undefined))
    ),
    ...redisStates.map(([code, begin, end]) => conditionFor(code, sendCommands(redis, begin), sendCommands(redis, end)))
  ]
}

const memberConditions = (who: string, { kept }: MemberPart, stops: Stoppable): ReadonlyArray<FaultCondition> => [
  passing(`${who} is killed and restarted`, [0.2, 2], kept.kill, kept.revive),
  stopped(who, stops, [1, 6])
]

/** All faults of a fleet. */
export const faultsOf = (fleet: Fleet): ReadonlyArray<Fault> => {
  const { agents, computers, pairs, redis, servers } = fleet
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
    ...faults(server.name, [...redisPathConditions(server), ...linkPathConditions(server)], () =>
      at(index)().filter(isAcross)
    )
  ]
  return [
    ...servers.flatMap(ofServer),
    ...[...agents, ...computers].flatMap((one) =>
      faults(one.name, [...memberPathConditions(one), ...memberProxyConditions(fleet, one)], of(one.name))
    ),
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
        passing("Redis is killed and restarts empty", [0.5, 3], redis.kill, redis.restart),
        ...redisErrorConditions(fleet)
      ],
      () => pairs.filter(isAcross)
    )
  ]
}
