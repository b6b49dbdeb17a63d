import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, Option, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeServerStateStore } from "../../../../src/application/computer/servers/ServerStateStore.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { initialServer, transition } from "../../../../src/domain/mcpServers/McpServer.ts"
import { transitionOf } from "../../../../src/domain/mcpServers/reload.ts"
import type { ComputerPart } from "../../../../src/domain/model/Notification.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { setupOf } from "../testComputer.ts"

const stopped = initialServer(0, true)

const starting = initialServer(0, false)

/** A store of two stopped servers, its log, and the parts that it announced. */
const makeStore = Effect.fnUntraced(function* (
  configure: { readonly [name: string]: JsonObject } = {},
  initial = stopped
) {
  const notified: Array<ComputerPart> = []
  const logs: Array<readonly [level: string, message: unknown]> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => void logs.push([logLevel, message]))
  const recordLogs = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "All"))
  const { servers } = setupOf(["alpha", "beta"], { configure }).config
  const session = yield* (yield* makeMemoryMcpServer()).connect
  const store = yield* makeServerStateStore(
    new Map([
      ["alpha", initial],
      ["beta", initial]
    ]),
    (part) => Effect.sync(() => void notified.push(part))
  ).pipe(recordLogs)
  /** Makes a server ready with tools and resources of these names. */
  const list = (name: string, tools: ReadonlyArray<string>, uris: ReadonlyArray<string> = []) =>
    recordLogs(
      store.update((all) => {
        const offer = {
          config: Option.getOrThrow(Option.fromUndefinedOr(servers[name])),
          session,
          prompts: [],
          templates: [],
          tools: tools.map((tool_) => tool(tool_).definition),
          resources: uris.map((uri) => resource(uri).definition)
        }
        const ready = transition(initialServer(0, false), { _tag: "Ready", run: 0, offer, at: 0 })[0]
        return [undefined, new Map(all).set(name, ready)]
      })
    )
  return { ...store, list, logs, notified }
})

/** Lets the interval between logs and between notifications pass. */
const passInterval = TestClock.adjust("100 millis")

const hiddenTool = (server: string, name: string, reason: string) => [
  "tool hidden",
  { server, tool: name, name, reason }
]

describe("ServerStateStore", () => {
  it.effect("keeps its states when an event changes none", () =>
    Effect.gen(function* () {
      const { snapshot, update } = yield* makeStore()
      const before = snapshot()
      yield* update((servers) => transitionOf(servers, "ghost", { _tag: "Stop" }))
      yield* update((servers) => transitionOf(servers, "alpha", { _tag: "RetryDue", run: 0 }))
      yield* update((servers) => [undefined, new Map(servers)])
      assert.strictEqual(snapshot(), before)
    })
  )

  it.effect("waits until the servers fulfil a condition", () =>
    Effect.gen(function* () {
      const { update, waitFor } = yield* makeStore()
      const waiting = yield* Effect.forkChild(
        waitFor((servers) => (servers.get("alpha")?._tag === "Starting" ? "starts" : undefined)),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      assert.isUndefined(waiting.pollUnsafe())
      yield* update((servers) => transitionOf(servers, "alpha", { _tag: "Start", run: 1 }))
      assert.strictEqual(yield* Fiber.join(waiting), "starts")
    })
  )

  it.effect("logs every hidden tool once, with the level by its reason", () =>
    Effect.gen(function* () {
      const { list, logs } = yield* makeStore({ alpha: { forbidden_tools: ["f"] } })
      yield* list("alpha", ["f", "one", "two"])
      for (const tools of [["one"], ["one", "two"], ["one", "two", "three"]]) {
        yield* passInterval
        yield* list("beta", tools)
      }
      assert.deepStrictEqual(logs, [
        ["Debug", hiddenTool("alpha", "f", "forbidden")],
        ["Warn", hiddenTool("beta", "one", "name_taken")],
        ["Warn", hiddenTool("beta", "two", "name_taken")]
      ])
    })
  )

  it.effect("logs the hidden tools of later changes after the interval", () =>
    Effect.gen(function* () {
      const { list, logs } = yield* makeStore()
      yield* list("alpha", ["one", "two"])
      yield* list("beta", ["one"])
      yield* list("beta", ["one", "two"])
      assert.deepStrictEqual(logs, [])
      yield* passInterval
      assert.deepStrictEqual(logs, [
        ["Warn", hiddenTool("beta", "one", "name_taken")],
        ["Warn", hiddenTool("beta", "two", "name_taken")]
      ])
    })
  )

  it.effect("logs the last hidden tools when it closes within the interval", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { list, logs } = yield* Scope.provide(makeStore(), scope)
      yield* list("alpha", ["one"])
      yield* list("beta", ["one"])
      assert.deepStrictEqual(logs, [])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(logs, [["Warn", hiddenTool("beta", "one", "name_taken")]])
    })
  )

  it.effect("logs nothing of the tools for a change of the resources", () =>
    Effect.gen(function* () {
      const { list, logs } = yield* makeStore()
      yield* list("alpha", ["t"])
      yield* list("beta", ["t"])
      yield* passInterval
      logs.length = 0
      yield* list("beta", ["t"], ["dpe://host/doc"])
      yield* passInterval
      assert.deepStrictEqual(logs, [])
    })
  )

  it.effect("logs every host conflict once, at most ten at a time", () =>
    Effect.gen(function* () {
      const { list, logs } = yield* makeStore()
      const uris = Array.from({ length: 11 }, (_, index) => `dpe://host${index}/doc`)
      const listLater = (name: string, listed: ReadonlyArray<string>) =>
        Effect.andThen(passInterval, list(name, [], listed))
      yield* listLater("alpha", uris)
      yield* listLater("beta", uris.slice(0, 1))
      assert.deepStrictEqual(logs, [
        ["Warn", ["document host conflict", { host: "host0", servers: ["alpha", "beta"], using: "alpha" }]]
      ])
      yield* listLater("beta", uris.slice(0, 2))
      assert.lengthOf(logs, 2)
      yield* listLater("beta", [])
      yield* listLater("beta", uris)
      assert.lengthOf(logs, 12)
    })
  )

  it.effect("announces the tool list once when a first start attempt ends with tools", () =>
    Effect.gen(function* () {
      const { list, notified } = yield* makeStore({}, starting)
      yield* list("alpha", ["t"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(notified, ["toolList"])
    })
  )

  it.effect("announces the tool list when a first start attempt ends without tools", () =>
    Effect.gen(function* () {
      const { list, notified } = yield* makeStore({}, starting)
      yield* list("alpha", [])
      assert.deepStrictEqual(notified, ["toolList"])
    })
  )

  it.effect("announces the last tool list of a burst after the interval", () =>
    Effect.gen(function* () {
      const { list, notified } = yield* makeStore()
      yield* list("alpha", ["one"])
      yield* list("alpha", ["two"])
      yield* list("beta", ["three"])
      assert.deepStrictEqual(notified, ["toolList"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(notified, ["toolList", "toolList"])
    })
  )
})
