import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Layer, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import {
  makeServerSupervisor,
  type ServerSupervisor
} from "../../../../src/application/computer/servers/ServerSupervisor.ts"
import { type McpChange, McpConnector } from "../../../../src/application/ports/McpSession.ts"
import type { ComputerPart } from "../../../../src/domain/model/Notification.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { resource } from "../../../conformance/members.ts"
import { counted, dead, setupOf, type Startable } from "../testComputer.ts"

const letGo = TestClock.adjust(0)
const window = "window://com.x.app/one"

/** Supervises servers in memory without a Computer. */
const supervised = Effect.fnUntraced(function* (
  servers: { readonly [name: string]: Startable },
  configure: { readonly [name: string]: JsonObject } = {},
  names: ReadonlyArray<string> = Object.keys(servers)
) {
  const notified: Array<ComputerPart> = []
  const connector = Layer.succeed(McpConnector, { connect: (name) => servers[name]?.connect ?? Effect.fail(dead) })
  const supervisor = yield* makeServerSupervisor(setupOf(names, { configure }), makeSecrets(), (part) =>
    Effect.sync(() => void notified.push(part))
  ).pipe(
    Effect.provide([connector, Inputs.layer()]),
    Effect.provideService(ComputerSettings, { ...ComputerSettings.defaultValue(), changeThrottle: Duration.zero })
  )
  const state = (name: string) => supervisor.snapshot().states.get(name)
  return { ...supervisor, notified, state }
})

/** Supervises servers, and lets them start. */
const started = (...given: Parameters<typeof supervised>) => Effect.tap(supervised(...given), letGo)

const running = (supervisor: ServerSupervisor, name: string) =>
  Option.getOrThrow(Option.fromUndefinedOr(supervisor.find(name)))

/** Counts the open sessions of a server, and delays their start and their end. */
const gauged = (
  { connect }: Startable,
  { closing = 0, starting = 0 }: { readonly closing?: Duration.Input; readonly starting?: Duration.Input } = {}
) => {
  const sessions = { open: 0 }
  const acquire = Effect.delay(
    Effect.sync(() => void sessions.open++),
    starting
  )
  const release = Effect.delay(
    Effect.sync(() => void sessions.open--),
    closing
  )
  const tracked = Effect.acquireRelease(acquire, () => release, { interruptible: true })
  return { sessions, connect: Effect.andThen(tracked, connect) }
}

/** Runs an effect and gives the virtual time that it took. */
const timed = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
  const start = yield* Clock.currentTimeMillis
  const ended = Effect.map(Clock.currentTimeMillis, (end) => end - start)
  const fiber = yield* Effect.forkChild(Effect.andThen(effect, ended), { startImmediately: true })
  yield* TestClock.adjust("1 hour")
  return yield* Fiber.join(fiber)
})

describe("ServerSupervisor", () => {
  it.effect("waits with start and with restart until the server is ready", () =>
    Effect.gen(function* () {
      const alpha = gauged(yield* makeMemoryMcpServer(), { starting: "5 seconds" })
      const { restart, start, stop } = yield* supervised({ alpha }, { alpha: { disabled: true } })
      assert.strictEqual(yield* timed(start("alpha")), 5000)
      assert.strictEqual(yield* timed(restart("alpha")), 5000)
      assert.strictEqual(yield* timed(stop("alpha")), 0)
    })
  )

  it.effect("waits with start for a server that starts already", () =>
    Effect.gen(function* () {
      const alpha = gauged(yield* makeMemoryMcpServer(), { starting: "5 seconds" })
      const { start, state } = yield* supervised({ alpha })
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* timed(start("alpha")), 3000)
      assert.strictEqual(state("alpha")?._tag, "Ready")
    })
  )

  it.effect("keeps the session of a running server on start", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      const { start } = yield* started({ alpha })
      yield* start("alpha")
      assert.strictEqual(alpha.starts.count, 1)
    })
  )

  it.effect("ends the start of a server that is removed meanwhile", () =>
    Effect.gen(function* () {
      const alpha = { connect: Effect.never }
      const { reconfigure, start } = yield* started({ alpha }, { alpha: { disabled: true } })
      const starting = yield* Effect.forkChild(start("alpha"), { startImmediately: true })
      yield* reconfigure(setupOf([]))
      yield* Fiber.join(starting)
    })
  )

  it.effect.each(["start", "stop", "restart"] as const)("fails to %s an unknown server", (command) =>
    Effect.gen(function* () {
      const supervisor = yield* started({})
      for (const name of ["ghost", "toString"]) {
        const { _tag, message, server } = yield* Effect.flip(supervisor[command](name))
        assert.deepStrictEqual(
          [_tag, message, server],
          ["UnknownServer", `No MCP server '${name}' is configured`, name]
        )
      }
    })
  )

  it.effect("runs one session of a server at a time, also when several commands restart it", () =>
    Effect.gen(function* () {
      let open = 0
      let most = 0
      let isSlow = true
      const memory = yield* makeMemoryMcpServer()
      const tracked = Effect.acquireRelease(
        Effect.sync(() => void (most = Math.max(most, ++open))),
        () =>
          Effect.andThen(
            Effect.suspend(() => (isSlow ? Effect.sleep("1 second") : Effect.void)),
            Effect.sync(() => void open--)
          )
      )
      const alpha = counted({ connect: Effect.andThen(tracked, memory.connect) })
      const { restart, start, state, stop } = yield* supervised({ alpha })
      const commands = [restart("alpha"), restart("alpha"), stop("alpha"), start("alpha")]
      const given = yield* Effect.forEach(commands, (command) => Effect.forkChild(command, { startImmediately: true }))
      yield* TestClock.adjust("10 seconds")
      isSlow = false
      yield* Effect.forEach(given, Fiber.join)
      assert.deepStrictEqual([most, open, alpha.starts.count], [1, 1, 4])
      assert.strictEqual(state("alpha")?._tag, "Ready")
    })
  )

  it.effect("forgets a server that is removed after a start, while its last session still closes", () =>
    Effect.gen(function* () {
      const alpha = gauged(yield* makeMemoryMcpServer(), { closing: "1 second" })
      const { reconfigure, snapshot, start, stop } = yield* started({ alpha })
      const commands: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        stop("alpha"),
        start("alpha"),
        reconfigure(setupOf([]))
      ]
      const given = yield* Effect.forEach(commands, (command) => Effect.forkChild(command, { startImmediately: true }))
      yield* TestClock.adjust("1 minute")
      yield* Effect.forEach(given, Fiber.join)
      assert.deepStrictEqual([[...snapshot().states.keys()], alpha.sessions.open], [[], 0])
    })
  )

  it.effect.each<[string, (supervisor: ServerSupervisor) => Effect.Effect<unknown, unknown>]>([
    ["stopped", ({ stop }) => stop("alpha")],
    ["removed", ({ reconfigure }) => reconfigure(setupOf([]))]
  ])("closes the session of a %s server", ([, end]) =>
    Effect.gen(function* () {
      const alpha = gauged(yield* makeMemoryMcpServer())
      const supervisor = yield* started({ alpha })
      assert.strictEqual(alpha.sessions.open, 1)
      yield* end(supervisor)
      assert.strictEqual(alpha.sessions.open, 0)
    })
  )

  it.effect("closes the sessions of several servers concurrently", () =>
    Effect.gen(function* () {
      const alpha = gauged(yield* makeMemoryMcpServer(), { closing: "5 seconds" })
      const beta = gauged(yield* makeMemoryMcpServer(), { closing: "5 seconds" })
      const { reconfigure } = yield* started({ alpha, beta })
      assert.strictEqual(yield* timed(reconfigure(setupOf([]))), 5000)
    })
  )

  it.effect("keeps a server stopped that fails at the same time", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const { state, stop } = yield* started({ alpha: memory })
      yield* memory.crash("gone")
      yield* stop("alpha")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(state("alpha"), { _tag: "Stopped", reason: "stopped_by_user" })
    })
  )

  it.effect("starts an added server and announces the configuration", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      const { notified, reconfigure, setup, state } = yield* supervised({ alpha }, {}, [])
      const next = setupOf(["alpha"])
      yield* reconfigure(next)
      yield* letGo
      assert.deepStrictEqual([state("alpha")?._tag, alpha.starts.count], ["Ready", 1])
      assert.include(notified, "config")
      assert.strictEqual(setup(), next)
    })
  )

  it.effect("keeps the state of an unchanged server", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [yield* makeMemoryMcpServer(), yield* makeMemoryMcpServer()]
      const { reconfigure, state } = yield* started({ alpha, beta })
      const before = state("alpha")
      yield* reconfigure(setupOf(["alpha"]))
      assert.strictEqual(state("alpha"), before)
    })
  )

  it.effect("keeps the state of a stopped server with other tool settings", () =>
    Effect.gen(function* () {
      const { reconfigure, state, stop } = yield* started({ alpha: yield* makeMemoryMcpServer() })
      yield* stop("alpha")
      yield* reconfigure(setupOf(["alpha"], { configure: { alpha: { forbidden_tools: ["t"] } } }))
      assert.deepStrictEqual(state("alpha"), { _tag: "Stopped", reason: "stopped_by_user" })
    })
  )

  it.effect("announces no new contents of a resource that is neither window nor document", () =>
    Effect.gen(function* () {
      const change: McpChange = { _tag: "ResourceUpdated", uri: "file:///x" }
      const alpha = counted(yield* makeMemoryMcpServer(), () => ({ watch: () => Effect.succeed(Stream.make(change)) }))
      const { notified, state } = yield* started({ alpha })
      // The tool list is complete.
      assert.deepStrictEqual([state("alpha")?._tag, notified], ["Ready", ["toolList"]])
    })
  )

  it.effect("finds a running server by its name", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [yield* makeMemoryMcpServer(), yield* makeMemoryMcpServer()]
      const { find } = yield* started({ alpha, beta })
      assert.strictEqual(find("beta")?.config.name, "beta")
      assert.isUndefined(find("ghost"))
    })
  )
})

describe("startup", () => {
  it.effect("is completed when every server is beyond its first attempt", () =>
    Effect.gen(function* () {
      const fast = yield* makeMemoryMcpServer()
      const slow = gauged(yield* makeMemoryMcpServer(), { starting: "5 seconds" })
      const { startupCompleted } = yield* supervised({ fast, slow })
      assert.strictEqual(yield* timed(startupCompleted), 5000)
    })
  )

  it.effect("is completed during the second attempt of a server", () =>
    Effect.gen(function* () {
      let attempts = 0
      const alpha = { connect: Effect.suspend(() => (++attempts === 1 ? Effect.fail(dead) : Effect.never)) }
      const { startupCompleted, state } = yield* supervised({ alpha })
      yield* TestClock.adjust("10 seconds")
      assert.deepInclude(state("alpha"), { _tag: "Starting", attempt: 2 })
      assert.strictEqual(yield* timed(startupCompleted), 0)
    })
  )
})

describe("resource listing", () => {
  /** A server with one window whose listing and reading take some time. */
  const slow = Effect.fnUntraced(function* (delays: { listing?: Duration.Input; reading?: Duration.Input } = {}) {
    const read = Effect.delay(Effect.succeed([]), delays.reading ?? 0)
    const two = ["window://com.x.app/one", "window://com.x.app/two"].map((uri) => ({ ...resource(uri), read }))
    const memory = yield* makeMemoryMcpServer({ resources: two })
    return counted(memory, (session) => ({
      listResources: (cursor) => Effect.suspend(() => Effect.delay(session.listResources(cursor), delays.listing ?? 0))
    }))
  })
  const readAll = ({ readShown }: ServerSupervisor) =>
    readShown("windows", ({ uri }, { config, session }) =>
      Effect.as(Effect.orDie(session.readResource(String(uri))), [`${config.name} ${String(uri).slice(-3)}`])
    )
  const inOrder = ["alpha one", "alpha two", "beta one", "beta two"]

  it.effect("reads the resources of all servers concurrently, in listing order", () =>
    Effect.gen(function* () {
      const supervisor = yield* started({
        alpha: yield* slow({ reading: "2 seconds" }),
        beta: yield* slow({ reading: "1 second" })
      })
      let results: ReadonlyArray<string> = []
      assert.strictEqual(yield* timed(Effect.map(readAll(supervisor), (read) => (results = read))), 2000)
      assert.deepStrictEqual(results, inOrder)
    })
  )

  it.effect("uses the previous listing of a server after half of the read timeout", () =>
    Effect.gen(function* () {
      const delays = { listing: 0 as Duration.Input }
      const supervisor = yield* started({ alpha: yield* slow(delays), beta: yield* slow() })
      delays.listing = "1 hour"
      let results: ReadonlyArray<string> = []
      assert.strictEqual(yield* timed(Effect.map(readAll(supervisor), (read) => (results = read))), 5000)
      assert.deepStrictEqual(results, inOrder)
    })
  )

  it.effect("fails after the read timeout", () =>
    Effect.gen(function* () {
      const delays = { listing: 0 as Duration.Input }
      const supervisor = yield* started({ alpha: yield* slow(delays) })
      delays.listing = "1 hour"
      const failing = Effect.flip(supervisor.refreshResources(running(supervisor, "alpha")))
      let reason = ""
      assert.strictEqual(yield* timed(Effect.map(failing, (error) => (reason = error.reason))), 10_000)
      assert.strictEqual(reason, "unavailable")
    })
  )

  /** A server whose closed sessions still list one window. */
  const undead = Effect.gen(function* () {
    const memory = yield* makeMemoryMcpServer()
    return counted(memory, (session) => {
      let lists = 0
      return {
        listResources: (cursor) =>
          Effect.suspend(() =>
            lists++ === 0
              ? session.listResources(cursor)
              : Effect.succeed({ items: [resource(window).definition], nextCursor: undefined })
          )
      }
    })
  })

  it.effect("never replaces the listing of a later session", () =>
    Effect.gen(function* () {
      const supervisor = yield* started({ alpha: yield* undead })
      const before = running(supervisor, "alpha")
      yield* supervisor.restart("alpha")
      assert.lengthOf(yield* supervisor.refreshResources(before), 1)
      assert.lengthOf(running(supervisor, "alpha").resources, 0)
      yield* supervisor.refreshResources(running(supervisor, "alpha"))
      assert.lengthOf(running(supervisor, "alpha").resources, 1)
    })
  )

  it.effect("gives the listing of a server that is removed meanwhile", () =>
    Effect.gen(function* () {
      const supervisor = yield* started({ alpha: yield* undead })
      const before = running(supervisor, "alpha")
      yield* supervisor.reconfigure(setupOf([]))
      assert.lengthOf(yield* supervisor.refreshResources(before), 1)
      assert.strictEqual(supervisor.snapshot().states.size, 0)
    })
  )
})
