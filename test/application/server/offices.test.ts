import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import type { Limits } from "../../../src/application/server/Limits.ts"
import { formatVersion } from "../../../src/domain/wire/version.ts"
import { type LineName, lineNamed } from "../../../src/domain/wire/lines.ts"
import { settle } from "../../settle.ts"
import { type Member, type MemberOptions, startNode } from "./clusterNode.ts"

/** A cluster with two Servers, a function that starts another one, and constructors for members of a line. */
const makeOffice = Effect.fnUntraced(function* (name: LineName) {
  const cluster = MemoryCluster.makeCluster()
  const version = formatVersion(lineNamed(name).version)
  const open = (node: string, limits: Partial<Limits> = {}) =>
    Effect.map(startNode(cluster, node, { limits }), ({ agent, computer, connect, load }) => ({
      load,
      connect: () => connect("agent", { version }),
      thinker: (options: MemberOptions = {}) => agent("thinker", { version, ...options }),
      desk: (options: MemberOptions = {}, as = "desk") => computer(as, { version, ...options })
    }))
  const [one, two] = [yield* open("one"), yield* open("two")]
  const features = { auth: { a2c_features: ["call_status"], instance: "secret" } }
  return { open, one, two, features }
})

/** Runs a test with each of two lines. */
const inCluster = (
  title: string,
  body: (office: Effect.Success<ReturnType<typeof makeOffice>>) => Effect.fn.Return<void, unknown, Scope.Scope>
) =>
  it.effect.each(["0.2", "0.4"] as const)(`${title}, on %s`, (line) =>
    Effect.flatMap(makeOffice(line), Effect.fnUntraced(body))
  )

const toolsRequest = { agent: "thinker", req_id: "r", computer: "desk" }
const toolCall = { ...toolsRequest, tool_name: "t", params: {}, timeout: 60 }
const tools = { tools: [], req_id: "r" }

/** The messages that a member has received since the last time. */
const takeAll = ({ received }: Member) => Effect.andThen(settle, () => Effect.sync(() => received.splice(0)))

const desk = { office_id: "O", computer: "desk" }
const leave = { event: "notify:leave_office", value: desk }

describe("an office shared by several Servers", () => {
  inCluster("notifies members of joins and leaves at another Server", function* ({ one, two }) {
    const agent = yield* one.thinker()
    const computer = yield* two.desk()
    assert.deepStrictEqual(yield* takeAll(agent), [{ event: "notify:enter_office", value: desk }])
    yield* computer.close
    assert.deepStrictEqual(yield* takeAll(agent), [leave])
  })

  inCluster("admits one Agent over all Servers", function* ({ one, two }) {
    yield* one.thinker()
    const other = yield* two.connect()
    const join = jsonBody({ role: "agent", name: "another", office_id: "O" })
    const reply = yield* other.link.request("server:join_office", join, Duration.hours(1))
    const current = "office 'O' has the Agent 'thinker', connected since 1970-01-01T00:00:00.000Z"
    assert.deepStrictEqual(
      reply.map(({ head }) => Result.getOrThrow(head)),
      [false, `Room already has an agent: ${current}`]
    )
  })

  inCluster("lets a member that reconnects to another Server take over its membership", function* (office) {
    const { features, one, two } = office
    const ghost = yield* one.thinker(features)
    yield* two.thinker(features)
    assert.strictEqual(yield* ghost.closed, "replaced by a new connection of the same member")
    yield* settle
    assert.deepStrictEqual([one.load().sessions, two.load().sessions], [0, 1])
  })

  inCluster("rejects a forwarded call when its Computer has moved to another office", function* ({ one, two }) {
    const agent = yield* one.thinker()
    const computer = yield* two.desk()
    const move = { role: "computer", name: "desk", office_id: "P" }
    // The Server of the Agent forwards the call before the Computer moves.
    const [reply] = yield* Effect.all(
      [agent.request("client:get_tools", toolsRequest), computer.request("server:join_office", move)],
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(reply, {
      code: 404,
      message: "Computer 'desk' not found in the office",
      details: { computer_name: "desk" }
    })
    assert.deepStrictEqual(computer.received, [])
  })

  inCluster("removes the members of a Server that ends", function* ({ one, open }) {
    const agent = yield* one.thinker()
    const scope = yield* Scope.make()
    const three = yield* Scope.provide(open("three"), scope)
    yield* three.desk()
    yield* takeAll(agent)
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual(yield* takeAll(agent), [leave])
  })

  inCluster("limits the calls to a Computer of another Server, and counts each until it ends", function* (office) {
    const three = yield* office.open("three", { callsPerComputer: 2 })
    const agent = yield* three.thinker()
    const gate = yield* Deferred.make<void>()
    const computer = yield* office.two.desk({ answer: () => Effect.as(Deferred.await(gate), tools) })
    const call = (reqId: string) => agent.request("client:get_tools", { ...toolsRequest, req_id: reqId })
    const calling = yield* Effect.forkChild(Effect.all([call("a"), call("b")], { concurrency: "unbounded" }))
    assert.lengthOf(yield* takeAll(computer), 2)
    assert.deepInclude(Object(yield* call("c")), { code: 429 })
    yield* Deferred.succeed(gate, undefined)
    assert.deepStrictEqual(yield* Fiber.join(calling), [tools, tools])
    assert.deepStrictEqual(yield* call("d"), tools)
  })

  /** A call in flight to a Computer at another Server, which replies when `gate` is done. */
  const startCall = Effect.fnUntraced(function* (
    { one, two }: Effect.Success<ReturnType<typeof makeOffice>>,
    options?: MemberOptions
  ) {
    const agent = yield* one.thinker(options)
    const gate = yield* Deferred.make<void>()
    const answer = () => Effect.as(Deferred.await(gate), { content: [], isError: false })
    const computer = yield* two.desk({ answer })
    yield* takeAll(agent)
    const call = yield* Effect.forkChild(agent.request("client:tool_call", toolCall), { startImmediately: true })
    yield* takeAll(computer)
    const reply = Effect.map(Fiber.join(call), (value) => Object(value))
    const report = (wait: object) => computer.request("server:update_tool_call", { ...status, ...wait })
    return { agent, computer, gate, reply, report }
  })
  const shownStatus = { computer: "desk", status: "waiting_for_servers", servers: ["alpha"] }
  const status = { ...shownStatus, req_id: "r" }

  inCluster("delivers the status of a call between Servers", function* (office) {
    const { agent, report } = yield* startCall(office, office.features)
    assert.isUndefined(yield* report({}))
    assert.deepStrictEqual(yield* takeAll(agent), [{ event: "notify:update_tool_call", value: status }])
  })

  inCluster("waits at both Servers for as long as a status of the call announces", function* (office) {
    const { agent, gate, reply, report } = yield* startCall(office, office.features)
    assert.deepStrictEqual(yield* report({ wait_seconds: 300 }), { wait_seconds: 300 })
    const value = { ...status, wait_seconds: 300 }
    assert.deepStrictEqual(yield* takeAll(agent), [{ event: "notify:update_tool_call", value }])
    yield* TestClock.adjust("5 minutes")
    yield* Deferred.succeed(gate, undefined)
    assert.deepStrictEqual(yield* reply, { content: [], isError: false })
  })

  inCluster("waits no longer for an Agent that does not know statuses, and sends it none", function* (office) {
    const { agent, reply, report } = yield* startCall(office)
    assert.deepStrictEqual(yield* report({ wait_seconds: 300 }), { wait_seconds: 0 })
    yield* TestClock.adjust("70 seconds")
    assert.deepInclude(yield* reply, { code: 408 })
    assert.deepStrictEqual(agent.received, [])
  })

  inCluster("ends a call at once when its Computer leaves at another Server", function* (office) {
    const { computer, reply } = yield* startCall(office)
    yield* computer.request("server:leave_office", { office_id: "O" })
    assert.deepInclude(yield* reply, { code: 404 })
  })

  inCluster("cancels a call at another Server when its Agent leaves", function* (office) {
    const { agent, computer, reply } = yield* startCall(office)
    yield* agent.request("server:leave_office", { office_id: "O" })
    assert.deepInclude(yield* reply, { code: 4103 })
    const cancel = { event: "notify:tool_call_cancel", value: { agent: "thinker", req_id: "r" } }
    assert.deepInclude(yield* takeAll(computer), cancel)
  })

  inCluster("routes calls to the Server to which their Computer has moved", function* ({ features, one, open, two }) {
    const three = yield* open("three")
    const agent = yield* one.thinker()
    const servers = [two, three, one, two]
    const computers: Array<Member> = []
    for (const [index, server] of servers.entries()) {
      computers.push(yield* server.desk({ ...features, answer: () => Effect.succeed(tools) }))
      assert.deepStrictEqual(yield* agent.request("client:get_tools", toolsRequest), tools)
      const counts = computers.map(
        ({ received }) => received.splice(0).filter(({ event }) => event.startsWith("client:")).length
      )
      assert.deepStrictEqual(
        counts,
        computers.map((_, at) => (at === index ? 1 : 0))
      )
    }
  })

  inCluster("delivers the status of a call to the Server to which its Agent has moved", function* (office) {
    const { features, one, open, two } = office
    const servers = [one, two, yield* open("three")]
    const computer = yield* two.desk({ answer: () => Effect.never })
    for (const { thinker } of [...servers, ...servers]) {
      const agent = yield* thinker(features)
      yield* takeAll(computer)
      yield* takeAll(agent)
      yield* Effect.forkChild(agent.request("client:tool_call", toolCall), { startImmediately: true })
      assert.deepInclude(yield* takeAll(computer), { event: "client:tool_call", value: toolCall })
      yield* computer.notify("server:update_tool_call", status)
      assert.deepStrictEqual(yield* takeAll(agent), [{ event: "notify:update_tool_call", value: status }])
    }
  })

  inCluster("delivers cancellations and changes between Servers", function* ({ one, two }) {
    const agent = yield* one.thinker()
    const computers = [yield* two.desk(), yield* two.desk({}, "lamp")]
    yield* takeAll(agent)
    for (const computer of computers) yield* takeAll(computer)
    const value = { agent: "thinker", req_id: "r" }
    yield* agent.notify("server:tool_call_cancel", value)
    for (const computer of computers) {
      assert.deepStrictEqual(yield* takeAll(computer), [{ event: "notify:tool_call_cancel", value }])
    }
    yield* computers[0]?.notify("server:update_tool_list", { computer: "desk" }) ?? Effect.void
    const change = { event: "notify:update_tool_list", value: { computer: "desk" } }
    assert.deepStrictEqual(yield* takeAll(agent), [change])
  })
})
