import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeLazySession } from "../../../../../src/application/computer/servers/lazy/LazySession.ts"
import { type McpSession, McpSessionError } from "../../../../../src/application/ports/McpSession.ts"

const info = { name: "alpha", version: "1", capabilities: { tools: true, resources: true, subscribe: false } }

const catalogue = { info, tools: [{ name: "kept" }], resources: [{ uri: "kept:" }], prompts: [], templates: [] }

/** The running server, whose pages name their cursor. */
const running: McpSession = {
  info,
  listTools: (cursor) => Effect.succeed({ items: [{ name: `page ${cursor}` }], nextCursor: undefined }),
  listResources: (cursor) => Effect.succeed({ items: [{ uri: `page:${cursor}` }], nextCursor: undefined }),
  readResource: () => Effect.succeed([]),
  callTool: () => Effect.succeed({ content: [] }),
  watch: () => Effect.succeed(Stream.never),
  ping: Effect.void,
  closed: Effect.never
}

const down = new McpSessionError({ reason: "unavailable", message: "down" })

describe("list of an idle lazy server", () => {
  it.effect("is its catalogue", () =>
    Effect.gen(function* () {
      const session = makeLazySession("alpha", catalogue).session()
      assert.deepStrictEqual(yield* session.listTools(), { items: catalogue.tools, nextCursor: undefined })
      assert.deepStrictEqual(yield* session.listResources(), { items: catalogue.resources, nextCursor: undefined })
    })
  )

  for (const [list, item] of [
    ["listTools", { name: "page 2" }],
    ["listResources", { uri: "page:2" }]
  ] as const) {
    it.effect(`starts the server for a further page of ${list}`, () =>
      Effect.gen(function* () {
        const lazy = makeLazySession("alpha", catalogue)
        const listing = yield* Effect.forkChild(lazy.session()[list]("2"))
        yield* lazy.requested
        lazy.onStarted(running)
        assert.deepStrictEqual(yield* Fiber.join(listing), { items: [item], nextCursor: undefined })
      })
    )
  }
})

describe("a lazy server that has started", () => {
  it.effect("starts on request after its end, also where a start has just failed before", () =>
    Effect.gen(function* () {
      const lazy = makeLazySession("alpha", catalogue)
      const first = yield* Effect.forkChild(Effect.flip(lazy.session().readResource("a:")))
      yield* lazy.requested
      yield* lazy.onStartFailed(down)
      assert.include((yield* Fiber.join(first)).message, "did not start: down")
      assert.include((yield* Effect.flip(lazy.session().readResource("a:"))).message, "it can start again in")
      // By a command of the owner.
      lazy.onStarted(running)
      lazy.onLost()
      const next = yield* Effect.forkChild(lazy.session().readResource("a:"))
      yield* TestClock.adjust(0)
      lazy.onStarted(running)
      assert.deepStrictEqual(yield* Fiber.join(next), [])
    })
  )
})

describe("a lazy server that was stopped", () => {
  it.effect("rejects later requests", () =>
    Effect.gen(function* () {
      const lazy = makeLazySession("alpha", catalogue)
      lazy.close()
      const { message } = yield* Effect.flip(lazy.session().readResource("a:"))
      assert.strictEqual(message, "MCP server 'alpha' was stopped")
    })
  )
})
