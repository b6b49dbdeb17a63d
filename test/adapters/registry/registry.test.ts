import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe } from "vitest"
import { startRedis, withoutRedis } from "../../fixtures/redis.ts"
import { memoryNodes, withRetries, redisNodes, workerNodes } from "./cluster.ts"
import { registryContract } from "./contract.ts"

registryContract("memory", memoryNodes)
registryContract("workers", workerNodes)

describe.skipIf(withoutRedis)("with Redis", () => {
  const scope = Scope.makeUnsafe()
  let url = ""

  beforeAll(async () => {
    const redis = await Effect.runPromise(Scope.provide(startRedis, scope))
    url = redis.url
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  registryContract("Redis", () => withRetries(redisNodes(url)))
})
