import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Duration, Effect, Fiber, Layer, Semaphore, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeCatalogues } from "../../../../src/application/computer/servers/Catalogues.ts"
import type { ServerState } from "../../../../src/application/computer/servers/ServersSnapshot.ts"
import { makeServerStateStore } from "../../../../src/application/computer/servers/ServerStateStore.ts"
import { openServer } from "../../../../src/application/computer/servers/openServer.ts"
import { initialServer } from "../../../../src/domain/mcpServers/McpServer.ts"
import { transitionOf } from "../../../../src/domain/mcpServers/reload.ts"
import { McpConnector, McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { VrlEngine, VrlError } from "../../../../src/application/ports/VrlEngine.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { dead, setupOf, standing, startedComputer, toolNames, withAlpha } from "../testComputer.ts"

const letGo = TestClock.adjust(0)
const window = "window://com.x.app/one"

const call = { tool: "t", params: {} }
const noCause = String(Cause.empty)

const failed = (reason: string): ServerState => ({ _tag: "Failed", reason, publicReason: reason })

/** The milliseconds until the next start of a server in this state. */
const backoffIn = (state: ServerState | undefined) =>
  Effect.map(Clock.currentTimeMillis, (now) => (state?._tag === "BackingOff" ? state.retryAt - now : 0))

/** Fails unless the waits have these seconds, with a jitter of a fifth. */
const assertBackoffs = (waits: ReadonlyArray<number>, seconds: ReadonlyArray<number>) =>
  assert.isTrue(
    seconds.every((ideal, index) => Math.abs((waits[index] ?? 0) - ideal * 1000) <= ideal * 200 + 1),
    waits.join()
  )

describe("serverRuns", () => {
  it.effect("removes the tools of an exited server at once and restarts it", () =>
    Effect.gen(function* () {
      const { alpha, names, reason, starts, tag } = yield* withAlpha({ server: { tools: [tool("t")] } })
      assert.deepStrictEqual(yield* names, ["t"])
      yield* alpha.crash("exit code 1")
      yield* letGo
      assert.deepStrictEqual([yield* tag, yield* reason, yield* names], ["BackingOff", "exit code 1", []])
      yield* TestClock.adjust("600 millis")
      assert.deepStrictEqual([yield* names, starts.count], [["t"], 2])
    })
  )

  it.effect("logs what happened, the state and the next start, and points to the check once", () =>
    Effect.gen(function* () {
      const { alpha, logs, starts } = yield* withAlpha({ failure: dead })
      yield* TestClock.adjust("600 millis")
      starts.failure = undefined
      yield* TestClock.adjust("2 seconds")
      yield* alpha.crash("exit code 1")
      yield* letGo
      const messages = logs
        .filter((line) => /could not start|exited/.test(line))
        .map((line) => line.replace(/"retryInSeconds":[\d.]+/, '"retryInSeconds":N'))
      const fields = (state: string, reason: string) => `{"server":"alpha","state":"${state}","reason":"${reason}"`
      const failing = fields("failing", "it does not start")
      assert.deepStrictEqual(messages, [
        `["MCP server could not start",${failing},"retryInSeconds":N,"see":"a2c computer check"}] ${noCause}`,
        `["MCP server could not start",${failing},"retryInSeconds":N}] ${noCause}`,
        `["MCP server exited",${fields("restarting", "exit code 1")},"retryInSeconds":N}] ${noCause}`
      ])
    })
  )

  it.effect("logs that a server is ready, that it has failed, and that a lazy one is idle", () =>
    Effect.gen(function* () {
      const { alpha, logs, starts } = yield* withAlpha({ server: { tools: [tool("t")] } })
      starts.failure = new McpSessionError({ reason: "forbidden", message: "not you" })
      yield* alpha.crash("gone")
      yield* TestClock.adjust("1 second")
      const lazily = yield* withAlpha({ settings: { lifecycle: "lazy" }, server: { tools: [tool("t")] } })
      const used = lazily.computer.callTool(call)
      yield* used
      yield* TestClock.adjust("5 minutes")
      yield* used
      yield* lazily.alpha.crash("gone")
      yield* letGo
      const messages = (lines: ReadonlyArray<string>) =>
        lines.flatMap(
          (line) =>
            /^\["(MCP server (?!starting).*?)","?(.*)\] /.exec(line.replace('",{', '","{'))?.slice(1).join(" ") ?? []
        )
      assert.deepStrictEqual(
        [logs, lazily.logs].map((lines) => messages(lines).map((line) => line.replace(/,"retryInSeconds":[\d.]+/, ""))),
        [
          [
            'MCP server ready {"server":"alpha","tools":1,"resources":0}',
            'MCP server exited {"server":"alpha","state":"restarting","reason":"gone"}',
            'MCP server failed {"server":"alpha","reason":"not you"}'
          ],
          [
            'MCP server ready {"server":"alpha","tools":1,"resources":0}',
            'MCP server idle {"server":"alpha"}',
            'MCP server ready {"server":"alpha","tools":1,"resources":0}',
            'MCP server exited {"server":"alpha","state":"idle","reason":"gone"}'
          ]
        ]
      )
    })
  )

  it.effect("doubles the backoff up to a minute, with a jitter of a fifth", () =>
    Effect.gen(function* () {
      const { state } = yield* withAlpha({ failure: dead })
      const waits: Array<number> = []
      for (let attempt = 0; attempt < 9; attempt++) {
        const wait = yield* backoffIn(yield* state)
        waits.push(wait)
        yield* TestClock.adjust(wait)
        yield* letGo
      }
      const ideal = [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
      assertBackoffs(waits, ideal)
      assert.isFalse(ideal.every((seconds, index) => waits[index] === seconds * 1000))
    })
  )

  it.effect(
    "increases the backoff of a server that crashes soon after each start, and resets it after two minutes",
    () =>
      Effect.gen(function* () {
        const { alpha, state, tag } = yield* withAlpha()
        const waits: Array<number> = []
        for (const uptime of ["0 seconds", "10 seconds", "119 seconds", "120 seconds", "1 second"] as const) {
          yield* TestClock.adjust(uptime)
          assert.strictEqual(yield* tag, "Ready")
          yield* alpha.crash("gone")
          yield* letGo
          const wait = yield* backoffIn(yield* state)
          waits.push(wait)
          yield* TestClock.adjust(wait)
        }
        assertBackoffs(waits, [0.5, 1, 2, 0.5, 1])
      })
  )

  it.effect.each([
    ["asks for authorization", "unauthorized"],
    ["forbids access", "forbidden"]
  ] as const)("never retries a server that %s", ([, reason]) =>
    Effect.gen(function* () {
      const { starts, state } = yield* withAlpha({ failure: new McpSessionError({ reason, message: "not you" }) })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([yield* state, starts.count], [failed("not you"), 1])
    })
  )

  it.effect("never retries a permanent failure that follows a temporary one", () =>
    Effect.gen(function* () {
      const { starts, tag } = yield* withAlpha({ failure: dead })
      starts.failure = new McpSessionError({ reason: "forbidden", message: "not you" })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([yield* tag, starts.count], ["Failed", 2])
    })
  )

  it.effect("never retries a server with an unusable configuration", () =>
    Effect.gen(function* () {
      const configure = { alpha: { server_parameters: { command: "x", args: ["${env:TOKEN}"] } } }
      const { reason, starts, tag } = yield* withAlpha({ configure })
      yield* TestClock.adjust("1 hour")
      assert.include(yield* reason, "TOKEN")
      assert.deepStrictEqual([yield* tag, starts.count], ["Failed", 0])
    })
  )

  it.effect("retries a server after a defect of its start", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer()
      let starts = 0
      const connect = Effect.suspend(() => (++starts === 1 ? Effect.die("broken") : memory.connect))
      const { logs, reason, tag } = yield* withAlpha({ servers: { alpha: { connect } } })
      assert.deepStrictEqual([yield* tag, yield* reason], ["BackingOff", "internal error"])
      assert.isTrue(logs.some((line) => line.includes("supervision failed") && line.includes("broken")))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* tag, "Ready")
    })
  )

  it.effect("stops a start attempt after the connect timeout", () =>
    Effect.gen(function* () {
      const { reason, tag } = yield* withAlpha({ servers: { alpha: { connect: Effect.never } } })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* tag, "BackingOff")
      assert.include(yield* reason, "within 60 seconds")
    })
  )

  it.effect("never counts a slow start failure as a stable session", () =>
    Effect.gen(function* () {
      const settings = { connectTimeout: Duration.minutes(3) }
      const { state } = yield* withAlpha({ servers: { alpha: { connect: Effect.never } }, settings })
      yield* TestClock.adjust("10 minutes")
      assert.deepInclude(yield* state, { _tag: "Starting", attempt: 4 })
    })
  )

  it.effect("degrades an unresponsive server, then restarts it", () =>
    Effect.gen(function* () {
      let isSilent = false
      const { starts, tag } = yield* withAlpha({
        change: ({ ping }) => ({ ping: Effect.suspend(() => (isSilent ? Effect.never : ping)) })
      })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* tag, "Ready")
      isSilent = true
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual(yield* tag, "Degraded")
      yield* TestClock.adjust("1 minute")
      assert.isAbove(starts.count, 1)
    })
  )

  it.effect("restarts an unresponsive server despite frequent calls", () =>
    Effect.gen(function* () {
      let isDead = true
      const whileAlive = <A, E>(effect: Effect.Effect<A, E>) => Effect.suspend(() => (isDead ? Effect.never : effect))
      const { computer, starts } = yield* withAlpha({
        server: { tools: [tool("t")] },
        change: ({ callTool, ping }) => ({
          ping: whileAlive(ping),
          callTool: (...given) => whileAlive(callTool(...given))
        })
      })
      const slowCall = computer.callTool({ ...call, timeout: Duration.minutes(1) })
      // At least one of them is running at any time.
      const calling = Effect.forever(Effect.andThen(slowCall, Effect.sleep("1 second")))
      yield* Effect.forkScoped(calling)
      yield* TestClock.adjust("40 seconds")
      yield* Effect.forkScoped(calling)
      yield* TestClock.adjust("5 minutes")
      assert.isAbove(starts.count, 1)
      isDead = false
      yield* TestClock.adjust("3 minutes")
      assert.isFalse((yield* slowCall).isError)
    })
  )

  it.effect("keeps a server that responds to calls but not to pings", () =>
    Effect.gen(function* () {
      const slow = tool("t", () => Effect.delay(Effect.succeed({ content: [] }), "4 seconds"))
      const change = () => ({ ping: Effect.never })
      const { computer, starts, tag } = yield* withAlpha({ server: { tools: [slow] }, change })
      yield* Effect.forkScoped(Effect.forever(computer.callTool(call)))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual([yield* tag, starts.count], ["Ready", 1])
    })
  )

  it.effect("throttles listings and keeps the last one", () =>
    Effect.gen(function* () {
      let lists = 0
      const { alpha, names } = yield* withAlpha({
        server: { tools: [tool("t0")] },
        change: ({ listTools }) => ({ listTools: (cursor) => Effect.suspend(() => (lists++, listTools(cursor))) }),
        settings: { changeThrottle: Duration.millis(100) }
      })
      lists = 0
      for (let round = 1; round <= 100; round++) yield* alpha.setTools([tool(`t${round}`)])
      yield* TestClock.adjust("1 second")
      assert.isAtMost(lists, 3)
      assert.deepStrictEqual(yield* names, ["t100"])
    })
  )

  it.effect("resubscribes to windows after a restart", () =>
    Effect.gen(function* () {
      const { alpha } = yield* withAlpha({ server: { resources: [resource(window)] } })
      assert.deepStrictEqual([...alpha.subscriptions()], [window])
      yield* alpha.crash("gone")
      yield* letGo
      assert.deepStrictEqual([...alpha.subscriptions()], [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([...alpha.subscriptions()], [window])
    })
  )

  it.effect("degrades a server whose resource listing fails and keeps its tools", () =>
    Effect.gen(function* () {
      const failure = new McpSessionError({ reason: "protocol", message: "no resources today" })
      const change = () => ({ listResources: () => Effect.fail(failure) })
      const { computer, reason, tag } = yield* withAlpha({ server: { tools: [tool("t")] }, change })
      assert.strictEqual(yield* tag, "Degraded")
      assert.include(yield* reason, "no resources today")
      assert.isFalse((yield* computer.callTool(call)).isError)
    })
  )

  it.effect("restarts a server whose session fails to close", () =>
    Effect.gen(function* () {
      let starts = 0
      const memory = yield* makeMemoryMcpServer()
      const connect = Effect.suspend(() => (starts++, Effect.addFinalizer(() => Effect.die("will not close")))).pipe(
        Effect.andThen(memory.connect)
      )
      const { tag } = yield* withAlpha({ servers: { alpha: { connect } } })
      yield* memory.crash("gone")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* tag, starts], ["Ready", 2])
    })
  )

  /** A Computer whose server takes time to close its sessions, until the test ends; `most` were open together. */
  const closingSlowly = Effect.gen(function* () {
    const sessions = { isSlow: true, open: 0, most: 0 }
    const memory = yield* makeMemoryMcpServer({ tools: [tool("t")] })
    const tracked = Effect.acquireRelease(
      Effect.sync(() => (sessions.most = Math.max(sessions.most, ++sessions.open))),
      () =>
        Effect.andThen(
          Effect.suspend(() => Effect.sleep(sessions.isSlow ? "10 seconds" : 0)),
          Effect.sync(() => void sessions.open--)
        )
    )
    const { computer } = yield* startedComputer({
      servers: { alpha: { connect: Effect.andThen(tracked, memory.connect) } }
    })
    return { computer, memory, sessions }
  })

  it.effect("waits for the previous session to close before a start", () =>
    Effect.gen(function* () {
      const { computer, memory, sessions } = yield* closingSlowly
      yield* memory.crash("gone")
      yield* letGo
      assert.strictEqual(yield* standing(computer, "alpha"), "BackingOff")
      const starting = yield* Effect.forkChild(computer.start("alpha"), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(starting)
      sessions.isSlow = false
      assert.deepStrictEqual([yield* standing(computer, "alpha"), sessions.most], ["Ready", 1])
    })
  )

  it.effect("removes the offers of a server before its session closes", () =>
    Effect.gen(function* () {
      const { computer, sessions } = yield* closingSlowly
      const stopping = yield* Effect.forkChild(computer.stop("alpha"), { startImmediately: true })
      yield* letGo
      assert.deepStrictEqual([yield* toolNames(computer), sessions.open], [[], 1])
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(stopping)
    })
  )

  it.effect("subscribes to a window found by reading the desktop", () =>
    Effect.gen(function* () {
      const { alpha, computer } = yield* withAlpha({
        server: { resources: [resource(window)] },
        change: ({ watch }) => ({ watch: (wanted) => watch({ ...wanted, resources: false }) })
      })
      yield* alpha.setResources([resource("window://com.x.app/two")])
      yield* letGo
      yield* computer.desktop({})
      yield* letGo
      assert.deepStrictEqual([...alpha.subscriptions()], ["window://com.x.app/two"])
    })
  )

  it.effect.each([
    ["succeeds", 1, [resource(window)]],
    ["is not needed any more", Number.POSITIVE_INFINITY, []]
  ] as const)("recovers when a failed subscription %s", ([, failures, resources]) =>
    Effect.gen(function* () {
      let left: number = failures
      const { alpha, tag } = yield* withAlpha({
        server: { resources: [resource(window)] },
        change: ({ watch }) => ({
          watch: (wanted) => (wanted.uris.length > 0 && left-- > 0 ? Effect.fail(dead) : watch(wanted))
        })
      })
      assert.strictEqual(yield* tag, "Degraded")
      yield* alpha.setResources(resources)
      yield* letGo
      assert.strictEqual(yield* tag, "Ready")
    })
  )

  it.effect("stops a hanging listing and uses the next one", () =>
    Effect.gen(function* () {
      let hangs = false
      const { alpha, names, reason, tag } = yield* withAlpha({
        server: { tools: [tool("one")] },
        change: ({ listTools }) => ({
          listTools: (cursor) => Effect.suspend(() => (hangs ? Effect.never : listTools(cursor)))
        })
      })
      hangs = true
      yield* alpha.setTools([tool("two")])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* tag, "Degraded")
      assert.include(yield* reason, "cannot list tools")
      hangs = false
      yield* alpha.setTools([tool("three")])
      yield* letGo
      assert.deepStrictEqual([yield* names, yield* tag], [["three"], "Ready"])
    })
  )

  it.effect("emits no state change for a desktop read", () =>
    Effect.gen(function* () {
      const { computer } = yield* withAlpha({ server: { resources: [resource(window)] } })
      let seen = 0
      yield* Effect.forkScoped(Stream.runForEach(computer.changes, () => Effect.sync(() => void seen++)))
      yield* letGo
      const before = seen
      assert.lengthOf(yield* computer.desktop({}), 1)
      yield* letGo
      assert.strictEqual(seen, before)
    })
  )

  it.effect("emits every state of a server to all subscribers", () =>
    Effect.gen(function* () {
      const { alpha, computer } = yield* withAlpha()
      const seen: Array<string | undefined> = []
      yield* Effect.forkScoped(
        Stream.runForEach(computer.changes, (states) => Effect.sync(() => seen.push(states.get("alpha")?._tag)))
      )
      yield* letGo
      yield* alpha.crash("gone")
      yield* TestClock.adjust("1 second")
      const steps = seen.filter((tag, index) => tag !== seen[index - 1])
      assert.deepStrictEqual(steps, ["Ready", "BackingOff", "Starting", "Ready"])
    })
  )

  it.effect("uses the tool settings that changed during the start", () =>
    Effect.gen(function* () {
      const { connect } = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const { computer, names } = yield* withAlpha({
        servers: { alpha: { connect: Effect.delay(connect, "5 seconds") } }
      })
      yield* TestClock.adjust("1 second")
      yield* computer.reconfigure(
        setupOf(["alpha"], { configure: { alpha: { tool_meta: { t: { alias: "renamed" } } } } })
      )
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* names, ["renamed"])
    })
  )

  it.effect("keeps the listings of a server that degrades", () =>
    Effect.gen(function* () {
      const { state } = yield* withAlpha({
        server: { tools: [tool("t")], resources: [resource("file:///x")] },
        change: () => ({ degraded: Effect.delay(Effect.succeed("no notifications"), "5 seconds") })
      })
      const before = yield* state
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual<unknown>(yield* state, { ...before, _tag: "Degraded", reason: "no notifications" })
    })
  )
})

describe("script of a server", () => {
  const missing = new VrlError({ reason: "missing", message: "install the engine" })

  it.effect.each<[string, VrlEngine["Service"]["check"] | undefined, string, ServerState["_tag"], string?]>([
    ["fails the server when it does not compile", () => Effect.succeed("1:1 error"), ".x = 1", "Failed", "1:1 error"],
    ["fails the server when it cannot be checked", () => Effect.fail(missing), ".x = 1", "Failed", missing.message],
    ["fails the server of a Computer without an engine", undefined, ".x = 1", "Failed", "no VRL engine"],
    ["starts the server when it compiles", () => Effect.succeed(undefined), ".x = 1", "Ready"],
    ["is not checked when it is blank", undefined, " ", "Ready"]
  ])("%s", ([, check, vrl, expected, message]) =>
    Effect.gen(function* () {
      const starting = withAlpha({ configure: { alpha: { vrl } } })
      const { reason, starts, tag } = yield* check === undefined
        ? starting
        : Effect.provideService(starting, VrlEngine, { check, run: () => Effect.succeed(null) })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([yield* tag, starts.count], [expected, expected === "Ready" ? 1 : 0])
      if (message !== undefined) assert.include(yield* reason, message)
    })
  )
})

describe("run of a server", () => {
  /** Opens a server without a Computer; gives the final state, and every change. */
  const run = Effect.fnUntraced(function* (isCurrent: boolean, configured: ReadonlyArray<string>) {
    const store = yield* makeServerStateStore(new Map([["alpha", initialServer(1, false)]]), () => Effect.void)
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
    const catalogues = yield* makeCatalogues("pc", secrets)
    yield* openServer({
      name: "alpha",
      run: isCurrent ? 1 : 0,
      world: { setup: () => setup, store, secrets, catalogues, listing: yield* Semaphore.make(1) },
      server: () => store.servers().get("alpha"),
      waitFor: (select) => store.waitFor((servers) => select(servers.get("alpha"))),
      send: (decide) =>
        Effect.as(
          store.update((servers) => {
            const event = decide()
            return event === undefined ? [[], servers] : transitionOf(servers, "alpha", event)
          }),
          undefined
        ),
      launch: () => Effect.void
    }).pipe(Effect.provide([connector, Inputs.layer()]))
    yield* letGo
    return { state: store.snapshot().states.get("alpha"), changes }
  })

  it.effect.each<[string, boolean, ReadonlyArray<string>, ServerState, ReadonlyArray<string>]>([
    ["emits its first attempt once", true, ["alpha"], failed("not you"), ["Starting", "Failed"]],
    ["leaves the state to a run that replaced it", false, ["alpha"], { _tag: "Starting", attempt: 1 }, ["Starting"]],
    ["fails without a configuration of the server", true, [], failed("not configured"), ["Starting", "Failed"]]
  ])("%s", ([, isCurrent, configured, state, changes]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>(yield* run(isCurrent, configured), { state, changes })
    })
  )
})
