/**
 * Measures the CPU time of a call between two Servers, compared with a call at one Server: both Servers and Redis together. Needs redis-server, or its path in REDIS_SERVER; Linux only.
 * Usage: node bench/cluster.ts [ROUNDS]
 */
import { Effect, Exit, Scope } from "effect"
import { startRedis } from "../test/fixtures/redis.ts"
import { cpuTimeOf } from "./cpuTime.ts"
import { ratioAtMost } from "./relay/cases/Case.ts"
import { closedCase } from "./relay/cases/closed.ts"
import { type Child, startChild } from "./relay/Child.ts"
import { library as a2c, type ServerKind } from "./relay/kinds.ts"
import { text } from "./relay/payloads.ts"
import { pin, processors } from "./relay/pinning.ts"
import { formatTable } from "./relay/table.ts"

const rounds = Number(process.argv[2] ?? 12)

/** A private Redis. Its first thread does nearly all work, so its CPU time counts. */
const redisChild = async (): Promise<Child & { readonly url: string }> => {
  const scope = Scope.makeUnsafe()
  const { host, pid, port, url } = await Effect.runPromise(Scope.provide(startRedis, scope))
  pin(pid(), processors.servers)
  return {
    url,
    pid: pid(),
    address: `${host}:${port}`,
    cpu: () => Promise.resolve(cpuTimeOf(pid())),
    memory: () => Promise.resolve({ rss: 0, heap: 0 }),
    startProfile: () => Promise.resolve(),
    stopProfile: () => Promise.resolve(),
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** Agents at one Server, Computers at another. */
const twoNodes: ServerKind = {
  name: "two nodes",
  wire: "socketIo",
  start: async () => {
    const redis = await redisChild()
    const environment = { A2C_BENCH_REDIS: redis.url }
    const one = await startChild("a2c.ts", environment)
    const two = await startChild("a2c.ts", environment)
    return {
      agents: one.address,
      computers: two.address,
      children: [one, two, redis],
      stop: async () => {
        await Promise.all([one.stop(), two.stop()])
        await redis.stop()
      }
    }
  }
}

const cases = [
  closedCase({
    name: "1k",
    about: "results of 1 KB text",
    payload: () => text(1024),
    pairs: 16,
    inFlight: 4,
    warmUp: 50_000,
    millis: 500,
    targets: { cpu: ratioAtMost(4) }
  }),
  closedCase({
    name: "1m",
    about: "results of 1 MB text",
    payload: () => text(1024 * 1024),
    pairs: 4,
    inFlight: 1,
    warmUp: 2000,
    millis: 500,
    targets: { cpu: ratioAtMost(2.5) }
  })
]

const setting = {
  reference: a2c,
  subject: twoNodes,
  library: twoNodes,
  others: [],
  client: "light",
  rounds,
  slowServers: false,
  quick: false
} as const
pin(process.pid, processors.load)
for (const { run } of cases) {
  const rows = await run({ ...setting, note: () => undefined })
  process.stdout.write(formatTable(rows, { reference: a2c.name, subject: twoNodes.name, others: [] }))
}
process.exit(0)
