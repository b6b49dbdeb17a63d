import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { ModernClient } from "../../../../../src/adapters/mcp/client/modern/ModernClient.ts"
import { subscribe } from "../../../../../src/adapters/mcp/client/modern/subscriptions.ts"

const honoured = { toolsListChanged: true }

describe("subscription that its server closes", () => {
  it.effect("is renewed with a growing delay, until it lasts a minute", () =>
    Effect.gen(function* () {
      const lasting = [0, 30, 59, 60, 0]
      const opened: Array<number> = []
      const client: Pick<ModernClient, "listen" | "markLost"> = {
        markLost: () => assert.fail("the session is lost"),
        listen: (_wanted, onAccepted) =>
          Effect.gen(function* () {
            const seconds = lasting[opened.length]
            opened.push((yield* Clock.currentTimeMillis) / 1000)
            onAccepted(honoured)
            return yield* seconds === undefined ? Effect.never : Effect.as(Effect.sleep(`${seconds} seconds`), {})
          })
      }
      yield* Effect.forkScoped(subscribe(client as ModernClient, { tools: true, resources: false, uris: [] }))
      yield* TestClock.adjust("1 hour")
      const delays = opened.slice(1).map((at, index) => at - (opened[index] ?? 0) - (lasting[index] ?? 0))
      assert.deepStrictEqual(delays, [1, 2, 4, 1, 2])
    }).pipe(Effect.scoped)
  )
})
