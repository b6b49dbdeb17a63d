import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { startRedis } from "../../fixtures/redis.ts"
import { memoryNodes, redisNodes } from "./cluster.ts"
import { registryContract } from "./contract.ts"

const scope = Scope.makeUnsafe()
let url = ""

beforeAll(async () => {
  const redis = await Effect.runPromise(Scope.provide(startRedis(), scope))
  url = redis.url
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

registryContract("memory", memoryNodes)
registryContract("Redis", () => redisNodes(url))
