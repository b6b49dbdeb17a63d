import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { resource } from "../../../conformance/members.ts"
import { asked, counted } from "../stage.ts"

describe("unresponsive MCP server", () => {
  it.effect("never hides the documents of other servers", () =>
    Effect.gen(function* () {
      const well = yield* makeMemoryMcpServer({
        resources: [resource("dpe://well/a", ["{}"], { _meta: { page_count: 1 } })]
      })
      const hanging = yield* makeMemoryMcpServer({
        resources: Array.from({ length: 100 }, (_, index) => ({
          definition: { uri: `dpe://slow/${index}`, name: "slow" },
          read: Effect.never
        }))
      })
      const request = yield* asked({ hanging, well })
      const pending = yield* Effect.forkChild(request("client:get_finder", {}), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      const answer = pending.pollUnsafe()
      assert.isDefined(answer)
      assert.include(JSON.stringify(answer), '"total_count":1')
    })
  )

  it.effect("fails a listing with 500 after the timeout and stops it", () =>
    Effect.gen(function* () {
      let open = 0
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://h/a")] })
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
      const request = yield* asked({ server })
      isHanging = true
      const pending = yield* Effect.forkChild(request("client:get_resources", { mcp_server: "server" }), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(open, 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(open, 0)
      assert.include(JSON.stringify(yield* Fiber.join(pending)), '"code":500')
    })
  )
})
