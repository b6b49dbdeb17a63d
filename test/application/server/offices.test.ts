import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Queue, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { type Reply, TransportClient } from "../../../src/application/ports/Transport.ts"
import { Limits } from "../../../src/application/server/connections/Limits.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { asObject } from "../../../src/domain/json.ts"
import { formatVersion } from "../../../src/domain/wire/version.ts"
import { type LineName, lineNamed } from "../../../src/domain/wire/lines.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Observability } from "../../../src/application/server/observability/Observability.ts"

interface MemberOptions {
  readonly instance?: string
  readonly features?: ReadonlyArray<string>
  /** The reply to each message. */
  readonly answer?: Effect.Effect<Reply>
}

/** One Server of a cluster in memory, and a function that connects to it with a protocol line. */
const startServer = Effect.fnUntraced(function* (
  { cluster, line }: { readonly cluster: MemoryCluster.MemoryCluster; readonly line: LineName },
  idPrefix: string,
  limits: Partial<Limits> = {}
) {
  const context = yield* Server.layer.pipe(
    Layer.provideMerge(MemoryTransport.layer({ idPrefix })),
    Layer.provide(MemoryCluster.layerNode(cluster, idPrefix)),
    Layer.provide(Layer.succeed(Limits, { ...Limits.defaultValue(), ...limits })),
    Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
    Layer.fresh,
    Layer.build
  )
  const transport = Context.get(context, TransportClient)
  const member = Effect.fnUntraced(function* (
    role: "agent" | "computer",
    { answer = Effect.succeed([]), features = [], instance }: MemberOptions = {}
  ) {
    const received = yield* Queue.unbounded<string>()
    const link = yield* transport.connect({
      version: formatVersion(lineNamed(line).version),
      auth: { role, a2c_features: features, ...(instance !== undefined && { instance }) },
      onMessage: (event, body) =>
        Effect.andThen(Queue.offer(received, `${event} ${Result.getOrElse(body.text(), () => "?")}`), answer)
    })
    const join = (as: string, office: string) =>
      Effect.map(
        link.request("server:join_office", jsonBody({ role, name: as, office_id: office }), Duration.hours(1)),
        (reply) => reply.map((body) => Result.getOrElse(body.value(), () => "?"))
      )
    return { link, received, join }
  })
  return { member, server: Context.get(context, Server) }
})

const inCluster = (
  title: string,
  body: (
    open: (name: string, limits?: Partial<Limits>) => ReturnType<typeof startServer>
  ) => Effect.Effect<void, unknown, Scope.Scope>
) =>
  it.effect.each(["0.2", "0.4"] as const)(`${title}, on %s`, (line) => {
    const cluster = MemoryCluster.makeCluster()
    return body((name, limits) => startServer({ cluster, line }, name, limits))
  })

describe("an office shared by several Servers", () => {
  inCluster("notifies members of joins and leaves at another Server", (open) =>
    Effect.gen(function* () {
      const [one, two] = [yield* open("one"), yield* open("two")]
      const agent = yield* one.member("agent")
      yield* agent.join("thinker", "O")
      const scope = yield* Scope.make()
      const computer = yield* Scope.provide(two.member("computer"), scope)
      assert.deepStrictEqual(yield* computer.join("desk", "O"), [true, null])
      assert.strictEqual(yield* Queue.take(agent.received), 'notify:enter_office {"office_id":"O","computer":"desk"}')
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Queue.take(agent.received), 'notify:leave_office {"office_id":"O","computer":"desk"}')
    })
  )

  inCluster("admits one Agent over all Servers", (open) =>
    Effect.gen(function* () {
      const [one, two] = [yield* open("one"), yield* open("two")]
      yield* (yield* one.member("agent")).join("thinker", "O")
      const other = yield* two.member("agent")
      const current = "office 'O' has the Agent 'thinker', connected since 1970-01-01T00:00:00.000Z"
      assert.deepStrictEqual(yield* other.join("another", "O"), [false, `Room already has an agent: ${current}`])
    })
  )

  inCluster("lets a member that reconnects to another Server take over its membership", (open) =>
    Effect.gen(function* () {
      const [one, two] = [yield* open("one"), yield* open("two")]
      const ghost = yield* one.member("agent", { instance: "secret" })
      yield* ghost.join("thinker", "O")
      const back = yield* two.member("agent", { instance: "secret" })
      assert.deepStrictEqual(yield* back.join("thinker", "O"), [true, null])
      assert.strictEqual(yield* ghost.link.closed, "replaced by a new connection of the same member")
      const sessions = Effect.sync(() => [one.server.load().sessions, two.server.load().sessions])
      yield* Effect.repeat(Effect.andThen(Effect.yieldNow, sessions), { until: ([left]) => left === 0 })
      assert.deepStrictEqual(yield* sessions, [0, 1])
    })
  )

  inCluster("rejects a forwarded call when its Computer has moved to another office", (open) =>
    Effect.gen(function* () {
      const [one, two] = [yield* open("one"), yield* open("two")]
      const agent = yield* one.member("agent")
      yield* agent.join("thinker", "O")
      const computer = yield* two.member("computer")
      yield* computer.join("desk", "O")
      const body = jsonBody({ agent: "thinker", req_id: "r", computer: "desk" })
      // The Server of the Agent forwards the call before the Computer moves.
      const [reply] = yield* Effect.all(
        [agent.link.request("client:get_tools", body, Duration.minutes(1)), computer.join("desk", "P")],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        reply.map(({ head }) => Result.getOrElse(head, () => "?")),
        [{ code: 404, message: "Computer 'desk' not found in the office", details: { computer_name: "desk" } }]
      )
      assert.deepStrictEqual(yield* Queue.clear(computer.received), [])
    })
  )

  inCluster("removes the members of a Server that ends", (open) =>
    Effect.gen(function* () {
      const one = yield* open("one")
      const agent = yield* one.member("agent")
      yield* agent.join("thinker", "O")
      const scope = yield* Scope.make()
      const two = yield* Scope.provide(open("two"), scope)
      const computer = yield* two.member("computer")
      yield* computer.join("desk", "O")
      yield* Queue.take(agent.received)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Queue.take(agent.received), 'notify:leave_office {"office_id":"O","computer":"desk"}')
    })
  )

  inCluster("limits the calls to a Computer of another Server, and counts each until it ends", (open) =>
    Effect.gen(function* () {
      const [one, two] = [yield* open("one", { callsPerComputer: 2 }), yield* open("two")]
      const agent = yield* one.member("agent")
      yield* agent.join("thinker", "O")
      const gate = yield* Deferred.make<void>()
      const tools = Effect.as(Deferred.await(gate), [jsonBody({ tools: [], req_id: "r" })])
      const computer = yield* two.member("computer", { answer: tools })
      yield* computer.join("desk", "O")
      const call = (reqId: string) =>
        Effect.map(
          agent.link.request(
            "client:get_tools",
            jsonBody({ agent: "thinker", req_id: reqId, computer: "desk" }),
            Duration.hours(1)
          ),
          ([reply]) => (reply === undefined ? {} : asObject(Result.getOrElse(reply.value(), () => "?")))
        )
      const calling = yield* Effect.forkChild(Effect.all([call("a"), call("b")], { concurrency: "unbounded" }))
      yield* Effect.repeat(Queue.take(computer.received), { times: 1 })
      assert.deepInclude(yield* call("c"), { code: 429 })
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(
        (yield* Fiber.join(calling)).map((reply) => reply["tools"]),
        [[], []]
      )
      assert.deepStrictEqual((yield* call("d"))["tools"], [])
    })
  )

  /** An Agent at one Server with a call in flight to a Computer at another one, which replies when `gate` is done. */
  const calling = Effect.fnUntraced(function* (
    open: (name: string) => ReturnType<typeof startServer>,
    features: ReadonlyArray<string> = []
  ) {
    const [one, two] = [yield* open("one"), yield* open("two")]
    const agent = yield* one.member("agent", { features })
    yield* agent.join("thinker", "O")
    const gate = yield* Deferred.make<void>()
    const answer = Effect.as(Deferred.await(gate), [jsonBody({ content: [], isError: false })])
    const computer = yield* two.member("computer", { answer })
    yield* computer.join("desk", "O")
    yield* Queue.take(agent.received)
    const call = { agent: "thinker", req_id: "r", computer: "desk", tool_name: "t", params: {}, timeout: 60 }
    const fiber = yield* Effect.forkChild(agent.link.request("client:tool_call", jsonBody(call), Duration.hours(1)), {
      startImmediately: true
    })
    yield* Queue.take(computer.received)
    const reply = Effect.map(Fiber.join(fiber), ([body]) =>
      body === undefined ? {} : asObject(Result.getOrElse(body.value(), () => "?"))
    )
    const report = (wait: object) =>
      computer.link.request(
        "server:update_tool_call",
        jsonBody({ computer: "desk", req_id: "r", status: "waiting_for_servers", servers: ["alpha"], ...wait }),
        Duration.hours(1)
      )
    return { agent, computer, gate, reply, report }
  })

  const textsOf = (reply: Reply) => reply.map((body) => Result.getOrElse(body.text(), () => "?"))

  inCluster("delivers the status of a call between Servers", (open) =>
    Effect.gen(function* () {
      const { agent, report } = yield* calling(open, ["call_status"])
      assert.deepStrictEqual(textsOf(yield* report({})), [])
      const status = '{"computer":"desk","req_id":"r","status":"waiting_for_servers","servers":["alpha"]}'
      assert.strictEqual(yield* Queue.take(agent.received), `notify:update_tool_call ${status}`)
    })
  )

  inCluster("waits at both Servers for as long as a status of the call announces", (open) =>
    Effect.gen(function* () {
      const { agent, gate, reply, report } = yield* calling(open, ["call_status"])
      assert.deepStrictEqual(textsOf(yield* report({ wait_seconds: 300 })), ['{"wait_seconds":300}'])
      assert.include(yield* Queue.take(agent.received), '"wait_seconds":300')
      yield* TestClock.adjust("5 minutes")
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* reply, { content: [], isError: false })
    })
  )

  inCluster("waits no longer for an Agent that does not know statuses, and sends it none", (open) =>
    Effect.gen(function* () {
      const { agent, reply, report } = yield* calling(open)
      assert.deepStrictEqual(textsOf(yield* report({ wait_seconds: 300 })), ['{"wait_seconds":0}'])
      yield* TestClock.adjust("70 seconds")
      assert.deepInclude(yield* reply, { code: 408 })
      assert.deepStrictEqual(yield* Queue.clear(agent.received), [])
    })
  )

  inCluster("ends a call at once when its Computer leaves at another Server", (open) =>
    Effect.gen(function* () {
      const { computer, reply } = yield* calling(open)
      yield* computer.link.request("server:leave_office", jsonBody({ office_id: "O" }), Duration.minutes(1))
      assert.deepInclude(yield* reply, { code: 404 })
    })
  )

  inCluster("cancels a call at another Server when its Agent leaves", (open) =>
    Effect.gen(function* () {
      const { agent, computer, reply } = yield* calling(open)
      yield* agent.link.request("server:leave_office", jsonBody({ office_id: "O" }), Duration.minutes(1))
      assert.deepInclude(yield* reply, { code: 4103 })
      assert.include(
        [yield* Queue.take(computer.received), yield* Queue.take(computer.received)],
        'notify:tool_call_cancel {"agent":"thinker","req_id":"r"}'
      )
    })
  )

  inCluster("routes calls to the Server to which their Computer has moved", (open) =>
    Effect.gen(function* () {
      const [one, two, three] = [yield* open("one"), yield* open("two"), yield* open("three")]
      const agent = yield* one.member("agent")
      yield* agent.join("thinker", "O")
      const tools = jsonBody({ tools: [], req_id: "r" })
      const options = { instance: "secret", answer: Effect.succeed([tools]) }
      const servers = [two, three, one, two]
      const computers = yield* Effect.forEach(servers, ({ member }) => member("computer", options))
      for (const [index, computer] of computers.entries()) {
        assert.deepStrictEqual(yield* computer.join("desk", "O"), [true, null])
        const body = jsonBody({ agent: "thinker", req_id: "r", computer: "desk" })
        const [reply] = yield* agent.link.request("client:get_tools", body, Duration.minutes(1))
        assert.deepStrictEqual(reply && textsOf([reply]), textsOf([tools]))
        const counts = yield* Effect.forEach(computers, ({ received }) =>
          Effect.map(Queue.clear(received), (texts) => texts.filter((text) => text.startsWith("client:")).length)
        )
        assert.deepStrictEqual(
          counts,
          computers.map((_, at) => (at === index ? 1 : 0))
        )
      }
    })
  )

  inCluster("delivers the status of a call to the Server to which its Agent has moved", (open) =>
    Effect.gen(function* () {
      const servers = [yield* open("one"), yield* open("two"), yield* open("three")] as const
      const options = { instance: "secret", features: ["call_status"] }
      const computer = yield* servers[1].member("computer", { answer: Effect.never })
      yield* computer.join("desk", "O")
      for (const { member } of [...servers, ...servers]) {
        const agent = yield* member("agent", options)
        yield* agent.join("thinker", "O")
        yield* Queue.clear(computer.received)
        yield* Queue.clear(agent.received)
        const call = { agent: "thinker", req_id: "r", computer: "desk", tool_name: "t", params: {}, timeout: 60 }
        yield* Effect.forkChild(agent.link.request("client:tool_call", jsonBody(call), Duration.hours(1)), {
          startImmediately: true
        })
        yield* Effect.repeat(Queue.take(computer.received), { until: (text) => text.startsWith("client:tool_call") })
        const status = { computer: "desk", req_id: "r", status: "waiting_for_servers", servers: ["alpha"] }
        yield* computer.link.notify("server:update_tool_call", jsonBody(status))
        assert.include(yield* Queue.take(agent.received), "waiting_for_servers")
      }
    })
  )

  inCluster("delivers cancellations and changes between Servers", (open) =>
    Effect.gen(function* () {
      const [one, two] = [yield* open("one"), yield* open("two")]
      const agent = yield* one.member("agent")
      yield* agent.join("thinker", "O")
      const computers = [yield* two.member("computer"), yield* two.member("computer")]
      for (const [index, { join }] of computers.entries()) yield* join(`desk ${index}`, "O")
      yield* Effect.repeat(Queue.take(agent.received), { times: 1 })
      yield* Effect.forEach(computers, ({ received }) => Queue.clear(received))
      yield* agent.link.notify("server:tool_call_cancel", jsonBody({ agent: "thinker", req_id: "r" }))
      const cancelled = 'notify:tool_call_cancel {"agent":"thinker","req_id":"r"}'
      for (const { received } of computers) assert.strictEqual(yield* Queue.take(received), cancelled)
      const changed = jsonBody({ computer: "desk 0" })
      for (const { link } of computers.slice(0, 1)) yield* link.notify("server:update_tool_list", changed)
      assert.strictEqual(yield* Queue.take(agent.received), 'notify:update_tool_list {"computer":"desk 0"}')
    })
  )
})
