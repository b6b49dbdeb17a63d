import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Option, Queue, Stream, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import { makeLazyControl } from "../../../../../src/application/computer/servers/lazy/LazySession.ts"
import type { OfferedServer } from "../../../../../src/application/computer/servers/ServersSnapshot.ts"
import { type McpSession, McpSessionError } from "../../../../../src/application/ports/McpSession.ts"
import {
  initialServer,
  type McpServer,
  type McpServerEvent,
  type McpServerWork,
  transition
} from "../../../../../src/domain/mcpServers/McpServer.ts"
import type { ServerCatalogue } from "../../../../../src/domain/tools/ServerCatalogue.ts"
import { setupOf } from "../../testComputer.ts"

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

/** A lazy server that is idle, and the events of its run. */
const idle = Effect.fnUntraced(function* (known: ServerCatalogue = catalogue) {
  const { alpha: config = assert.fail() } = setupOf(["alpha"]).config.servers
  const servers = yield* SubscriptionRef.make<McpServer<OfferedServer>>(initialServer(1, false))
  const works = yield* Queue.unbounded<McpServerWork>()
  const send = (decide: () => McpServerEvent<OfferedServer> | undefined) =>
    SubscriptionRef.modify(servers, (server) => {
      const event = decide()
      const [next, commands] = event === undefined ? [server, []] : transition(server, event)
      return [commands.find((command) => command._tag === "Open"), next]
    })
  const control = makeLazyControl({
    name: "alpha",
    run: 1,
    server: () => SubscriptionRef.getUnsafe(servers),
    waitFor: (select) =>
      SubscriptionRef.changes(servers).pipe(
        Stream.map(select),
        Stream.filter((selected) => selected !== undefined),
        Stream.runHead,
        Effect.map(Option.getOrThrow)
      ),
    send,
    launch: (work) => (work === undefined ? Effect.void : Effect.asVoid(Queue.offer(works, work)))
  })
  const { info: knownInfo, ...listings } = known
  const offer = { config, session: control.sessionOf(knownInfo), ...listings, lazyControl: control }
  const end = { failure: { reason: down.reason, message: down.message }, jitter: 0.2 }
  /** Without a request of a test, the owner starts the server. */
  const requested = send(() => ({ _tag: "Requested", run: 1, at: Number.POSITIVE_INFINITY }))
  yield* send(() => ({ _tag: "Listed", run: 1, offer }))
  return {
    session: () => offer.session,
    /** Waits for a request that starts the server. */
    requested: Queue.take(works),
    onStarted: (live: McpSession) =>
      Effect.andThen(
        requested,
        send(() => ({ _tag: "Ready", run: 1, offer: { ...offer, lazyControl: { ...control, live } }, at: 0 }))
      ),
    onStartFailed: Effect.andThen(
      requested,
      Effect.flatMap(Clock.currentTimeMillis, (at) => send(() => ({ _tag: "StartFailed", run: 1, at, ...end })))
    ),
    onLost: send(() => ({ _tag: "Lost", run: 1, at: 0, ...end })),
    stop: send(() => ({ _tag: "Stop" }))
  }
})

describe("list of an idle lazy server", () => {
  it.effect("is its catalogue", () =>
    Effect.gen(function* () {
      const session = (yield* idle()).session()
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
        const lazy = yield* idle()
        const listing = yield* Effect.forkChild(lazy.session()[list]("2"))
        yield* lazy.requested
        yield* lazy.onStarted(running)
        assert.deepStrictEqual(yield* Fiber.join(listing), { items: [item], nextCursor: undefined })
      })
    )
  }
})

describe("a lazy server that has started", () => {
  it.effect("starts on request after its end, also where a start has just failed before", () =>
    Effect.gen(function* () {
      const lazy = yield* idle()
      const first = yield* Effect.forkChild(Effect.flip(lazy.session().readResource("a:")))
      yield* lazy.requested
      yield* lazy.onStartFailed
      assert.include((yield* Fiber.join(first)).message, "did not start: down")
      assert.include((yield* Effect.flip(lazy.session().readResource("a:"))).message, "it can start again in")
      // By a command of the owner.
      yield* lazy.onStarted(running)
      yield* lazy.onLost
      const next = yield* Effect.forkChild(lazy.session().readResource("a:"))
      yield* TestClock.adjust(0)
      yield* lazy.onStarted(running)
      assert.deepStrictEqual(yield* Fiber.join(next), [])
    })
  )
})

describe("request to a lazy server", () => {
  const responder = { modes: ["form"], answer: () => Effect.never } as const
  const options = { responder, onProgress: () => Effect.void }
  const params = { name: "greet", arguments: { who: "Ada" } }

  it.effect("reaches the running server as it is", () =>
    Effect.gen(function* () {
      const received: Array<ReadonlyArray<unknown>> = []
      const record =
        <A>(method: string, result: A) =>
        (...args: ReadonlyArray<unknown>) =>
          Effect.sync(() => (received.push([method, ...args]), result))
      const page = { items: [{ name: "a" }], nextCursor: "3" }
      const recording: McpSession = {
        ...running,
        listTools: record("listTools", page),
        listResources: record("listResources", page),
        readResource: record("readResource", [{ uri: "a:" }]),
        callTool: record("callTool", { content: [{ type: "text" }] }),
        request: record("request", { answered: true }),
        watch: record("watch", Stream.never)
      }
      const prompting = { ...catalogue, info: { ...info, capabilities: { ...info.capabilities, prompts: true } } }
      const lazy = yield* idle(prompting)
      yield* lazy.onStarted(recording)
      const session = lazy.session()
      const watched = { tools: true, resources: false, prompts: true, uris: ["a:"], logs: true }
      assert.deepStrictEqual<unknown>(
        [
          yield* session.callTool("work", params, options),
          yield* session.request?.("prompts/get", params) ?? assert.fail(),
          yield* session.readResource("a:"),
          yield* session.listTools(),
          yield* session.listResources("2")
        ],
        [{ content: [{ type: "text" }] }, { answered: true }, [{ uri: "a:" }], page, page]
      )
      yield* Effect.asVoid(Effect.scoped(session.watch(watched)))
      assert.deepStrictEqual(received, [
        ["callTool", "work", params, options],
        ["request", "prompts/get", params],
        ["readResource", "a:"],
        ["listTools", undefined],
        ["listResources", "2"],
        ["watch", watched]
      ])
    })
  )

  it.effect("waits after a failed start until the time that it states, and not longer", () =>
    Effect.gen(function* () {
      const lazy = yield* idle()
      yield* lazy.onStartFailed
      const { message, reason } = yield* Effect.flip(lazy.session().readResource("a:"))
      assert.strictEqual(reason, "unavailable")
      assert.strictEqual(message, "MCP server 'alpha' did not start: down; it can start again in 1 s")
      // Half a second, by a fifth more at most.
      yield* TestClock.adjust("399 millis")
      assert.strictEqual((yield* Effect.flip(lazy.session().readResource("a:"))).message, message)
      yield* TestClock.adjust("201 millis")
      const next = yield* Effect.forkChild(lazy.session().readResource("a:"))
      yield* lazy.requested
      yield* lazy.onStarted(running)
      assert.deepStrictEqual(yield* Fiber.join(next), [])
    })
  )

  it.effect("is not passed on for what the server did not announce", () =>
    Effect.gen(function* () {
      const lazy = yield* idle()
      const request = lazy.session().request ?? assert.fail()
      for (const method of ["prompts/list", "prompts/get", "completion/complete"] as const) {
        const { code, message, reason } = yield* Effect.flip(request(method, {}))
        assert.deepStrictEqual([reason, code, message], ["unsupported", -32_601, `${method} is not supported`])
      }
    })
  )

  it.effect("fails at the stop of the server, where it waits for the start, and after it", () =>
    Effect.gen(function* () {
      const lazy = yield* idle()
      const waiting = yield* Effect.forkChild(Effect.flip(lazy.session().callTool("work", {})))
      yield* lazy.requested
      yield* lazy.stop
      const later = yield* Effect.flip(lazy.session().readResource("a:"))
      for (const { message } of [yield* Fiber.join(waiting), later]) {
        assert.strictEqual(message, "MCP server 'alpha' was stopped")
      }
    })
  )
})
