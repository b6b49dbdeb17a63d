/**
 * Measures the CPU time of a call between two Servers, compared with a call at one Server: both Servers and Redis together. Needs redis-server, or its path in REDIS_SERVER; Linux only.
 * Usage: node bench/cluster.ts [ROUNDS]
 */
import { Effect, Exit, Scope } from "effect"
import { startRedis } from "../test/fixtures/redis.ts"
import { compareCalls } from "./compareCalls.ts"
import { cpuTimeOf } from "./cpuTime.ts"
import { type Child, startChild } from "./relay/Child.ts"
import { library as a2c, type ServerKind } from "./relay/kinds.ts"
import { pin, processors } from "./relay/pinning.ts"

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

await compareCalls(
  { reference: a2c, subject: twoNodes },
  { small: { pairs: 16, target: 4 }, large: { pairs: 4, target: 2.5 } }
)
process.exit(0)
