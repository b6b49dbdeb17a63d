import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, PubSub, Scope, Stream } from "effect"
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

  it.effect("includes each kind and resource once, for each client", () =>
    Effect.gen(function* () {
      const { connect } = yield* makeMemoryMcpServer({})
      const session = yield* connect
      const changes = yield* PubSub.unbounded<McpChange>()
      const { subscribe } = yield* makeChangeFeed({
        ...session,
        watch: () => Effect.map(PubSub.subscribe(changes), Stream.fromSubscription)
      })
      const sent: ReadonlyArray<Array<string>> = [[], []]
      const scope = yield* Scope.make()
      const receive = (client: number) =>
        subscribe((change) => Effect.sync(() => void sent[client]?.push("uri" in change ? change.uri : change._tag)))
      yield* receive(0)
      yield* Scope.provide(receive(1), scope)
      yield* TestClock.adjust(0)
      const updated = (uri: string): McpChange => ({ _tag: "ResourceUpdated", uri })
      const all = [{ _tag: "ToolsChanged" } as const, updated("a:1"), { _tag: "ToolsChanged" } as const, updated("a:2")]
      yield* PubSub.publishAll(changes, all.slice(0, 2))
      yield* TestClock.adjust("50 millis")
      yield* PubSub.publishAll(changes, all.slice(2))
      yield* TestClock.adjust("49 millis")
      assert.deepStrictEqual(sent, [[], []])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(sent, [
        ["ToolsChanged", "a:1", "a:2"],
        ["ToolsChanged", "a:1", "a:2"]
      ])
      yield* Scope.close(scope, Exit.void)
      yield* PubSub.publish(changes, updated("a:3"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(
        sent.map((received) => received.at(-1)),
        ["a:3", "a:2"]
      )
    })
  )

  it.effect.each([
    [{ tools: true, resources: false, prompts: false }, 1],
    [{ tools: false, resources: true, prompts: false }, 1],
    [{ tools: false, resources: false, prompts: true }, 1],
    [{ tools: true, resources: true, prompts: true }, 1],
    [{ tools: false, resources: false, prompts: false }, 0]
  ] as const)("includes those of all that the session has: %j", ([lists, watches]) =>
    Effect.gen(function* () {
      const session = yield* (yield* makeMemoryMcpServer({})).connect
      const wanted: Array<unknown> = []
      yield* makeChangeFeed({
        ...session,
        info: { ...session.info, capabilities: { ...lists, subscribe: true } },
        watch: (options) => Effect.sync(() => (wanted.push(options), Stream.never))
      })
      assert.deepStrictEqual(
        wanted,
        Array.from({ length: watches }, () => ({ ...lists, uris: [] }))
      )
    })
  )
})
