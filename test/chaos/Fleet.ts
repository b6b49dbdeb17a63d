import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { startRedis, type TestRedis } from "../fixtures/redis.ts"
import { type FaultyRedis, openFaultyRedis } from "../fixtures/redisErrors.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import type { Members, Load } from "./members.ts"
import { type Execution, Ledger, type Pair } from "./Ledger.ts"
import {
  type AgentPart,
  type ComputerPart,
  makePauseClock,
  type ServerPart,
  startAgent,
  startComputer,
  startServer
} from "./parts.ts"

export interface Fleet {
  readonly redis: TestRedis
  /** The proxy of all Servers in front of Redis. */
  readonly redisProxy: FaultyRedis
  readonly servers: ReadonlyArray<ServerPart>
  readonly agents: ReadonlyArray<AgentPart>
  readonly computers: ReadonlyArray<ComputerPart>
  readonly pairs: ReadonlyArray<Pair>
  readonly ledger: Ledger
  /** All executions in the journals of the Computers. */
  readonly executions: () => ReadonlyArray<Execution>
}

/** Starts all parts until the scope closes. Members join as soon as they can. */
export const startFleet = Effect.fnUntraced(function* (
  members: Members,
  load: Load
): Effect.fn.Return<Fleet, never, Scope.Scope> {
  const redis = yield* startRedis
  const servers: Array<ServerPart> = []
  /** Announces the proxies of the links of all Servers. */
  const toLinkProxy = (part: string) => {
    const server = servers.find(({ links }) => part.startsWith("tcp:") && part.endsWith(`@${links}`))
    return server === undefined ? part : part.replace(server.links, `127.0.0.1:${server.wayToLinks.port}`)
  }
  const redisProxy = yield* openFaultyRedis(() => redis, "127.0.0.1", toLinkProxy)
  const folder = join(yield* temporaryFolder, "journals")
  mkdirSync(folder)
  for (let index = 1; index <= members.servers; index++) servers.push(yield* startServer(redisProxy, `server ${index}`))
  const pauseClock = new Map(members.offices.map(({ agent }) => [agent.name, makePauseClock()]))
  const pauseClockOf = (agent: string) => pauseClock.get(agent) ?? makePauseClock()
  const ledger = new Ledger(load.timeout * 1000 + load.grace, (agent) => pauseClockOf(agent).total())
  const computers = yield* Effect.forEach(
    members.offices.flatMap((office) => office.computers.map((home) => ({ home, office }))),
    ({ home, office }) => startComputer(home, office, servers, folder)
  )
  const agents = yield* Effect.forEach(members.offices, (office) =>
    startAgent(office, servers, load, ledger, pauseClockOf(office.agent.name))
  )
  return {
    redis,
    redisProxy,
    servers,
    agents,
    computers,
    pairs: members.offices.flatMap(({ agent, computers: those }) =>
      those.map(({ name }) => ({ agent: agent.name, computer: name }))
    ),
    ledger,
    executions: () => computers.flatMap((one) => one.executions())
  }
})
