import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { resource } from "../../conformance/members.ts"
import { asked, counted } from "./stage.ts"

describe("documents of MCP servers that hang", () => {
  it.effect("a server of many documents that cannot be read hides no other's", () =>
    Effect.gen(function* () {
      const well = yield* makeMemoryServer({
        resources: [resource("dpe://well/a", ["{}"], { _meta: { page_count: 1 } })]
      })
      const hanging = yield* makeMemoryServer({
        resources: Array.from({ length: 100 }, (_, index) => ({
          listed: { uri: `dpe://slow/${index}`, name: "slow" },
          read: Effect.never
        }))
      })
      const ask = yield* asked({ hanging, well })
      const asking = yield* Effect.forkChild(ask("client:get_finder", {}), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      const answer = asking.pollUnsafe()
      assert.isDefined(answer)
      assert.include(JSON.stringify(answer), '"total_count":1')
    })
  )

  it.effect("a server that does not list is given up, and nothing of the question is left", () =>
    Effect.gen(function* () {
      let open = 0
      const memory = yield* makeMemoryServer({ resources: [resource("window://h/a")] })
      let isHanging = false
      const server = counted(memory, (session) => ({
        ...session,
        listResources: (cursor) =>
          isHanging
            ? Effect.acquireUseRelease(
                Effect.sync(() => void open++),
                () => Effect.never,
                () => Effect.sync(() => void open--)
              )
            : session.listResources(cursor)
      }))
      const ask = yield* asked({ server })
      isHanging = true
      const asking = yield* Effect.forkChild(ask("client:get_resources", { mcp_server: "server" }), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(open, 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(open, 0)
      assert.include(JSON.stringify(yield* Fiber.join(asking)), '"code":500')
    })
  )
})
