import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer, type MemoryMcpServerOptions } from "../../../../../src/adapters/memory/MemoryMcp.ts"
import * as MemoryCatalogueStore from "../../../../adapters/catalogues/MemoryCatalogueStore.ts"
import { McpSessionError, type McpSession } from "../../../../../src/application/ports/McpSession.ts"
import { CatalogueStore, CatalogueUnavailable } from "../../../../../src/application/ports/mcp/CatalogueStore.ts"
import type { JsonObject } from "../../../../../src/domain/json.ts"
import { errorCodeOf } from "../../../../../src/domain/tools/errorResults.ts"
import { resource, textResult, tool } from "../../../../conformance/members.ts"
import { firstText } from "../../../../firstText.ts"
import {
  joined,
  link,
  setupOf,
  type TestComputer,
  startedComputer,
  testComputer,
  toolNames
} from "../../testComputer.ts"

const letGo = TestClock.adjust(0)
const window = "window://com.x.app/one"
const lazy = { lifecycle: "lazy", idle: "5m" }

/** A store that outlives Computers, with what was loaded and saved. */
const makeStore = Effect.gen(function* () {
  const kept = Context.get(yield* Layer.build(MemoryCatalogueStore.layer), CatalogueStore)
  const saved: Array<JsonObject> = []
  const store: CatalogueStore["Service"] = {
    load: kept.load,
    save: (key, sealed) =>
      Effect.andThen(
        Effect.sync(() => void saved.push(sealed)),
        kept.save(key, sealed)
      )
  }
  return { store, saved }
})

/** A server whose sessions are counted; its start and its end take time. */
const makeServer = Effect.fnUntraced(function* (options: MemoryMcpServerOptions = { tools: [tool("t")] }) {
  const memory = yield* makeMemoryMcpServer(options)
  const process = {
    starts: 0,
    open: 0,
    maxOpen: 0,
    pings: 0,
    starting: Duration.zero,
    closing: Duration.zero,
    failure: undefined as McpSessionError | undefined,
    /** How long its lists stay fresh, in milliseconds. */
    listLifetime: undefined as number | undefined
  }
  const spawn = Effect.acquireRelease(
    Effect.sync(() => {
      process.starts++
      process.open++
      process.maxOpen = Math.max(process.maxOpen, process.open)
    }),
    () =>
      Effect.andThen(
        Effect.sleep(process.closing),
        Effect.sync(() => void process.open--)
      )
  )
  const initialize = Effect.suspend(() =>
    Effect.andThen(
      Effect.sleep(process.starting),
      process.failure === undefined ? memory.connect : Effect.fail(process.failure)
    )
  )
  const count = (session: McpSession): McpSession => ({
    ...session,
    listLifetime: () => process.listLifetime,
    ping: Effect.suspend(() => {
      process.pings++
      return session.ping
    })
  })
  return { memory, process, connect: Effect.map(Effect.andThen(spawn, initialize), count) }
})

type LazyServer = Effect.Success<ReturnType<typeof makeServer>>

/** A Computer with the lazy server `alpha`, which is listed already. */
const lazily = Effect.fnUntraced(function* (
  given: LazyServer | MemoryMcpServerOptions = { tools: [tool("t")] },
  more: Partial<TestComputer> = {}
) {
  const alpha = "process" in given ? given : yield* makeServer(given)
  const { process } = alpha
  const fixture = yield* startedComputer({ servers: { alpha }, configure: { alpha: lazy }, ...more })
  const { computer } = fixture
  const state = Effect.map(computer.servers, (states) => states.get("alpha"))
  const call = (more: Partial<Parameters<typeof computer.callTool>[0]> = {}) =>
    computer.callTool({ tool: "t", params: {}, ...more })
  const callText = (given: Partial<Parameters<typeof computer.callTool>[0]> = {}) => Effect.map(call(given), firstText)
  return { ...fixture, ...alpha, process, state, call, callText }
})

/** Lists a server once into a store, and forgets that. */
const listed = Effect.fnUntraced(function* (alpha: LazyServer) {
  const { saved, store } = yield* makeStore
  yield* Effect.scoped(lazily(alpha, { catalogues: store }))
  alpha.process.starts = 0
  saved.length = 0
  return { saved, store }
})

describe("first start of a lazy server", () => {
  it.effect("ends once the server is listed", () =>
    Effect.gen(function* () {
      const { computer, process, state } = yield* lazily()
      assert.deepStrictEqual([process.starts, process.open], [1, 0])
      assert.strictEqual((yield* state)?._tag, "Idle")
      assert.deepStrictEqual(yield* toolNames(computer), ["t"])
    })
  )

  it.effect("is repeated with backoff when it fails", () =>
    Effect.gen(function* () {
      const alpha = yield* makeServer()
      alpha.process.failure = new McpSessionError({ reason: "unavailable", message: "no such file" })
      const { process, state } = yield* lazily(alpha)
      const failed = yield* state
      assert.isTrue(failed?._tag === "BackingOff" && failed.reason === "no such file")
      process.failure = undefined
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([(yield* state)?._tag, process.starts, process.open], ["Idle", 2, 0])
    })
  )

  it.effect("waits for other first starts: a few are listed at a time", () =>
    Effect.gen(function* () {
      const alpha = yield* makeServer()
      alpha.process.starting = Duration.seconds(1)
      const servers = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`server-${index}`, alpha]))
      const { computer } = yield* testComputer({ servers, settings: { lifecycle: "lazy" } })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([alpha.process.starts, alpha.process.open, alpha.process.maxOpen], [10, 0, 4])
      assert.isTrue([...(yield* computer.servers).values()].every(({ _tag }) => _tag === "Idle"))
    })
  )

  it.effect("is not needed with a stored catalogue", () =>
    Effect.gen(function* () {
      const alpha = yield* makeServer({ tools: [tool("t")], resources: [resource("file:///x")] })
      const { saved, store } = yield* listed(alpha)
      const { computer, state } = yield* lazily(alpha, { catalogues: store })
      assert.strictEqual(alpha.process.starts, 0)
      assert.deepStrictEqual(yield* toolNames(computer), ["t"])
      const now = yield* state
      assert.deepStrictEqual(now?._tag === "Idle" ? now.resources : undefined, [
        { uri: "file:///x", name: "file:///x" }
      ])
      assert.deepStrictEqual(saved, [])
    })
  )

  it.effect("is not needed again after a stop, even without a store", () =>
    Effect.gen(function* () {
      const { computer, process } = yield* lazily()
      yield* computer.stop("alpha")
      yield* computer.restart("alpha")
      yield* letGo
      assert.deepStrictEqual([yield* toolNames(computer), process.starts], [["t"], 1])
    })
  )

  describe("with a stored catalogue that states how long it is fresh", () => {
    /** Stores a catalogue that is fresh for an hour. */
    const storedForHour = Effect.gen(function* () {
      const alpha = yield* makeServer()
      alpha.process.listLifetime = 3_600_000
      return { alpha, ...(yield* listed(alpha)) }
    })

    it.effect("is not needed before that time", () =>
      Effect.gen(function* () {
        const { alpha, store } = yield* storedForHour
        yield* TestClock.adjust("3599999 millis")
        const { computer } = yield* lazily(alpha, { catalogues: store })
        assert.deepStrictEqual([alpha.process.starts, yield* toolNames(computer)], [0, ["t"]])
      })
    )

    it.effect("lists the server again after that time", () =>
      Effect.gen(function* () {
        const { alpha, saved, store } = yield* storedForHour
        yield* alpha.memory.setTools([tool("u")])
        yield* TestClock.adjust("1 hour")
        const { computer, process } = yield* lazily(alpha, { catalogues: store })
        assert.deepStrictEqual([process.starts, process.open, yield* toolNames(computer)], [1, 0, ["u"]])
        assert.strictEqual(saved.length, 1)
      })
    )

    it.effect("keeps the catalogue when the server cannot be listed", () =>
      Effect.gen(function* () {
        const { alpha, store } = yield* storedForHour
        alpha.process.failure = new McpSessionError({ reason: "unavailable", message: "no such file" })
        yield* TestClock.adjust("1 hour")
        const { computer, logs, state } = yield* lazily(alpha, { catalogues: store })
        assert.deepStrictEqual([(yield* state)?._tag, yield* toolNames(computer)], ["Idle", ["t"]])
        assert.include(logs.join(), "expired catalogue kept")
        assert.include(logs.join(), "no such file")
      })
    )

    it.effect("keeps the catalogue when the server does not answer within ten seconds", () =>
      Effect.gen(function* () {
        const { alpha, store } = yield* storedForHour
        alpha.process.starting = Duration.minutes(1)
        yield* TestClock.adjust("1 hour")
        const { computer, process } = yield* lazily(alpha, { catalogues: store })
        assert.deepStrictEqual(yield* toolNames(computer), [])
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual([process.open, yield* toolNames(computer)], [0, ["t"]])
      })
    )

    it.effect("is fresh for that time again after the server has run", () =>
      Effect.gen(function* () {
        const { alpha, store } = yield* storedForHour
        yield* TestClock.adjust("40 minutes")
        const before = yield* lazily(alpha, { catalogues: store })
        assert.strictEqual(yield* before.callText(), "t")
        yield* TestClock.adjust("40 minutes")
        const { process } = yield* lazily(alpha, { catalogues: store })
        assert.strictEqual(process.starts, 1)
        yield* TestClock.adjust("20 minutes")
        yield* lazily(alpha, { catalogues: store })
        assert.strictEqual(process.starts, 2)
      })
    )
  })

  const ignores = (title: string, change: (sealed: JsonObject) => JsonObject, reason: string) =>
    it.effect(`is needed when the stored catalogue ${title}`, () =>
      Effect.gen(function* () {
        const alpha = yield* makeServer()
        const { saved, store } = yield* listed(alpha)
        const load: typeof store.load = (key) =>
          Effect.map(store.load(key), (sealed) => (sealed === undefined ? undefined : change(sealed)))
        const { computer, logs } = yield* lazily(alpha, { catalogues: { ...store, load } })
        assert.deepStrictEqual([alpha.process.starts, yield* toolNames(computer)], [1, ["t"]])
        assert.include(logs.join(), "stored catalogue ignored")
        assert.include(logs.join(), reason)
        assert.strictEqual(saved.length, 1)
      })
    )
  const catalogue = { info: {}, tools: [], resources: [] }
  ignores("was changed", (sealed) => ({ ...sealed, catalogue }), "its digest is not that of its content")
  ignores("has no digest", ({ sha256: _, ...sealed }) => sealed, "sha256")
  ignores("is another object", () => ({ hello: 1 }), "sha256")

  it.effect("is needed when the store cannot be read", () =>
    Effect.gen(function* () {
      const failure = new CatalogueUnavailable({ message: "cannot read the file" })
      const catalogues = { load: () => Effect.fail(failure), save: () => Effect.fail(failure) }
      const { computer, logs } = yield* lazily(undefined, { catalogues })
      assert.deepStrictEqual(yield* toolNames(computer), ["t"])
      assert.include(logs.join(), "stored catalogue ignored")
      assert.include(logs.join(), "catalogue not stored")
    })
  )

  it.effect("stores no catalogue with the value of an input", () =>
    Effect.gen(function* () {
      const secret = "hunter2-of-production"
      const { saved, store } = yield* makeStore
      const configure = { alpha: { ...lazy, server_parameters: { command: "x", env: { TOKEN: "${env:TOKEN}" } } } }
      const leaky = tool("t", undefined, { description: `uses ${secret}` })
      const environment = { TOKEN: secret }
      const { computer, logs } = yield* lazily({ tools: [leaky] }, { catalogues: store, configure, environment })
      assert.deepStrictEqual([saved, yield* toolNames(computer)], [[], ["t"]])
      assert.include(logs.join(), "it holds the value of an input")
      assert.notInclude(logs.join(), secret)
    })
  )

  it.effect("resolves no input before a request when the catalogue is stored", () =>
    Effect.gen(function* () {
      const alpha = yield* makeServer()
      const configure = { alpha: { ...lazy, server_parameters: { command: "x", args: ["${input:key}"] } } }
      const inputs = [{ type: "promptString", id: "key" }]
      const { store } = yield* makeStore
      const environment = { A2C_SMCP_KEY: "v" }
      yield* Effect.scoped(lazily(alpha, { catalogues: store, configure, inputs, environment }))
      alpha.process.starts = 0
      const { callText, state } = yield* lazily(alpha, { catalogues: store, configure, inputs })
      assert.strictEqual((yield* state)?._tag, "Idle")
      assert.include(yield* callText(), "MCP server 'alpha' did not start: ")
      assert.strictEqual(alpha.process.starts, 0)
    })
  )
})

describe("request to a lazy server", () => {
  it.effect("starts the server, which stops after its idle time", () =>
    Effect.gen(function* () {
      const { computer, callText, process, state } = yield* lazily()
      assert.strictEqual(yield* callText(), "t")
      assert.deepStrictEqual([process.starts, process.open, (yield* state)?._tag], [2, 1, "Ready"])
      yield* TestClock.adjust("299 seconds")
      assert.strictEqual(process.open, 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([process.open, (yield* state)?._tag], [0, "Idle"])
      assert.deepStrictEqual(yield* toolNames(computer), ["t"])
      assert.strictEqual(yield* callText(), "t")
      assert.strictEqual(process.starts, 3)
    })
  )

  it.effect("resets the idle time", () =>
    Effect.gen(function* () {
      const { callText, process } = yield* lazily()
      for (let time = 0; time < 5; time++) {
        yield* callText()
        yield* TestClock.adjust("4 minutes")
      }
      assert.deepStrictEqual([process.starts, process.open], [2, 1])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(process.open, 0)
    })
  )

  it.effect("keeps the server running for longer than the idle time", () =>
    Effect.gen(function* () {
      const slow = tool("t", () => Effect.delay(Effect.succeed(textResult("late")), "17 minutes"))
      const { callText, process } = yield* lazily({ tools: [slow] })
      const fiber = yield* Effect.forkChild(callText({ timeout: Duration.hours(1) }), { startImmediately: true })
      yield* TestClock.adjust("17 minutes")
      assert.strictEqual(yield* Fiber.join(fiber), "late")
      yield* TestClock.adjust("299 seconds")
      assert.strictEqual(process.open, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(process.open, 0)
    })
  )

  it.effect("shares a start with concurrent ones", () =>
    Effect.gen(function* () {
      const { callText, process } = yield* lazily()
      process.starting = Duration.seconds(2)
      const calls = Effect.all([callText(), callText(), callText()], { concurrency: "unbounded" })
      const fiber = yield* Effect.forkChild(calls, { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["t", "t", "t"])
      assert.deepStrictEqual([process.starts, process.maxOpen], [2, 1])
    })
  )

  it.effect("times out during a start, which continues for later ones", () =>
    Effect.gen(function* () {
      const { call, callText, process } = yield* lazily()
      process.starting = Duration.seconds(20)
      const fiber = yield* Effect.forkChild(call({ timeout: Duration.seconds(5) }), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(errorCodeOf(yield* Fiber.join(fiber)), 4004)
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(yield* callText(), "t")
      assert.strictEqual(process.starts, 2)
    })
  )

  it.effect("leaves no process behind when it is interrupted during the start", () =>
    Effect.gen(function* () {
      const { call, process, state } = yield* lazily()
      process.starting = Duration.seconds(20)
      const fiber = yield* Effect.forkChild(call(), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual([process.starts, process.open, (yield* state)?._tag], [2, 0, "Idle"])
    })
  )

  it.effect("runs in the next process when it arrives at the moment of the stop", () =>
    Effect.gen(function* () {
      const { callText, process } = yield* lazily()
      yield* callText()
      process.closing = Duration.seconds(2)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(process.open, 1)
      const fiber = yield* Effect.forkChild(callText(), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), "t")
      assert.deepStrictEqual([process.starts, process.maxOpen], [3, 1])
      process.closing = Duration.zero
    })
  )

  it.effect("never fails when it arrives around the end of the idle time", () =>
    Effect.gen(function* () {
      const { callText, process } = yield* lazily()
      process.closing = Duration.millis(3)
      process.starting = Duration.millis(2)
      yield* Effect.forEach(
        Array.from({ length: 40 }, (_, index) => index - 20),
        Effect.fnUntraced(function* (offset) {
          const first = yield* Effect.forkChild(callText(), { startImmediately: true })
          yield* TestClock.adjust(10)
          assert.strictEqual(yield* Fiber.join(first), "t")
          const second = yield* Effect.forkChild(Effect.delay(callText(), Duration.millis(300_000 - 10 + offset)), {
            startImmediately: true
          })
          yield* TestClock.adjust("6 minutes")
          assert.strictEqual(yield* Fiber.join(second), "t")
          yield* TestClock.adjust("6 minutes")
        })
      )
      assert.deepStrictEqual([process.open, process.maxOpen], [0, 1])
      process.closing = Duration.zero
    })
  )

  it.effect("waits longer after each failed start, and from the beginning after a success", () =>
    Effect.gen(function* () {
      const { callText, process } = yield* lazily()
      const failure = new McpSessionError({ reason: "unavailable", message: "no such file" })
      /** The seconds until the next start, after this many failed ones. */
      const waitAfter = Effect.fnUntraced(function* (failures: number) {
        process.failure = failure
        for (let count = 0; count < failures; count++) {
          yield* TestClock.adjust("1 minute")
          yield* callText()
        }
        return Number(/again in (\d+) s/.exec((yield* callText()) ?? "")?.[1])
      })
      assert.isAbove(yield* waitAfter(5), 2)
      process.failure = undefined
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* callText(), "t")
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual(yield* waitAfter(1), 1)
    })
  )

  it.effect("fails with the reason when the server does not start, and starts it again later", () =>
    Effect.gen(function* () {
      const { callText, process, state } = yield* lazily()
      process.failure = new McpSessionError({ reason: "unavailable", message: "no such file" })
      assert.strictEqual(yield* callText(), "MCP server 'alpha' did not start: no such file")
      const idle = yield* state
      assert.isTrue(idle?._tag === "Idle" && idle.failure?.reason === "no such file")
      process.failure = undefined
      for (let time = 0; time < 3; time++) {
        assert.strictEqual(
          yield* callText(),
          "MCP server 'alpha' did not start: no such file; it can start again in 1 s"
        )
      }
      assert.strictEqual(process.starts, 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* callText(), "t")
      const ready = yield* state
      assert.deepStrictEqual([ready?._tag, process.starts], ["Ready", 3])
    })
  )

  it.effect("waits at most ten seconds longer for each failed start", () =>
    Effect.gen(function* () {
      const { call, process } = yield* lazily()
      process.failure = new McpSessionError({ reason: "unavailable", message: "no" })
      process.starts = 0
      const begin = yield* Clock.currentTimeMillis
      while ((yield* Clock.currentTimeMillis) - begin < 60_000) {
        yield* call()
        yield* TestClock.adjust(100)
      }
      assert.isTrue(process.starts >= 8 && process.starts <= 11, String(process.starts))
    })
  )

  it.effect("tells that the owner must authorize the server", () =>
    Effect.gen(function* () {
      const { call, process } = yield* lazily()
      process.failure = new McpSessionError({ reason: "unauthorized", message: "log in" })
      assert.strictEqual(errorCodeOf(yield* call()), 4006)
    })
  )

  it.effect("fails once when the server is lost, and the next one starts it", () =>
    Effect.gen(function* () {
      const dying = yield* Deferred.make<void>()
      const t = tool("t", () => Effect.andThen(Deferred.succeed(dying, undefined), Effect.never))
      const { call, computer, callText, memory, process, state } = yield* lazily({ tools: [t] })
      const fiber = yield* Effect.forkChild(call(), { startImmediately: true })
      yield* Deferred.await(dying)
      yield* memory.crash("exit code 1")
      assert.isTrue((yield* Fiber.join(fiber)).isError)
      yield* letGo
      const now = yield* state
      assert.isTrue(now?._tag === "Idle" && now.failure?.reason === "exit code 1")
      assert.deepStrictEqual([yield* toolNames(computer), process.open], [["t"], 0])
      yield* memory.setTools([tool("t")])
      assert.strictEqual(yield* callText(), "t")
      assert.strictEqual(process.starts, 3)
    })
  )

  it.effect("fails when its server is stopped during the start", () =>
    Effect.gen(function* () {
      const { computer, callText, process } = yield* lazily()
      process.starting = Duration.seconds(20)
      const fiber = yield* Effect.forkChild(callText(), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* computer.stop("alpha")
      assert.strictEqual(yield* Fiber.join(fiber), "MCP server 'alpha' was stopped")
      yield* letGo
      assert.strictEqual(process.open, 0)
    })
  )

  it.effect("is the command that starts a server", () =>
    Effect.gen(function* () {
      const { computer, process, state } = yield* lazily()
      yield* computer.start("alpha")
      assert.deepStrictEqual([process.starts, (yield* state)?._tag], [2, "Ready"])
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(process.open, 0)
    })
  )

  it.effect("is no ping", () =>
    Effect.gen(function* () {
      const { callText, process } = yield* lazily()
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([process.starts, process.pings], [1, 0])
      yield* callText()
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([process.starts, process.open], [2, 0])
      assert.isAbove(process.pings, 5)
      assert.isAtMost(process.pings, 10)
    })
  )

  it.effect("ends with the idle time of the Computer unless the server has another one", () =>
    Effect.gen(function* () {
      const alpha = yield* makeServer()
      const settings = { lifecycle: "lazy", idle: Duration.seconds(7) } as const
      const { callText } = yield* lazily(alpha, { configure: {}, settings })
      yield* callText()
      yield* TestClock.adjust("7 seconds")
      assert.deepStrictEqual([alpha.process.starts, alpha.process.open], [2, 0])
    })
  )
})

describe("catalogue of a lazy server", () => {
  /** A Computer in an office with a stored catalogue, and the parts that it announces. */
  const announcing = Effect.fnUntraced(function* (alpha: LazyServer, store: CatalogueStore["Service"]) {
    const events: Array<string> = []
    const record = (event: string) => Effect.sync(() => void events.push(event))
    const office = yield* joined(
      { servers: { alpha }, configure: { alpha: lazy }, catalogues: store },
      Effect.succeed({ ...link, notify: (event) => record(event) })
    )
    yield* TestClock.adjust("1 second")
    events.length = 0
    const call = office.computer.callTool({ tool: "t", params: {} })
    return { ...office, events, call }
  })

  it.effect("is corrected by a start, announced and stored once", () =>
    Effect.gen(function* () {
      const alpha = yield* makeServer()
      const { saved, store } = yield* listed(alpha)
      yield* alpha.memory.setTools([tool("t"), tool("added")])
      const { call, computer, events } = yield* announcing(alpha, store)
      assert.deepStrictEqual([yield* toolNames(computer), alpha.process.starts], [["t"], 0])
      yield* call
      yield* TestClock.adjust("10 minutes")
      yield* call
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* toolNames(computer), ["t", "added"])
      assert.deepStrictEqual(events, ["server:update_tool_list"])
      assert.strictEqual(saved.length, 1)
      const next = yield* lazily(alpha, { catalogues: store })
      assert.deepStrictEqual(yield* toolNames(next.computer), ["t", "added"])
      assert.strictEqual(alpha.process.starts, 2)
    })
  )

  it.effect("follows the changes that a running server announces", () =>
    Effect.gen(function* () {
      const alpha = yield* makeServer()
      const { saved, store } = yield* listed(alpha)
      const { call, computer, events } = yield* announcing(alpha, store)
      yield* call
      yield* alpha.memory.setTools([tool("t"), tool("added")])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(events, ["server:update_tool_list"])
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual([yield* toolNames(computer), saved.length], [["t", "added"], 1])
    })
  )

  it.effect("has the capabilities of the last start", () =>
    Effect.gen(function* () {
      const store = (yield* makeStore).store
      const capabilities = { subscribe: false }
      yield* Effect.scoped(lazily({ tools: [tool("t")], capabilities }, { catalogues: store }))
      const { callText, state } = yield* lazily(undefined, { catalogues: store })
      const subscribes = Effect.map(state, (now) =>
        now !== undefined && "session" in now ? now.session.info.capabilities.subscribe : undefined
      )
      assert.isFalse(yield* subscribes)
      yield* callText()
      assert.isTrue(yield* subscribes)
    })
  )
})

describe("consent to a call of a lazy server", () => {
  const consenting = Effect.fnUntraced(function* (settings: TestComputer["settings"] = {}) {
    const alpha = yield* makeServer()
    const { store } = yield* listed(alpha)
    const prompted: Array<number> = []
    const confirm = () =>
      Effect.sync(() => {
        prompted.push(alpha.process.starts)
        return { action: "allow", scope: "tool" } as const
      })
    const fixture = yield* lazily(alpha, { catalogues: store, settings: { confirm, ...settings } })
    return { ...fixture, alpha, prompted }
  })

  it.effect("is asked for before the start", () =>
    Effect.gen(function* () {
      const { callText, prompted } = yield* consenting()
      assert.strictEqual(yield* callText({ requester: "a" }), "t")
      assert.deepStrictEqual(prompted, [0])
    })
  )

  const redefined = tool("t", undefined, { description: "erases the disk" })

  it.effect.each<[string, TestComputer["settings"]]>([
    ["of a person", {}],
    ["by a pattern", { approve: ["t"] }]
  ])("%s does not run a tool that the start finds changed", ([, settings]) =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const { alpha, call, callText } = yield* consenting(settings)
      yield* alpha.memory.setTools([{ ...redefined, run: () => Effect.sync(() => (ran.push("t"), textResult("t"))) }])
      assert.strictEqual(errorCodeOf(yield* call({ requester: "a" })), 4002)
      assert.deepStrictEqual(ran, [])
      assert.strictEqual(yield* callText({ requester: "a" }), "t")
    })
  )

  it.effect("is not needed by the owner, who runs the tool as it is", () =>
    Effect.gen(function* () {
      const { alpha, callText } = yield* consenting()
      yield* alpha.memory.setTools([redefined])
      assert.strictEqual(yield* callText(), "t")
    })
  )
})

describe("window or document of a lazy server", () => {
  const resources = [
    resource(window),
    resource("dpe://com.x.app/counted", ["T"], { _meta: { page_count: 3 } }),
    resource("dpe://com.x.app/uncounted", ['{"page_count": 1}'])
  ]
  const stocked = Effect.gen(function* () {
    const alpha = yield* makeServer({ tools: [tool("t")], resources })
    const { store } = yield* listed(alpha)
    const events: Array<string> = []
    const { request, computer, logs } = yield* joined(
      {
        servers: { alpha },
        configure: { alpha: lazy },
        catalogues: store,
        settings: { resolveDpe: () => Effect.succeed({ uri: "https://x/1" }) }
      },
      Effect.succeed({ ...link, notify: (event) => Effect.sync(() => void events.push(event)) })
    )
    yield* TestClock.adjust("1 second")
    events.length = 0
    return { request, computer, events, logs, process: alpha.process, memory: alpha.memory }
  })

  it.effect("is not on the desktop while the server is idle, and reading the desktop does not start it", () =>
    Effect.gen(function* () {
      const { computer, logs, process } = yield* stocked
      assert.deepStrictEqual([yield* computer.desktop({}), process.starts], [[], 0])
      assert.notInclude(logs.join(), "WARN")
    })
  )

  it.effect("is on the desktop while the server runs, and reading the desktop does not keep it running", () =>
    Effect.gen(function* () {
      const { computer, events, process } = yield* stocked
      yield* computer.callTool({ tool: "t", params: {} })
      for (let minute = 0; minute < 5; minute++) {
        assert.strictEqual((yield* computer.desktop({})).length, 1)
        yield* TestClock.adjust("1 minute")
      }
      assert.deepStrictEqual([process.open, yield* computer.desktop({})], [0, []])
      assert.deepStrictEqual(events, ["server:update_desktop", "server:update_desktop"])
    })
  )

  it.effect.each([
    ["it is requested by its URI", "client:get_desktop", { window }, { desktops: [`${window}\n\nT`] }],
    ["its location is requested", "client:get_dpe", { uri: "dpe://com.x.app/counted" }, { uri: "https://x/1" }]
  ] as const)("starts the server when %s", ([, event, fields, expected]) =>
    Effect.gen(function* () {
      const { request, process } = yield* stocked
      assert.deepInclude(yield* request(event, fields), expected)
      assert.strictEqual(process.starts, 1)
    })
  )

  it.effect("is found and listed from the catalogue", () =>
    Effect.gen(function* () {
      const { request, process } = yield* stocked
      const found = yield* request("client:get_finder", { keyword: "counted" })
      assert.include(JSON.stringify(found), "dpe://com.x.app/counted")
      assert.notInclude(JSON.stringify(found), "dpe://com.x.app/uncounted")
      const listing = yield* request("client:get_resources", { mcp_server: "alpha" })
      assert.include(JSON.stringify(listing), "dpe://com.x.app/uncounted")
      assert.strictEqual(process.starts, 0)
    })
  )

  it.effect("has a subscription only while the server runs", () =>
    Effect.gen(function* () {
      const { computer, memory } = yield* stocked
      assert.deepStrictEqual([...memory.subscriptions()], [])
      yield* computer.callTool({ tool: "t", params: {} })
      yield* letGo
      assert.include([...memory.subscriptions()], window)
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual([...memory.subscriptions()], [])
    })
  )
})

describe("prompt of a lazy server", () => {
  it.effect("is listed from the catalogue, and starts the server when it is requested", () =>
    Effect.gen(function* () {
      const alpha = yield* makeServer({
        capabilities: { prompts: true },
        answer: (method, { name }) =>
          Effect.succeed(method === "prompts/list" ? { prompts: [{ name: "greet" }] } : { messages: [], name })
      })
      const { store } = yield* listed(alpha)
      const fixture = { servers: { alpha }, configure: { alpha: lazy }, catalogues: store }
      const { computer } = yield* startedComputer(fixture)
      const state = (yield* computer.servers).get("alpha")
      if (state?._tag !== "Idle") return assert.fail(`the state is ${state?._tag}`)
      const { prompts, session } = state
      assert.deepStrictEqual([prompts, alpha.process.starts], [[{ name: "greet" }], 0])
      const send = session.request ?? (() => Effect.die("no requests"))
      assert.strictEqual((yield* Effect.flip(send("completion/complete", {}))).reason, "unsupported")
      assert.strictEqual(alpha.process.starts, 0)
      assert.deepStrictEqual(yield* send("prompts/get", { name: "greet" }), { messages: [], name: "greet" })
      assert.strictEqual(alpha.process.starts, 1)
    })
  )
})

describe("a lazy server with changed settings", () => {
  /** Changes settings of the server that need no restart. */
  const reconfiguring = Effect.map(lazily(), (world) => ({
    ...world,
    change: (settings: JsonObject) =>
      Effect.andThen(
        world.computer.reconfigure(setupOf(["alpha"], { configure: { alpha: { ...lazy, ...settings } } })),
        letGo
      )
  }))
  const renamed = { tool_meta: { t: { alias: "renamed" } } }

  it.effect("shows them at once while it is idle, without a process, and keeps them when it is idle again", () =>
    Effect.gen(function* () {
      const { change, computer, process, state } = yield* reconfiguring
      yield* change(renamed)
      assert.deepStrictEqual([yield* toolNames(computer), process.starts], [["renamed"], 1])
      yield* computer.callTool({ tool: "renamed", params: {} })
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual([(yield* state)?._tag, process.starts], ["Idle", 2])
      assert.deepStrictEqual(yield* toolNames(computer), ["renamed"])
    })
  )

  it.effect("takes its idle time from them, also while it runs", () =>
    Effect.gen(function* () {
      const { call, change, process } = yield* reconfiguring
      yield* call()
      yield* change({ idle: "10m" })
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(process.open, 1)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(process.open, 0)
    })
  )
})

describe("lifecycle of a server", () => {
  it.effect.each<[string, Partial<TestComputer>]>([
    ["is eager unless configured", { configure: {} }],
    [
      "is that of its configuration before that of the Computer",
      { configure: { alpha: { lifecycle: "eager" } }, settings: { lifecycle: "lazy" } }
    ]
  ])("%s", ([, fixture]) =>
    Effect.gen(function* () {
      const { process } = yield* lazily(undefined, fixture)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([process.starts, process.open], [1, 1])
    })
  )

  it.effect("changes with the configuration", () =>
    Effect.gen(function* () {
      const { computer, process, state } = yield* lazily(undefined, { configure: {} })
      const { config, variables } = yield* computer.setup
      const change = Effect.fnUntraced(function* (lifecycle: "lazy" | "eager") {
        const alpha = config.servers["alpha"]
        if (alpha === undefined) return
        yield* computer.reconfigure({ config: { ...config, servers: { alpha: { ...alpha, lifecycle } } }, variables })
        yield* letGo
      })
      yield* change("lazy")
      assert.deepStrictEqual([(yield* state)?._tag, process.open], ["Idle", 0])
      yield* change("eager")
      assert.deepStrictEqual([(yield* state)?._tag, process.open], ["Ready", 1])
    })
  )
})
