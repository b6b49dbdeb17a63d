import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { allowAll } from "../../../../src/application/ports/Authenticator.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { AdmissionRejected, TransportClient } from "../../../../src/application/ports/Transport.ts"
import { callOutcome } from "../../../../src/application/server/observability/observers.ts"
import type { Role } from "../../../../src/domain/model/Membership.ts"
import { packageVersion } from "../../../../src/domain/packageVersion.ts"
import { lineNames, PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"
import { computerNotFound, ProtocolError } from "../../../../src/domain/model/ProtocolError.ts"
import { agentUnderTest, computerUnderTest, textResult, tool } from "../../../conformance/members.ts"
import { connectMember } from "../clusterNode.ts"
import { clusterWith } from "../parts.ts"
import { type Seen, seenServer } from "../seen.ts"
import { effectWith } from "../../../testWith.ts"

const calls = (outcome: string) => `a2c_calls_total{event=client:tool_call,outcome=${outcome}}`

/** An office whose Computer has a tool that succeeds, one that fails and one that waits. The Agent has listed them. */
const office = Effect.gen(function* () {
  const seen = yield* seenServer()
  const started = yield* Deferred.make<void>()
  const server = yield* makeMemoryMcpServer({
    tools: [
      tool("good"),
      tool("bad", () => Effect.succeed(textResult("no", { isError: true }))),
      tool("slow", () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
    ]
  })
  const computerScope = yield* Scope.fork(yield* Effect.scope)
  yield* Scope.provide(computerUnderTest(seen, { servers: { server } }), computerScope)
  const agent = yield* agentUnderTest(seen)
  yield* agent.settled
  return { agent, computerScope, seen, started }
})

/** The error of a rejected connection. */
const rejectedConnection = ({ client }: Seen, role = "agent") =>
  TransportClient.use(({ connect }) =>
    connect({ version: PROTOCOL_VERSION, auth: { role }, onMessage: () => Effect.succeed([]) })
  ).pipe(Effect.scoped, Effect.flip, Effect.provide(client))

/** A Server that rejects all connections with this code. */
const rejecting = (code: number) =>
  seenServer({}, { ...allowAll, authenticate: () => Effect.fail(new AdmissionRejected({ code, message: "no token" })) })

const test = effectWith(office)
const testServer = effectWith(seenServer())

describe("the ServerMetrics of a watched Server", () => {
  test("counts calls by event and outcome", function* ({ agent, seen }) {
    yield* agent.callTool({ computer: "pc-1", tool: "good" })
    yield* agent.callTool({ computer: "pc-1", tool: "good" })
    yield* agent.callTool({ computer: "pc-1", tool: "bad" })
    yield* Effect.flip(agent.callTool({ computer: "absent", tool: "good" }))
    const series = seen.series()
    assert.deepStrictEqual([series[calls("ok")], series[calls("tool_error")], series[calls("404")]], [2, 1, 1])
    assert.strictEqual(series["a2c_call_duration_seconds{event=client:tool_call}"], 4)
    assert.isAbove(series["a2c_call_request_bytes_total{event=client:tool_call}"] ?? 0, 4 * 50)
    assert.isAbove(series["a2c_call_reply_bytes_total{event=client:tool_call}"] ?? 0, 3 * 20)
  })

  test("counts a call that ends because its Computer is lost", function* ({ agent, computerScope, seen, started }) {
    yield* TestClock.adjust("10 seconds")
    const calling = yield* Effect.forkChild(
      Effect.flip(agent.callTool({ computer: "pc-1", tool: "slow", timeout: 60 }))
    )
    yield* Deferred.await(started)
    assert.strictEqual(seen.series()["a2c_calls_in_flight"], 1)
    yield* TestClock.adjust("2 seconds")
    yield* Scope.close(computerScope, Exit.void)
    yield* Fiber.join(calling)
    assert.strictEqual(seen.series()[calls("404")], 1)
    assert.strictEqual(seen.series()["a2c_calls_in_flight"], 0)
    const { latency } = seen.observability.report().recent
    assert.approximately(latency?.p99 ?? 0, 2000, 200)
  })

  test("counts joins and leaves, and shows current members", function* ({ computerScope, seen }) {
    const shown = () => {
      const series = seen.series()
      return [
        "a2c_members{role=agent}",
        "a2c_members{role=computer}",
        "a2c_offices",
        "a2c_connections",
        "a2c_joins_total{role=computer}",
        "a2c_leaves_total{role=computer}"
      ].map((name) => series[name])
    }
    assert.deepStrictEqual(shown(), [1, 1, 1, 2, 1, undefined])
    yield* Scope.close(computerScope, Exit.void)
    assert.deepStrictEqual(shown(), [1, 0, 1, 1, 1, 1])
    assert.deepStrictEqual(seen.observability.offices(10), [{ office: "O1", line: "0.2", agents: 1, computers: 0 }])
  })

  it.effect.each([
    [401, "401"],
    [123_456, "other"]
  ] as const)("counts connections that are rejected with %d as %s", ([code, label]) =>
    Effect.gen(function* () {
      const seen = yield* rejecting(code)
      yield* rejectedConnection(seen)
      assert.strictEqual(seen.series()[`a2c_connections_rejected_total{code=${label}}`], 1)
      assert.deepStrictEqual(seen.observability.report().totals.rejectedConnections, { [label]: 1 })
    })
  )

  testServer("removes a gauge when its scope closes", function* ({ metrics, observability, series }) {
    const owner = yield* Scope.make()
    yield* Scope.provide(metrics.gauge({ name: "nodes", labels: { of: "a test" }, read: () => 4 }), owner)
    assert.strictEqual(series()["a2c_nodes{of=a test}"], 4)
    assert.strictEqual(observability.report().gauges["nodes{of=a test}"], 4)
    yield* Scope.close(owner, Exit.void)
    assert.notProperty(series(), "a2c_nodes{of=a test}")
    assert.notProperty(observability.report().gauges, "nodes{of=a test}")
  })
})

describe("the report of a Server", () => {
  it.effect("has its version, the time since its start and its gauges", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5000)
      const seen = yield* seenServer()
      yield* TestClock.adjust("90 seconds")
      const { gauges, members, lines, offices, startedAt, uptimeSeconds, version } = seen.observability.report()
      assert.deepStrictEqual([version, lines], [packageVersion, lineNames])
      assert.deepStrictEqual([startedAt, uptimeSeconds], [5000, 90])
      assert.deepStrictEqual([members, offices], [{ agents: 0, computers: 0 }, 0])
      assert.deepInclude(gauges, {
        "members{role=agent}": 0,
        offices: 0,
        ready: 1,
        components_unhealthy: 0,
        uptime_seconds: 90,
        [`build_info{version=${packageVersion},lines=${lineNames.join(",")}}`]: 1,
        audit_events_dropped_total: 0,
        connections: 0,
        nodes: 1,
        registry_up: 1,
        registry_sessions: 0,
        registry_offices: 0
      })
      assert.deepInclude(seen.series(), { a2c_uptime_seconds: 90, a2c_ready: 1, a2c_audit_events_dropped_total: 0 })
    })
  )

  test("counts calls, outcomes and dropped messages", function* ({ agent, seen }) {
    const before = seen.observability.report().totals.calls
    yield* agent.callTool({ computer: "pc-1", tool: "bad" })
    seen.metrics.dropped("notification")
    seen.metrics.dropped("notification")
    const { calls: after, dropped, outcomes } = seen.observability.report().totals
    assert.strictEqual(after, before + 1)
    assert.deepInclude(outcomes, { tool_error: 1 })
    assert.deepStrictEqual(dropped, { notification: 2 })
    assert.strictEqual(seen.series()["a2c_dropped_total{kind=notification}"], 2)
  })

  it.effect("has the limits of the memory of all members that are set", () =>
    Effect.gen(function* () {
      const limits = { totalBacklogBytes: 1000, totalIncompleteBytes: Infinity, totalRequestBytes: 3000 }
      const { gauges } = (yield* seenServer({}, allowAll, limits)).observability.report()
      assert.deepStrictEqual(
        Object.entries(gauges).filter(([name]) => name.startsWith("memory_limit_bytes")),
        [
          ["memory_limit_bytes{limit=total_backlog_bytes}", 1000],
          ["memory_limit_bytes{limit=total_request_bytes}", 3000]
        ]
      )
    })
  )

  it.effect("has the error of a registry that cannot be reached, and stays ready", () =>
    Effect.gen(function* () {
      let available = true
      const cluster = clusterWith((registry) => ({ state: () => ({ ...registry.state(), available }) }))
      const { observability } = yield* seenServer({}, allowAll, {}, cluster)
      assert.deepStrictEqual(observability.report().components, { registry: { ok: true } })
      available = false
      const { components, gauges, state } = observability.report()
      const error = "the shared registry cannot be reached: no member can join"
      assert.deepStrictEqual([state, components], ["ready", { registry: { ok: false, error } }])
      assert.deepInclude(gauges, { registry_up: 0, components_unhealthy: 1 })
    })
  )

  testServer("is not ready while the Server drains", function* (seen) {
    seen.readiness.setState({ _tag: "Draining", reason: "a test" })
    assert.strictEqual(seen.series()["a2c_ready"], 0)
    assert.notProperty((yield* seenServer()).observability.report(), "reason")
  })

  test("lists offices with members only", function* ({ computerScope, seen }) {
    const lateScope = yield* Scope.fork(yield* Effect.scope)
    yield* Scope.close(computerScope, Exit.void)
    yield* Scope.provide(computerUnderTest(seen, { office: "O2" }), lateScope)
    yield* Effect.repeat(Effect.yieldNow, { until: () => seen.observability.report().offices === 2 })
    assert.strictEqual(seen.observability.offices(1).length, 1)
    yield* Scope.close(lateScope, Exit.void)
    assert.deepStrictEqual(seen.observability.offices(10), [{ office: "O1", line: "0.2", agents: 1, computers: 0 }])
  })
})

describe("the outcome of a call", () => {
  const largeReply = { ...jsonBody({}), isHeadParsed: false, head: Result.succeed({ isError: true }) }

  it.each([
    ["ok", "a result", jsonBody({ content: [], isError: false })],
    ["tool_error", "the result of a tool that failed", jsonBody({ content: [], isError: true })],
    ["4015", "a known code", jsonBody({ code: 4015, message: "cannot" })],
    ["other", "another code", jsonBody({ code: 123_456, message: "made up" })],
    ["other", "another reply", jsonBody("no object")],
    ["404", "an error", computerNotFound("x")],
    ["other", "an error with another code", new ProtocolError({ code: 1, message: "?" })],
    ["ok", "a large reply whose head is not parsed", largeReply]
  ] as const)("is %s for %s", (expected, _, outcome) => assert.strictEqual(callOutcome({ outcome }), expected))
})

describe("the readiness of a Server", () => {
  it.effect("is ready while the Server accepts members, and drains before it closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const seen = yield* Scope.provide(seenServer(), scope)
      assert.strictEqual(seen.observability.report().state, "ready")
      yield* Scope.close(scope, Exit.void)
      const { reason, state } = seen.observability.report()
      assert.deepStrictEqual([state, reason], ["draining", "the Server is shutting down"])
    })
  )
})

describe("the audit of a Server", () => {
  test("gets one event per call, with the request and without arguments in its fields", function* ({ agent, seen }) {
    yield* Queue.takeAll(seen.audited)
    const secret = { password: "open sesame" }
    yield* agent.callTool({ computer: "pc-1", tool: "good", params: secret })
    const [event, ...others] = yield* Queue.takeAll(seen.audited)
    assert.deepStrictEqual(others, [])
    const { ms, req_id, ...fields } = event?.fields ?? {}
    assert.deepStrictEqual(fields, {
      type: "call",
      office: "O1",
      line: "0.2",
      agent: "agent-1",
      subject: "anonymous",
      computer: "pc-1",
      event: "client:tool_call",
      tool: "good",
      outcome: "ok"
    })
    assert.isNumber(ms)
    assert.match(String(req_id), /^[0-9a-f-]{36}$/)
    assert.notInclude(JSON.stringify(event?.fields), "sesame")
    assert.isDefined(event?.request)
  })

  test("gets joins, leaves and rejected connections", function* ({ computerScope, seen }) {
    yield* Scope.close(computerScope, Exit.void)
    yield* rejectedConnection(seen, "cook")
    const events = (yield* Queue.takeAll(seen.audited)).map(({ fields }) => fields)
    const entries = events.filter(({ type }) => type !== "call").map(({ name, type }) => [type, name])
    assert.deepStrictEqual(entries, [
      ["join", "pc-1"],
      ["join", "agent-1"],
      ["leave", "pc-1"],
      ["connection_refused", undefined]
    ])
  })

  /** A raw client, and the fields of the audit events since its connection. */
  const rawClient = Effect.fnUntraced(function* ({ audited, client }: Seen, role: Role) {
    const { request, sid } = yield* connectMember(yield* Effect.provide(TransportClient, client), role, {})
    const join = (name: string) => request("server:join_office", { role, name, office_id: "O2" })
    const events = Effect.map(Queue.clear(audited), (found) => found.map(({ fields }) => fields))
    return { events, join, request, sid }
  })
  const call = { agent: "eve", req_id: "r", computer: "pc-1" }

  /** The raw Agent `eve` in an office. */
  const joinedEve = (seen: Seen) =>
    Effect.tap(rawClient(seen, "agent"), ({ events, join }) => Effect.andThen(join("eve"), events))

  const testEve = effectWith(Effect.flatMap(seenServer(), joinedEve))

  testEve("gets requests that are rejected before they are routed", function* (eve) {
    yield* eve.request("client:get_tools", { ...call, req_id: 7 })
    yield* eve.request("client:tool_call", { ...call, agent: "ada", tool_name: "t", params: {}, timeout: 1 })
    const member = { office: "O2", role: "agent", name: "eve", subject: "anonymous", sid: eve.sid }
    const [invalid, forged, ...others] = yield* eve.events
    assert.deepStrictEqual(others, [])
    assert.deepInclude(invalid, { type: "request_refused", event: "client:get_tools", code: 400, ...member })
    assert.deepInclude(forged, { type: "request_refused", event: "client:tool_call", code: 403, ...member })
    assert.match(String(forged?.["reason"]), /"ada"/)
  })

  testServer("gets requests of clients without the role or an office", function* (seen) {
    const agent = yield* rawClient(seen, "agent")
    const computer = yield* rawClient(seen, "computer")
    for (const event of ["client:get_tools", "client:new", "server:list_room"]) {
      yield* agent.request(event, { ...call, office_id: "O2" })
      yield* computer.request(event, { ...call, office_id: "O2" })
    }
    const events = yield* agent.events
    const expected = ["client:get_tools", "client:new", "server:list_room"].flatMap((event) =>
      [4103, 403].map((code) => ({ type: "request_refused", event, code, subject: "anonymous" }))
    )
    assert.deepStrictEqual(
      events.map(({ code, event, subject, type }) => ({ type, event, code, subject })),
      expected
    )
    assert.isUndefined(events[0]?.["office"])
  })

  testEve("gets rejected lists, leaves, unknown events, and messages without a reply", function* (eve) {
    yield* eve.request("server:list_room", { agent: "eve", req_id: "r", office_id: "O1" })
    yield* eve.request("server:leave_office", { office_id: "O1" })
    yield* eve.request("server:leave_office", {})
    yield* eve.request("server:nonsense", {})
    yield* eve.request("server:tool_call_cancel", { agent: "ada", req_id: "r" })
    yield* eve.request("server:tool_call_cancel", {})
    yield* eve.request("server:update_config", { computer: "pc-1" })
    assert.deepStrictEqual(
      (yield* eve.events).map(({ code, event }) => [event, code]),
      [
        ["server:list_room", 4104],
        ["server:leave_office", 4103],
        ["server:leave_office", 400],
        ["server:nonsense", 404],
        ["server:tool_call_cancel", 403],
        ["server:tool_call_cancel", 400],
        ["server:update_config", 403]
      ]
    )
  })

  it.effect("gets requests beyond the rate limit once per burst", () =>
    Effect.gen(function* () {
      const seen = yield* seenServer({}, allowAll, { messagesPerSecond: 1, messageBurst: 3 })
      const eve = yield* joinedEve(seen)
      for (let sent = 0; sent < 5; sent++) yield* eve.request("client:get_tools", call)
      assert.deepStrictEqual(
        (yield* eve.events).map(({ code, outcome, type }) => [type, code ?? outcome]),
        [
          ["call", "404"],
          ["call", "404"],
          ["request_refused", 429]
        ]
      )
      yield* TestClock.adjust("10 seconds")
      for (let sent = 0; sent < 3; sent++) yield* eve.join("other")
      yield* eve.join("other")
      const reason = "More than 1 messages a second, 3 at once"
      assert.deepInclude((yield* eve.events).at(-1), { type: "join_refused", reason })
    })
  )

  testServer("gets calls and joins that a Server rejects while it drains", function* (seen) {
    const eve = yield* joinedEve(seen)
    seen.readiness.setState({ _tag: "Draining", reason: "a test" })
    yield* eve.request("client:get_tools", call)
    yield* eve.join("eve")
    assert.deepStrictEqual(
      (yield* eve.events).map(({ code, type }) => [type, code]),
      [
        ["request_refused", 503],
        ["join_refused", undefined]
      ]
    )
  })

  it.effect("omits rejected connections beyond a rate limit and states their number", () =>
    Effect.gen(function* () {
      const seen = yield* rejecting(401)
      yield* Effect.repeat(rejectedConnection(seen), { times: 1009 })
      yield* TestClock.adjust("1 second")
      yield* rejectedConnection(seen)
      const events = (yield* Queue.clear(seen.audited)).map(({ fields }) => fields)
      assert.strictEqual(events.length, 1001)
      assert.deepInclude(events.at(-1), { type: "connection_refused", code: 401, omitted: 10 })
      assert.notProperty(events[0], "omitted")
      assert.strictEqual(seen.series()["a2c_connections_rejected_total{code=401}"], 1011)
    })
  )

  test("gets rejected joins", function* ({ seen }) {
    yield* Queue.takeAll(seen.audited)
    yield* Effect.exit(agentUnderTest(seen, { name: "second" }))
    const events = (yield* Queue.takeAll(seen.audited)).map(({ fields }) => fields)
    assert.deepInclude(events[0], { type: "join_refused" })
    assert.match(String(events[0]?.["reason"]), /^Room already has an agent/)
    assert.strictEqual(seen.series()["a2c_joins_rejected_total"], 1)
  })
})
