import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Fiber, Layer, Ref, Semaphore, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeCatalogues } from "../../../../src/application/computer/servers/Catalogues.ts"
import type { ServerState } from "../../../../src/application/computer/servers/ServersSnapshot.ts"
import { makeServerStateStore } from "../../../../src/application/computer/servers/ServerStateStore.ts"
import { superviseServer } from "../../../../src/application/computer/servers/superviseServer.ts"
import { McpConnector, McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { VrlEngine, VrlError } from "../../../../src/application/ports/VrlEngine.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { counted, dead, setupOf, testComputer, standing } from "../testComputer.ts"

const letGo = TestClock.adjust(0)
const names = Effect.fnUntraced(function* (computer: Effect.Success<ReturnType<typeof testComputer>>["computer"]) {
  return [...(yield* computer.catalogue).entries.keys()]
})

describe("superviseServer", () => {
  it.effect("removes the tools of an exited server at once and restarts it", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const alpha = counted(memory)
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      assert.deepStrictEqual(yield* names(computer), ["t"])
      yield* memory.crash("exit code 1")
      yield* letGo
      const state = (yield* computer.servers).get("alpha")
      assert.isTrue(state?._tag === "BackingOff" && state.reason === "exit code 1")
      assert.deepStrictEqual(yield* names(computer), [])
      yield* TestClock.adjust("600 millis")
      assert.deepStrictEqual(yield* names(computer), ["t"])
      assert.strictEqual(alpha.starts.count, 2)
    })
  )

  it.effect("doubles the backoff up to a minute, with a jitter of a fifth", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      alpha.starts.failure = dead
      const { computer } = yield* testComputer({ servers: { alpha } })
      const waits: Array<number> = []
      for (let attempt = 0; attempt < 9; attempt++) {
        yield* letGo
        const state = (yield* computer.servers).get("alpha")
        const now = yield* Clock.currentTimeMillis
        const wait = state?._tag === "BackingOff" ? state.retryAt - now : 0
        waits.push(wait)
        yield* TestClock.adjust(wait)
      }
      const ideal = [0.5, 1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1000)
      assert.isTrue(ideal.every((wait, index) => Math.abs((waits[index] ?? 0) - wait) <= wait * 0.2 + 1))
      assert.isFalse(ideal.every((wait, index) => waits[index] === wait))
    })
  )

  it.effect("resets the backoff after a session of two minutes", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const alpha = counted(memory)
      alpha.starts.failure = dead
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* TestClock.adjust("1 minute")
      alpha.starts.failure = undefined
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
      yield* TestClock.adjust("2 minutes")
      yield* memory.crash("gone")
      yield* letGo
      const state = (yield* computer.servers).get("alpha")
      const now = yield* Clock.currentTimeMillis
      assert.isTrue(state?._tag === "BackingOff" && state.retryAt - now <= 600)
    })
  )

  it.effect("increases the backoff of a server that crashes soon after each start", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const { computer } = yield* testComputer({ servers: { alpha: memory } })
      yield* letGo
      const waits: Array<number> = []
      for (const uptime of ["0 seconds", "10 seconds", "119 seconds", "120 seconds", "1 second"] as const) {
        yield* TestClock.adjust(uptime)
        assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
        yield* memory.crash("gone")
        yield* letGo
        const state = (yield* computer.servers).get("alpha")
        const wait = state?._tag === "BackingOff" ? state.retryAt - (yield* Clock.currentTimeMillis) : 0
        waits.push(wait)
        yield* TestClock.adjust(wait)
      }
      const ideal = [500, 1000, 2000, 500, 1000]
      assert.isTrue(
        ideal.every((wait, index) => Math.abs((waits[index] ?? 0) - wait) <= wait * 0.2 + 1),
        waits.join()
      )
    })
  )

  it.effect("never retries a server that asks for authorization", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      alpha.starts.failure = new McpSessionError({ reason: "unauthorized", message: "log in first" })
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual((yield* computer.servers).get("alpha"), {
        _tag: "Failed",
        reason: "log in first",
        publicReason: "log in first"
      })
      assert.strictEqual(alpha.starts.count, 1)
    })
  )

  it.effect("stops a start attempt after the connect timeout", () =>
    Effect.gen(function* () {
      const alpha = { connect: Effect.never }
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* TestClock.adjust("1 minute")
      const state = (yield* computer.servers).get("alpha")
      assert.isTrue(state?._tag === "BackingOff" && state.reason.includes("within 60 seconds"))
    })
  )

  it.effect("degrades an unresponsive server, then restarts it", () =>
    Effect.gen(function* () {
      const silent = yield* Ref.make(false)
      const alpha = counted(yield* makeMemoryMcpServer(), (session) => ({
        ...session,
        ping: Effect.flatMap(Ref.get(silent), (isSilent) => (isSilent ? Effect.never : session.ping))
      }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
      yield* Ref.set(silent, true)
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual(yield* standing(computer, "alpha"), "Degraded")
      yield* TestClock.adjust("1 minute")
      assert.isAbove(alpha.starts.count, 1)
    })
  )

  it.effect("tolerates missed pings during a call", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const memory = yield* makeMemoryMcpServer({
        tools: [tool("slow", () => Effect.as(Deferred.await(go), { content: [] }))]
      })
      const alpha = counted(memory, (session) => ({ ...session, ping: Effect.never }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      const call = yield* Effect.forkChild(
        computer.callTool({ tool: "slow", params: {}, timeout: Duration.minutes(10) })
      )
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(alpha.starts.count, 1)
      yield* Deferred.succeed(go, undefined)
      assert.isFalse((yield* Fiber.join(call)).isError)
    })
  )

  it.effect("throttles listings and keeps the last one", () =>
    Effect.gen(function* () {
      let lists = 0
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t0")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        listTools: (cursor) => Effect.suspend(() => (lists++, session.listTools(cursor)))
      }))
      const { computer } = yield* testComputer({
        servers: { alpha },
        settings: { changeThrottle: Duration.millis(100) }
      })
      yield* letGo
      lists = 0
      for (let round = 1; round <= 100; round++) yield* memory.setTools([tool(`t${round}`)])
      yield* TestClock.adjust("1 second")
      assert.isAtMost(lists, 3)
      assert.deepStrictEqual(yield* names(computer), ["t100"])
    })
  )

  it.effect("resubscribes to windows after a restart", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      yield* testComputer({ servers: { alpha: memory } })
      yield* letGo
      assert.deepStrictEqual([...memory.subscriptions()], ["window://com.x.app/one"])
      yield* memory.crash("gone")
      yield* letGo
      assert.deepStrictEqual([...memory.subscriptions()], [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([...memory.subscriptions()], ["window://com.x.app/one"])
    })
  )

  it.effect("degrades a server whose resource listing fails and keeps its tools", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const failure = new McpSessionError({ reason: "protocol", message: "no resources today" })
      const alpha = counted(memory, (session) => ({ ...session, listResources: () => Effect.fail(failure) }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      const state = (yield* computer.servers).get("alpha")
      assert.isTrue(state?._tag === "Degraded" && state.reason.includes("no resources today"))
      assert.isFalse((yield* computer.callTool({ tool: "t", params: {} })).isError)
    })
  )

  it.effect("stops, starts and restarts a server for the user", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer({ tools: [tool("t")] }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      yield* computer.stop("alpha")
      assert.deepStrictEqual((yield* computer.servers).get("alpha"), {
        _tag: "Stopped",
        reason: "stopped_by_user"
      })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* names(computer), [])
      yield* computer.start("alpha")
      assert.deepStrictEqual(yield* names(computer), ["t"])
      yield* computer.restart("alpha")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Ready", 3])
    })
  )

  it.effect("fails to start an unknown server", () =>
    Effect.gen(function* () {
      const { computer } = yield* testComputer({ servers: {} })
      const unknown = yield* Effect.flip(computer.start("ghost"))
      assert.strictEqual(unknown.message, "No MCP server 'ghost' is configured")
    })
  )

  it.effect("starts a disabled server for the user", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      const { computer } = yield* testComputer({ servers: { alpha }, configure: { alpha: { disabled: true } } })
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Stopped")
      yield* computer.start("alpha")
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )

  it.effect("restarts a server whose session fails to close", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const alpha = counted({
        connect: Effect.andThen(
          Effect.addFinalizer(() => Effect.die("will not close")),
          memory.connect
        )
      })
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      yield* memory.crash("gone")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Ready", 2])
    })
  )

  it.effect("waits for the previous session to close before a start", () =>
    Effect.gen(function* () {
      let isSlow = true
      let open = 0
      let most = 0
      const memory = yield* makeMemoryMcpServer()
      const connect = Effect.andThen(
        Effect.acquireRelease(
          Effect.sync(() => {
            open++
            most = Math.max(most, open)
          }),
          () =>
            Effect.andThen(
              Effect.sleep(isSlow ? "10 seconds" : 0),
              Effect.sync(() => void open--)
            )
        ),
        memory.connect
      )
      const { computer } = yield* testComputer({ servers: { alpha: { connect } } })
      yield* letGo
      yield* memory.crash("gone")
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "BackingOff")
      const starting = yield* Effect.forkChild(computer.start("alpha"), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(starting)
      isSlow = false
      assert.deepStrictEqual([yield* standing(computer, "alpha"), most], ["Ready", 1])
    })
  )

  it.effect("never retries a server that forbids access", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      alpha.starts.failure = new McpSessionError({ reason: "forbidden", message: "not you" })
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Failed", 1])
    })
  )

  it.effect("restarts an unresponsive server despite frequent calls", () =>
    Effect.gen(function* () {
      const isDead = yield* Ref.make(true)
      const whileAlive = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.flatMap(Ref.get(isDead), (dead) => (dead ? Effect.never : effect))
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        ping: whileAlive(session.ping),
        callTool: (...call) => whileAlive(session.callTool(...call))
      }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      const call = computer.callTool({ tool: "t", params: {}, timeout: Duration.minutes(1) })
      // At least one of them is running at any time.
      const calling = Effect.forever(Effect.andThen(call, Effect.sleep("1 second")))
      yield* Effect.forkScoped(calling)
      yield* TestClock.adjust("40 seconds")
      yield* Effect.forkScoped(calling)
      yield* TestClock.adjust("5 minutes")
      assert.isAbove(alpha.starts.count, 1)
      yield* Ref.set(isDead, false)
      yield* TestClock.adjust("3 minutes")
      assert.isFalse((yield* call).isError)
    })
  )

  it.effect("keeps a server that responds to calls but not to pings", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({
        tools: [tool("t", () => Effect.delay(Effect.succeed({ content: [] }), "4 seconds"))]
      })
      const alpha = counted(memory, (session) => ({ ...session, ping: Effect.never }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      yield* Effect.forkScoped(Effect.forever(computer.callTool({ tool: "t", params: {} })))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Ready", 1])
    })
  )

  it.effect("keeps a server that does not support pings", () =>
    Effect.gen(function* () {
      const unknown = new McpSessionError({ reason: "protocol", message: "method not found" })
      const alpha = counted(yield* makeMemoryMcpServer(), (session) => ({
        ...session,
        ping: Effect.fail(unknown)
      }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Ready", 1])
    })
  )

  it.effect("degrades a session that lacks a promised capability", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer(), (session) => ({
        ...session,
        degraded: Effect.succeed("no change notifications")
      }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      const state = (yield* computer.servers).get("alpha")
      assert.strictEqual(state?._tag === "Degraded" ? state.reason : "", "no change notifications")
    })
  )

  it.effect("logs a warning for a tool whose name is taken", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const beta = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const { logs } = yield* testComputer({ servers: { alpha, beta } })
      yield* letGo
      assert.lengthOf(
        logs.filter((line) => line.includes("tool hidden") && line.includes("beta")),
        1
      )
    })
  )

  it.effect("removes the offers of a server before its session closes", () =>
    Effect.gen(function* () {
      let isSlow = true
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const connect = Effect.andThen(
        Effect.addFinalizer(() => Effect.sleep(isSlow ? "10 seconds" : 0)),
        memory.connect
      )
      const { computer } = yield* testComputer({ servers: { alpha: { connect } } })
      yield* letGo
      const stopping = yield* Effect.forkChild(computer.stop("alpha"), { startImmediately: true })
      yield* letGo
      assert.deepStrictEqual(yield* names(computer), [])
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(stopping)
      isSlow = false
    })
  )

  it.effect("subscribes to a window found by reading the desktop", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      const quiet = counted(memory, (session) => ({
        ...session,
        watch: (wanted) => session.watch({ ...wanted, resources: false })
      }))
      const { computer } = yield* testComputer({ servers: { alpha: quiet } })
      yield* letGo
      yield* memory.setResources([resource("window://com.x.app/two")])
      yield* letGo
      yield* computer.desktop({})
      yield* letGo
      assert.deepStrictEqual([...memory.subscriptions()], ["window://com.x.app/two"])
    })
  )

  it.effect("recovers when a failed subscription succeeds", () =>
    Effect.gen(function* () {
      let refusals = 1
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        watch: (wanted) =>
          wanted.uris.length > 0 && refusals-- > 0
            ? Effect.fail(new McpSessionError({ reason: "protocol", message: "not now" }))
            : session.watch(wanted)
      }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Degraded")
      yield* memory.notify({ _tag: "ResourcesChanged" })
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )

  it.effect("recovers when a window with a failed subscription disappears", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        watch: (wanted) =>
          wanted.uris.length > 0
            ? Effect.fail(new McpSessionError({ reason: "protocol", message: "never" }))
            : session.watch(wanted)
      }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Degraded")
      yield* memory.setResources([])
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )

  it.effect("stops a hanging listing and uses the next one", () =>
    Effect.gen(function* () {
      let hangs = false
      const memory = yield* makeMemoryMcpServer({ tools: [tool("one")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        listTools: (cursor) => Effect.suspend(() => (hangs ? Effect.never : session.listTools(cursor)))
      }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      hangs = true
      yield* memory.setTools([tool("two")])
      yield* TestClock.adjust("1 minute")
      const state = (yield* computer.servers).get("alpha")
      assert.include(state?._tag === "Degraded" ? state.reason : "", "cannot list tools")
      hangs = false
      yield* memory.setTools([tool("three")])
      yield* letGo
      assert.deepStrictEqual(yield* names(computer), ["three"])
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )

  it.effect("never counts a slow start failure as a stable session", () =>
    Effect.gen(function* () {
      const alpha = { connect: Effect.never }
      const { computer } = yield* testComputer({
        servers: { alpha },
        settings: { connectTimeout: Duration.minutes(3) }
      })
      yield* TestClock.adjust("10 minutes")
      const state = (yield* computer.servers).get("alpha")
      assert.deepStrictEqual(state?._tag === "Starting" ? state.attempt : 0, 4)
    })
  )

  it.effect("emits no state change for a desktop read", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      const { computer } = yield* testComputer({ servers: { alpha: memory } })
      yield* letGo
      let seen = 0
      yield* Effect.forkScoped(Stream.runForEach(computer.changes, () => Effect.sync(() => void seen++)))
      yield* letGo
      const before = seen
      assert.lengthOf(yield* computer.desktop({}), 1)
      yield* letGo
      assert.strictEqual(seen, before)
    })
  )

  it.effect("shows a window that is listed twice once", () =>
    Effect.gen(function* () {
      const window = resource("window://com.x.app/one")
      const memory = yield* makeMemoryMcpServer({ resources: [window, window] })
      const { computer } = yield* testComputer({ servers: { alpha: memory } })
      yield* letGo
      assert.lengthOf(yield* computer.desktop({}), 1)
    })
  )

  it.effect("emits every state of a server to all subscribers", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const { computer } = yield* testComputer({ servers: { alpha: memory } })
      const seen: Array<string | undefined> = []
      yield* Effect.forkScoped(
        Stream.runForEach(computer.changes, (states) => Effect.sync(() => seen.push(states.get("alpha")?._tag)))
      )
      yield* letGo
      yield* memory.crash("gone")
      yield* TestClock.adjust("1 second")
      const steps = seen.filter((tag, index) => tag !== seen[index - 1])
      assert.deepStrictEqual(steps.slice(-4), ["Ready", "BackingOff", "Starting", "Ready"])
    })
  )

  it.effect("never retries a server with an unusable configuration", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      const { computer } = yield* testComputer({
        servers: { alpha },
        configure: { alpha: { server_parameters: { command: "x", args: ["${env:TOKEN}"] } } }
      })
      yield* TestClock.adjust("1 hour")
      const state = (yield* computer.servers).get("alpha")
      assert.include(state?._tag === "Failed" ? state.reason : "", "TOKEN")
      assert.strictEqual(alpha.starts.count, 0)
    })
  )

  it.effect("never retries a permanent failure that follows a temporary one", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      alpha.starts.failure = dead
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      alpha.starts.failure = new McpSessionError({ reason: "forbidden", message: "not you" })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Failed", 2])
    })
  )

  it.effect("retries a server after a defect of its start", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      let starts = 0
      const connect = Effect.suspend(() => (++starts === 1 ? Effect.die("broken") : memory.connect))
      const { computer, logs } = yield* testComputer({ servers: { alpha: { connect } } })
      yield* letGo
      const state = (yield* computer.servers).get("alpha")
      assert.strictEqual(state?._tag === "BackingOff" ? state.reason : "", "internal error")
      assert.isTrue(logs.some((line) => line.includes("supervision failed") && line.includes("broken")))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )

  it.effect("uses the tool settings that changed during the start", () =>
    Effect.gen(function* () {
      const { connect } = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const alpha = { connect: Effect.delay(connect, "5 seconds") }
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* TestClock.adjust("1 second")
      yield* computer.reconfigure(
        setupOf(["alpha"], { configure: { alpha: { tool_meta: { t: { alias: "renamed" } } } } })
      )
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* names(computer), ["renamed"])
    })
  )

  it.effect("keeps the listings of a server that degrades", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t")], resources: [resource("file:///x")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        degraded: Effect.delay(Effect.succeed("no notifications"), "5 seconds")
      }))
      const { computer } = yield* testComputer({ servers: { alpha } })
      yield* letGo
      const before = (yield* computer.servers).get("alpha")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual<unknown>((yield* computer.servers).get("alpha"), {
        ...before,
        _tag: "Degraded",
        reason: "no notifications"
      })
    })
  )
})

describe("script of a server", () => {
  /** The state of a server with a script after an hour, with this result of the check. */
  const checked = Effect.fnUntraced(function* (
    check: VrlEngine["Service"]["check"] | undefined,
    vrl: string | null = ".x = 1"
  ) {
    const alpha = counted(yield* makeMemoryMcpServer())
    const starting = testComputer({ servers: { alpha }, configure: { alpha: { vrl } } })
    const { computer } = yield* check === undefined
      ? starting
      : Effect.provideService(starting, VrlEngine, { check, run: () => Effect.succeed(null) })
    yield* TestClock.adjust("1 hour")
    return { state: (yield* computer.servers).get("alpha"), starts: alpha.starts.count }
  })

  it.effect("is required to compile before the server starts", () =>
    Effect.gen(function* () {
      const { starts, state } = yield* checked(() => Effect.succeed("1:1 syntax error"))
      assert.include(state?._tag === "Failed" ? state.reason : "", "1:1 syntax error")
      assert.strictEqual(starts, 0)
    })
  )

  it.effect("fails the server when the engine cannot check it", () =>
    Effect.gen(function* () {
      const { starts, state } = yield* checked(() =>
        Effect.fail(new VrlError({ reason: "missing", message: "install the engine" }))
      )
      assert.include(state?._tag === "Failed" ? state.reason : "", "install the engine")
      assert.strictEqual(starts, 0)
    })
  )

  it.effect("fails the server of a Computer without an engine", () =>
    Effect.gen(function* () {
      const { starts, state } = yield* checked(undefined)
      assert.deepStrictEqual([state?._tag, starts], ["Failed", 0])
    })
  )

  it.effect("starts the server when it compiles", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* checked(() => Effect.succeed(undefined))).state?._tag, "Ready")
    })
  )

  it.effect("is not checked when it is blank", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* checked(undefined, " ")).state?._tag, "Ready")
    })
  )
})

describe("run of a server", () => {
  /** Supervises a server without a Computer until it ends; gives the final state, and every change. */
  const run = Effect.fnUntraced(function* (isCurrent: boolean, configured: ReadonlyArray<string> = []) {
    const initial: ServerState = { _tag: "Starting", attempt: 1 }
    const store = yield* makeServerStateStore(new Map([["alpha", initial]]), () => Effect.void)
    const changes: Array<string | undefined> = []
    yield* Effect.forkScoped(
      Stream.runForEach(store.changes, (states) => Effect.sync(() => changes.push(states.get("alpha")?._tag))),
      { startImmediately: true }
    )
    const setup = setupOf(configured)
    const connector = Layer.succeed(McpConnector, {
      connect: () => Effect.fail(new McpSessionError({ reason: "forbidden", message: "not you" }))
    })
    const secrets = makeSecrets()
    const lazyServers = { catalogues: yield* makeCatalogues("pc", secrets), listing: yield* Semaphore.make(1) }
    yield* superviseServer(
      { name: "alpha", setup: () => setup, isCurrent: () => isCurrent, store, secrets },
      lazyServers
    ).pipe(Effect.provide([connector, Inputs.layer()]))
    yield* letGo
    return { state: store.snapshot().states.get("alpha"), changes }
  })

  it.effect("emits its first attempt once", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* run(true, ["alpha"])).changes, ["Starting", "Failed"])
    })
  )

  it.effect("ends with the reason of a permanent failure", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* run(true, ["alpha"])).state, {
        _tag: "Failed",
        reason: "not you",
        publicReason: "not you"
      })
    })
  )

  it.effect("leaves the state to a run that replaced it", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* run(false, ["alpha"])).state, { _tag: "Starting", attempt: 1 })
    })
  )

  it.effect("fails without a configuration of the server", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* run(true)).state, {
        _tag: "Failed",
        reason: "not configured",
        publicReason: "not configured"
      })
    })
  )
})
