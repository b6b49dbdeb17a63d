import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import type { TransportClient } from "../../../../src/application/ports/Transport.ts"
import { tool } from "../../../conformance/members.ts"
import { link, staged } from "../stage.ts"

describe("OfficeConnection", () => {
  it.effect("notifies of changes that happened during the join", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("a")] })
      const notified: Array<string> = []
      /** A Server that replies to a join after a second. */
      const transport: TransportClient["Service"] = {
        connect: () =>
          Effect.succeed({
            ...link,
            request: () =>
              alpha
                .setTools([tool("b")])
                .pipe(Effect.andThen(Effect.sleep("1 second")), Effect.as([jsonBody(true), jsonBody(null)])),
            notify: (event) => Effect.sync(() => void notified.push(event))
          })
      }
      const { computer } = yield* staged({ servers: { alpha }, transport })
      yield* TestClock.adjust(0)
      yield* Effect.forkScoped(computer.join({ office: "o" }), { startImmediately: true })
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual([[...(yield* computer.catalogue).entries.keys()], notified], [["b"], []])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(notified, ["server:update_tool_list"])
    })
  )
})
