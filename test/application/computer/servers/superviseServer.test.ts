import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Fiber, Ref, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { counted, dead, staged, standing } from "../stage.ts"

const letGo = TestClock.adjust(0)
const names = Effect.fnUntraced(function* (computer: Effect.Success<ReturnType<typeof staged>>["computer"]) {
  return [...(yield* computer.catalogue).entries.keys()]
})

describe("supervision", () => {
  it.effect("a server that ends loses its tools at once and comes back by itself", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const alpha = counted(memory)
      const { computer } = yield* staged({ servers: { alpha } })
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

  it.effect("waits double up to a minute, give or take a fifth", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      alpha.starts.failure = dead
      const { computer } = yield* staged({ servers: { alpha } })
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

  it.effect("a session that lasted two minutes makes the waits short again", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const alpha = counted(memory)
      alpha.starts.failure = dead
      const { computer } = yield* staged({ servers: { alpha } })
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

  it.effect("a server that asks for authorization is not tried again", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      alpha.starts.failure = new McpSessionError({ reason: "unauthorized", message: "log in first" })
      const { computer } = yield* staged({ servers: { alpha } })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual((yield* computer.servers).get("alpha"), {
        _tag: "Failed",
        reason: "log in first"
      })
      assert.strictEqual(alpha.starts.count, 1)
    })
  )

  it.effect("a server that never answers is given up after the connect timeout", () =>
    Effect.gen(function* () {
      const alpha = { connect: Effect.never }
      const { computer } = yield* staged({ servers: { alpha } })
      yield* TestClock.adjust("1 minute")
      const state = (yield* computer.servers).get("alpha")
      assert.isTrue(state?._tag === "BackingOff" && state.reason.includes("within 60 seconds"))
    })
  )

  it.effect("a server that gives no sign of life is first degraded, then started again", () =>
    Effect.gen(function* () {
      const silent = yield* Ref.make(false)
      const alpha = counted(yield* makeMemoryMcpServer(), (session) => ({
        ...session,
        ping: Effect.flatMap(Ref.get(silent), (isSilent) => (isSilent ? Effect.never : session.ping))
      }))
      const { computer } = yield* staged({ servers: { alpha } })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
      yield* Ref.set(silent, true)
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual(yield* standing(computer, "alpha"), "Degraded")
      yield* TestClock.adjust("1 minute")
      assert.isAbove(alpha.starts.count, 1)
    })
  )

  it.effect("a server may be silent while it works on a call", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const memory = yield* makeMemoryMcpServer({
        tools: [tool("slow", () => Effect.as(Deferred.await(go), { content: [] }))]
      })
      const alpha = counted(memory, (session) => ({ ...session, ping: Effect.never }))
      const { computer } = yield* staged({ servers: { alpha } })
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

  it.effect("a storm of changed lists is few listings, and the last one counts", () =>
    Effect.gen(function* () {
      let lists = 0
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t0")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        listTools: (cursor) => Effect.suspend(() => (lists++, session.listTools(cursor)))
      }))
      const { computer } = yield* staged({
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

  it.effect("windows are subscribed again after a server came back", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      yield* staged({ servers: { alpha: memory } })
      yield* letGo
      assert.deepStrictEqual([...memory.subscriptions()], ["window://com.x.app/one"])
      yield* memory.crash("gone")
      yield* letGo
      assert.deepStrictEqual([...memory.subscriptions()], [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([...memory.subscriptions()], ["window://com.x.app/one"])
    })
  )

  it.effect("a server whose resources cannot be listed is degraded and says why, its tools work", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const failure = new McpSessionError({ reason: "protocol", message: "no resources today" })
      const alpha = counted(memory, (session) => ({ ...session, listResources: () => Effect.fail(failure) }))
      const { computer } = yield* staged({ servers: { alpha } })
      yield* letGo
      const state = (yield* computer.servers).get("alpha")
      assert.isTrue(state?._tag === "Degraded" && state.reason.includes("no resources today"))
      assert.isFalse((yield* computer.callTool({ tool: "t", params: {} })).isError)
    })
  )

  it.effect("a server is stopped, started and restarted on request", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer({ tools: [tool("t")] }))
      const { computer } = yield* staged({ servers: { alpha } })
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

  it.effect("a server that nobody configured cannot be started", () =>
    Effect.gen(function* () {
      const { computer } = yield* staged({ servers: {} })
      const unknown = yield* Effect.flip(computer.start("ghost"))
      assert.strictEqual(unknown.message, "No MCP server 'ghost' is configured")
    })
  )

  it.effect("a disabled server runs when it is started", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      const { computer } = yield* staged({ servers: { alpha }, configure: { alpha: { disabled: true } } })
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Stopped")
      yield* computer.start("alpha")
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )

  it.effect("a server whose session cannot be closed properly is started again all the same", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const alpha = counted({
        connect: Effect.andThen(
          Effect.addFinalizer(() => Effect.die("will not close")),
          memory.connect
        )
      })
      const { computer } = yield* staged({ servers: { alpha } })
      yield* letGo
      yield* memory.crash("gone")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Ready", 2])
    })
  )

  it.effect("a server is not started on request while its last session is still closing", () =>
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
      const { computer } = yield* staged({ servers: { alpha: { connect } } })
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

  it.effect("a server that forbids us in is not tried again", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer())
      alpha.starts.failure = new McpSessionError({ reason: "forbidden", message: "not you" })
      const { computer } = yield* staged({ servers: { alpha } })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Failed", 1])
    })
  )

  it.effect("a server that answers nothing is started again, however many call it", () =>
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
      const { computer } = yield* staged({ servers: { alpha } })
      yield* letGo
      const call = computer.callTool({ tool: "t", params: {}, timeout: Duration.minutes(1) })
      // One of them runs at any time.
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

  it.effect("a server that answers calls, if not pings, is alive while it is called", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({
        tools: [tool("t", () => Effect.delay(Effect.succeed({ content: [] }), "4 seconds"))]
      })
      const alpha = counted(memory, (session) => ({ ...session, ping: Effect.never }))
      const { computer } = yield* staged({ servers: { alpha } })
      yield* letGo
      yield* Effect.forkScoped(Effect.forever(computer.callTool({ tool: "t", params: {} })))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Ready", 1])
    })
  )

  it.effect("a server that does not know pings is alive", () =>
    Effect.gen(function* () {
      const unknown = new McpSessionError({ reason: "protocol", message: "method not found" })
      const alpha = counted(yield* makeMemoryMcpServer(), (session) => ({
        ...session,
        ping: Effect.fail(unknown)
      }))
      const { computer } = yield* staged({ servers: { alpha } })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([yield* standing(computer, "alpha"), alpha.starts.count], ["Ready", 1])
    })
  )

  it.effect("a session that gives less than was promised says what is missing", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer(), (session) => ({
        ...session,
        degraded: Effect.succeed("no changes are told")
      }))
      const { computer } = yield* staged({ servers: { alpha } })
      yield* letGo
      const state = (yield* computer.servers).get("alpha")
      assert.strictEqual(state?._tag === "Degraded" ? state.reason : "", "no changes are told")
    })
  )

  it.effect("the owner is warned of a tool whose name is taken", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const beta = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const { logs } = yield* staged({ servers: { alpha, beta } })
      yield* letGo
      assert.lengthOf(
        logs.filter((line) => line.includes("tool hidden") && line.includes("beta")),
        1
      )
    })
  )

  it.effect("what a server that is being stopped offered is gone before its session is closed", () =>
    Effect.gen(function* () {
      let isSlow = true
      const memory = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const connect = Effect.andThen(
        Effect.addFinalizer(() => Effect.sleep(isSlow ? "10 seconds" : 0)),
        memory.connect
      )
      const { computer } = yield* staged({ servers: { alpha: { connect } } })
      yield* letGo
      const stopping = yield* Effect.forkChild(computer.stop("alpha"), { startImmediately: true })
      yield* letGo
      assert.deepStrictEqual(yield* names(computer), [])
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(stopping)
      isSlow = false
    })
  )

  it.effect("a window that only looking has found is subscribed, too", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      const quiet = counted(memory, (session) => ({
        ...session,
        watch: (wanted) => session.watch({ ...wanted, resources: false })
      }))
      const { computer } = yield* staged({ servers: { alpha: quiet } })
      yield* letGo
      yield* memory.setResources([resource("window://com.x.app/two")])
      yield* letGo
      yield* computer.desktop({})
      yield* letGo
      assert.deepStrictEqual([...memory.subscriptions()], ["window://com.x.app/two"])
    })
  )

  it.effect("a subscription that works at the second attempt makes the server well again", () =>
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
      const { computer } = yield* staged({ servers: { alpha } })
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Degraded")
      yield* memory.notify({ _tag: "ResourcesChanged" })
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )

  it.effect("a window that cannot be subscribed is no trouble any more once it is gone", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        watch: (wanted) =>
          wanted.uris.length > 0
            ? Effect.fail(new McpSessionError({ reason: "protocol", message: "never" }))
            : session.watch(wanted)
      }))
      const { computer } = yield* staged({ servers: { alpha } })
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Degraded")
      yield* memory.setResources([])
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "Ready")
    })
  )

  it.effect("a listing that never ends is given up, and the next one counts", () =>
    Effect.gen(function* () {
      let hangs = false
      const memory = yield* makeMemoryMcpServer({ tools: [tool("one")] })
      const alpha = counted(memory, (session) => ({
        ...session,
        listTools: (cursor) => Effect.suspend(() => (hangs ? Effect.never : session.listTools(cursor)))
      }))
      const { computer } = yield* staged({ servers: { alpha } })
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

  it.effect("what takes long to fail was not stable", () =>
    Effect.gen(function* () {
      const alpha = { connect: Effect.never }
      const { computer } = yield* staged({
        servers: { alpha },
        settings: { connectTimeout: Duration.minutes(3) }
      })
      yield* TestClock.adjust("10 minutes")
      const state = (yield* computer.servers).get("alpha")
      assert.deepStrictEqual(state?._tag === "Starting" ? state.attempt : 0, 4)
    })
  )

  it.effect("looking at the desktop changes nothing for those who watch", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://com.x.app/one")] })
      const { computer } = yield* staged({ servers: { alpha: memory } })
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

  it.effect("a window that is listed twice shows once", () =>
    Effect.gen(function* () {
      const window = resource("window://com.x.app/one")
      const memory = yield* makeMemoryMcpServer({ resources: [window, window] })
      const { computer } = yield* staged({ servers: { alpha: memory } })
      yield* letGo
      assert.lengthOf(yield* computer.desktop({}), 1)
    })
  )

  it.effect("everybody who looks sees every state a server goes through", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      const { computer } = yield* staged({ servers: { alpha: memory } })
      const seen: Array<string | undefined> = []
      yield* Effect.forkScoped(
        Stream.runForEach(computer.changes, (states) =>
          Effect.sync(() => seen.push(states.get("alpha")?._tag))
        )
      )
      yield* letGo
      yield* memory.crash("gone")
      yield* TestClock.adjust("1 second")
      const steps = seen.filter((tag, index) => tag !== seen[index - 1])
      assert.deepStrictEqual(steps.slice(-4), ["Ready", "BackingOff", "Starting", "Ready"])
    })
  )
})
