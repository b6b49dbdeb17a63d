import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeChangeFeed } from "../../../../src/adapters/mcp/publish/ChangeFeed.ts"
import type { McpChange } from "../../../../src/application/ports/McpSession.ts"
import { resource, tool } from "../../../conformance/members.ts"

describe("changes for a client", () => {
  it.effect("includes those that happen while others are sent", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ tools: [tool("a")], resources: [resource("a:1")] })
      const { subscribe } = yield* makeChangeFeed(yield* memory.connect)
      const sent: Array<McpChange["_tag"]> = []
      yield* subscribe(({ _tag }) => {
        sent.push(_tag)
        return _tag === "ToolsChanged"
          ? Effect.andThen(memory.setResources([resource("a:2")]), Effect.sleep("1 second"))
          : Effect.void
      })
      yield* TestClock.adjust(0)
      yield* memory.setTools([tool("b")])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(sent, ["ToolsChanged", "ResourcesChanged"])
    })
  )
})
