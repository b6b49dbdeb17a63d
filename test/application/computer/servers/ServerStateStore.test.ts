import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Option, References } from "effect"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeServerStateStore } from "../../../../src/application/computer/servers/ServerStateStore.ts"
import type { ServerState } from "../../../../src/application/computer/servers/ServersSnapshot.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { setupOf } from "../stage.ts"

const stopped: ServerState = { _tag: "Stopped", reason: "disabled" }

/** A store of two stopped servers, and its log. */
const makeStore = Effect.fnUntraced(function* (configure: { readonly [name: string]: JsonObject } = {}) {
  const logs: Array<readonly [level: string, message: unknown]> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => void logs.push([logLevel, message]))
  const { servers } = setupOf(["alpha", "beta"], { configure }).config
  const session = yield* (yield* makeMemoryMcpServer()).connect
  const store = yield* makeServerStateStore(
    new Map([
      ["alpha", stopped],
      ["beta", stopped]
    ]),
    () => Effect.void
  )
  /** Makes a server ready with tools and resources of these names. */
  const list = (name: string, tools: ReadonlyArray<string>, uris: ReadonlyArray<string> = []) =>
    store
      .updateServer(name, () => ({
        _tag: "Ready",
        config: Option.getOrThrow(Option.fromUndefinedOr(servers[name])),
        session,
        tools: tools.map((tool_) => tool(tool_).definition),
        resources: uris.map((uri) => resource(uri).definition)
      }))
      .pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "All"))
  return { ...store, list, logs }
})

describe("ServerStateStore", () => {
  it.effect("keeps its states when a transition of a server gives none or the same", () =>
    Effect.gen(function* () {
      const { snapshot, updateServer } = yield* makeStore()
      const before = snapshot()
      yield* updateServer("ghost", () => undefined)
      yield* updateServer("alpha", () => undefined)
      yield* updateServer("alpha", (state) => state)
      assert.strictEqual(snapshot(), before)
    })
  )

  it.effect("changes the state of one server", () =>
    Effect.gen(function* () {
      const { snapshot, updateServer } = yield* makeStore()
      yield* updateServer("alpha", () => ({ _tag: "Failed", reason: "forbidden", publicReason: "forbidden" }))
      assert.deepStrictEqual(
        [...snapshot().states],
        [
          ["alpha", { _tag: "Failed", reason: "forbidden", publicReason: "forbidden" }],
          ["beta", stopped]
        ]
      )
    })
  )

  it.effect("waits until the states fulfil a predicate", () =>
    Effect.gen(function* () {
      const { updateServer, waitUntil } = yield* makeStore()
      const waiting = yield* Effect.forkChild(
        waitUntil((states) => states.get("alpha")?._tag === "Starting"),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      assert.isUndefined(waiting.pollUnsafe())
      yield* updateServer("alpha", () => ({ _tag: "Starting", attempt: 1 }))
      yield* Fiber.join(waiting)
    })
  )

  it.effect("logs every hidden tool once, with the level by its reason", () =>
    Effect.gen(function* () {
      const { list, logs } = yield* makeStore({ alpha: { forbidden_tools: ["f"] } })
      yield* list("alpha", ["f", "one", "two"])
      yield* list("beta", ["one"])
      yield* list("beta", ["one", "two"])
      yield* list("beta", ["one", "two", "three"])
      const hidden = (server: string, name: string, reason: string) => [
        "tool hidden",
        { server, tool: name, name, reason }
      ]
      assert.deepStrictEqual(logs, [
        ["Debug", hidden("alpha", "f", "forbidden")],
        ["Warn", hidden("beta", "one", "name_taken")],
        ["Warn", hidden("beta", "two", "name_taken")]
      ])
    })
  )

  it.effect("logs nothing of the tools for a change of the resources", () =>
    Effect.gen(function* () {
      const { list, logs } = yield* makeStore()
      yield* list("alpha", ["t"])
      yield* list("beta", ["t"])
      logs.length = 0
      yield* list("beta", ["t"], ["dpe://host/doc"])
      assert.deepStrictEqual(logs, [])
    })
  )

  it.effect("logs every host conflict once, at most ten for a change", () =>
    Effect.gen(function* () {
      const { list, logs } = yield* makeStore()
      const uris = Array.from({ length: 11 }, (_, index) => `dpe://host${index}/doc`)
      yield* list("alpha", [], uris)
      yield* list("beta", [], uris.slice(0, 1))
      assert.deepStrictEqual(logs, [
        ["Warn", ["document host conflict", { host: "host0", servers: ["alpha", "beta"], using: "alpha" }]]
      ])
      yield* list("beta", [], uris.slice(0, 2))
      assert.lengthOf(logs, 2)
      yield* list("beta", [])
      yield* list("beta", [], uris)
      assert.lengthOf(logs, 12)
    })
  )
})
