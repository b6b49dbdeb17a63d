import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Option, Scope, Stream } from "effect"
import { createClient } from "redis"
import { makeMemoryMcpServer, type MemoryTool } from "../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import { isRetryableMessage } from "../../src/domain/model/ProtocolError.ts"
import { agentLayer } from "../../src/main/layers/agentLayer.ts"
import { computerLayer } from "../../src/main/layers/computerLayer.ts"
import { startRedis, withoutRedis } from "../fixtures/redis.ts"
import { configOf } from "./computers.ts"
import {
  bodies,
  call,
  connect,
  echo,
  meets,
  metrics,
  type Node,
  type Peer,
  room,
  joinOffice,
  startNode,
  startNodes,
  tally,
  until
} from "./nodes.ts"
import { firstText } from "../firstText.ts"
import { portDefaults } from "../portDefaults.ts"

const tool = (name: string, run: MemoryTool["run"]): MemoryTool => ({
  definition: { name, description: name, inputSchema: { type: "object" } },
  run
})

const text = (words: string) => ({ content: [{ type: "text", text: words }] })

/** A Computer with one in-memory server that has these tools, and lets Agents approve calls of one of them. */
const computer = Effect.fnUntraced(function* (
  { url }: Node,
  name: string,
  tools: ReadonlyArray<MemoryTool>,
  guarded = ""
) {
  const server = yield* makeMemoryMcpServer({ tools })
  const config = configOf({
    memory: {
      type: "stdio",
      server_parameters: { command: "-" },
      default_tool_meta: { auto_apply: true },
      tool_meta: { [guarded]: { auto_apply: false } }
    }
  })
  const sessions = { memory: yield* server.connect }
  const settings = { approvers: ["agent"] as const }
  const layer = computerLayer({ url, name, office: "ours", config, sessions, settings })
  yield* Effect.orDie(Layer.build(Layer.fresh(Layer.provide(layer, portDefaults))))
  return server
})

const agentOf = ({ url }: Node) =>
  Effect.map(Effect.orDie(Layer.build(Layer.fresh(agentLayer({ url, office: "ours", name: "thinker" })))), (context) =>
    Context.get(context, Agent)
  )

/** Gauges of the resources that a Server holds for its members and for the other Servers. */
const holds = (at: Node) =>
  metrics(
    at,
    "connections",
    "calls_in_flight",
    "members",
    "offices",
    "registry_sessions",
    "registry_offices",
    "backlog_bytes",
    "node_requests",
    "node_queued_bytes",
    "unauthenticated_connections"
  )

/** Waits until a number has this value. */
const reaches = (look: () => number, value: number) => until(Effect.sync(look), (found) => found === value)

const isEmpty = (gauges: { readonly [name: string]: number }) =>
  Object.keys(gauges).length >= 10 && Object.values(gauges).every((value) => value === 0)

/** Creates the Redis user of the documentation with the minimum permissions, and disables the default user. */
const allowOnlyWhatIsNeeded = (url: string) =>
  Effect.promise(async () => {
    const words = /^ACL SETUSER .*$/m.exec(readFileSync("docs/cluster.md", "utf8"))?.[0].split(" ") ?? []
    const client = await createClient({ url }).connect()
    await client.sendCommand(words)
    await client.sendCommand(["ACL", "SETUSER", "default", "off"])
    client.destroy()
  })

describe.skipIf(withoutRedis)("cluster of three Servers on one Redis", () => {
  const scope = Scope.makeUnsafe()
  let redis = ""
  let nodes: readonly [Node, Node, Node]

  beforeAll(async () => {
    redis = await Effect.runPromise(
      Effect.flatMap(Scope.provide(startRedis, scope), ({ url }) =>
        Effect.as(allowOnlyWhatIsNeeded(url), url.replace("redis://", "redis://a2c:PASSWORD@"))
      )
    )
    nodes = await Effect.runPromise(Scope.provide(startNodes(redis), scope))
  }, 180_000)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  it.live("routes listings, calls and cancels of an Agent to Computers on other Servers", () =>
    Effect.gen(function* () {
      const [a, b, c] = nodes
      const begun = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      yield* computer(b, "desk", [
        tool("say", (args) => Effect.succeed(text(`said ${String(args["words"])}`))),
        tool("wait", () =>
          Effect.onInterrupt(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never), () =>
            Deferred.succeed(stopped, undefined)
          )
        )
      ])
      yield* computer(c, "store", [tool("fetch", () => Effect.succeed(text("x".repeat(8_000_000))))])
      const agent = yield* agentOf(a)
      yield* agent.settled
      const { computers } = yield* agent.view
      const seen = [...computers].map(
        ([name, { tools }]) => `${name}: ${(tools ?? []).map((one) => one.name).join(", ")}`
      )
      assert.deepStrictEqual(new Set(seen), new Set(["desk: say, wait", "store: fetch"]))

      const result = yield* agent.callTool({ computer: "desk", tool: "say", params: { words: "ä€😀" } })
      assert.deepStrictEqual(result.content, [{ type: "text", text: "said ä€😀" }])
      const fetched = yield* agent.callTool({ computer: "store", tool: "fetch" })
      assert.strictEqual(firstText(fetched).length, 8_000_000)

      const waiting = yield* Effect.forkChild(agent.callTool({ computer: "desk", tool: "wait" }))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(waiting)
      yield* Deferred.await(stopped)
    })
  )

  it.live("waits for an approval at another Server beyond the timeout of the call", () =>
    Effect.gen(function* () {
      const [a, b] = nodes
      yield* computer(b, "vault", [tool("open", () => Effect.succeed(text("opened")))], "open")
      const agent = yield* agentOf(a)
      const calling = yield* Effect.forkChild(agent.callTool({ computer: "vault", tool: "open", timeout: 1 }))
      const [approval] = Option.getOrThrow(
        yield* Stream.runHead(Stream.filter(agent.approvals, ({ length }) => length > 0))
      )
      // One second of the call, and the grace of the Servers for the reply of the Computer.
      yield* Effect.sleep("8 seconds")
      assert.isUndefined(calling.pollUnsafe())
      yield* agent.decideApproval("vault", approval?.id ?? "", { action: "allow", scope: "once" })
      assert.strictEqual(firstText(yield* Fiber.join(calling)), "opened")
    })
  )

  it.live("notifies the members of an office once, on all Servers, and no other members", () =>
    Effect.gen(function* () {
      const [a, b, c] = nodes
      const agent = yield* joinOffice(a, "agent", "thinker", "team")
      const desk = yield* joinOffice(b, "computer", "desk", "team")
      const shelf = yield* joinOffice(c, "computer", "shelf", "team")
      const other = yield* joinOffice(b, "computer", "desk", "elsewhere")
      const parts = ["config", "tool_list", "desktop"]
      for (const part of parts) yield* desk.notify(`server:update_${part}`, { computer: "desk" })
      yield* desk.request("server:leave_office", { office_id: "team" })
      yield* agent.notify("server:tool_call_cancel", { agent: "thinker", req_id: "42" })
      yield* until(
        Effect.sync(() => [agent.received.length, shelf.received.length]),
        ([byAgent = 0, byShelf = 0]) => byAgent >= 6 && byShelf >= 5
      )
      const names = (peer: Peer, what: string) =>
        peer.received.filter(({ event }) => event.includes(what)).map(({ body, event }) => [event, body])
      const desks = { office_id: "team", computer: "desk" }
      const updates = parts.map((part) => [`notify:update_${part}`, { computer: "desk" }])
      const cancelled = [["notify:tool_call_cancel", { agent: "thinker", req_id: "42" }]]
      const left = [["notify:leave_office", desks]]
      const entered = [
        ["notify:enter_office", desks],
        ["notify:enter_office", { office_id: "team", computer: "shelf" }]
      ]
      // Joins and leaves take another path than other notifications.
      const kinds = (peer: Peer) => ["enter", "update", "leave", "cancel"].map((what) => names(peer, what))
      assert.deepStrictEqual(kinds(agent), [entered, updates, left, []])
      assert.deepStrictEqual(kinds(shelf), [[], updates, left, cancelled])
      assert.deepStrictEqual(other.received, [])
      assert.deepStrictEqual(yield* room(agent, "thinker", "team"), ["agent thinker", "computer shelf"])
    })
  )

  it.live("forwards the timeout of a call, and cancels it at the Computer", () =>
    Effect.gen(function* () {
      const [a, b] = nodes
      const agent = yield* joinOffice(a, "agent", "thinker", "late")
      const desk = yield* joinOffice(b, "computer", "desk", "late")
      yield* meets(agent, "desk")
      const { end, millis } = yield* call(agent, "thinker", "desk", "never", 1)
      assert.strictEqual(end, "408")
      // One second of the request, and five of grace for the reply of the Computer; without a timeout, thirty.
      assert.isAbove(millis, 5900)
      assert.isBelow(millis, 25_000)
      yield* reaches(() => bodies(desk, "notify:tool_call_cancel").length, 1)
    })
  )

  for (const [many, role, what] of [
    [200, "agent", "an office"],
    [40, "computer", "a name"]
  ] as const) {
    it.live(`admits one of ${many} concurrent joins to ${what}, and rejects the others`, () =>
      Effect.gen(function* () {
        const racers = yield* Effect.forEach(
          Array.from({ length: many }, (_, index) => index),
          (index) => connect(nodes[index % 3] ?? nodes[0], role),
          { concurrency: 20 }
        )
        const outcomes = yield* Effect.forEach(
          racers,
          (racer, index) =>
            Effect.repeat(racer.join(role === "agent" ? `a${index}` : "desk", `race for ${what}`), {
              until: (reason) => reason === undefined || !isRetryableMessage(reason)
            }),
          { concurrency: "unbounded" }
        )
        const rejections = outcomes.filter((reason) => reason !== undefined)
        assert.strictEqual(rejections.length, many - 1)
        const words = role === "agent" ? /already has an agent/ : /already exists/
        for (const reason of rejections) assert.match(reason, words)
      })
    )
  }

  it.live("replaces the stale connection of a member that reconnects to another Server", () =>
    Effect.gen(function* () {
      const [a, b, c] = nodes
      const agent = yield* joinOffice(a, "agent", "thinker", "stale")
      const stale = yield* joinOffice(b, "computer", "desk", "stale", {
        instance: "secret",
        answers: () => {}
      })
      yield* meets(agent, "desk")
      const waiting = yield* Effect.forkChild(call(agent, "thinker", "desk"), { startImmediately: true })
      yield* until(holds(b), (gauges) => gauges['a2c_node_requests{direction="in"}'] === 1)
      const thief = yield* connect(c, "computer", { instance: "guessed" })
      assert.match(String(yield* thief.join("desk", "stale")), /already/)
      yield* joinOffice(c, "computer", "desk", "stale", { instance: "secret" })
      yield* stale.closed
      yield* reaches(() => agent.received.length, 3)
      assert.strictEqual((yield* Fiber.join(waiting)).end, "404")
      assert.strictEqual((yield* call(agent, "thinker", "desk")).end, "ok")
      const desks = { office_id: "stale", computer: "desk" }
      assert.deepStrictEqual(
        agent.received.map(({ body, event }) => [event, body]),
        ["enter", "leave", "enter"].map((what) => [`notify:${what}_office`, desks])
      )
    })
  )

  for (const [what, go] of [
    ["disconnects", ({ close }: Peer) => close],
    ["leaves", ({ request }: Peer) => request("server:leave_office", { office_id: "is left" })]
  ] as const) {
    it.live(`ends calls to a Computer on another Server when it ${what}, not at their timeout`, () =>
      Effect.gen(function* () {
        const [a, b] = nodes
        const agent = yield* joinOffice(a, "agent", "thinker", "is left")
        const desk = yield* joinOffice(b, "computer", "desk", "is left")
        yield* meets(agent, "desk")
        const calls = Array.from({ length: 100 }, () => call(agent, "thinker", "desk", "never"))
        const waiting = yield* Effect.forkChild(Effect.all(calls, { concurrency: "unbounded" }), {
          startImmediately: true
        })
        yield* until(holds(b), (gauges) => gauges['a2c_node_requests{direction="in"}'] === 100)
        yield* go(desk)
        const outcomes = yield* Fiber.join(waiting)
        assert.deepStrictEqual(tally(outcomes.map(({ end }) => end)), { 404: 100 })
        assert.deepStrictEqual([agent.acknowledgements(), agent.requestCount()], [101, 101])
      })
    )
  }

  it.live("delivers the results of a Computer before the notice that it left", () =>
    Effect.gen(function* () {
      const [a, b] = nodes
      const agent = yield* joinOffice(a, "agent", "thinker", "in a hurry")
      const answers: Array<() => void> = []
      const desk = yield* joinOffice(b, "computer", "desk", "in a hurry", {
        answers: (request, answer) => answers.push(() => echo(request, answer))
      })
      for (let round = 0; round < 20; round++) {
        yield* desk.join("desk", "in a hurry")
        yield* reaches(() => bodies(agent, "notify:enter_office").length, round + 1)
        const calls = Array.from({ length: 10 }, () => call(agent, "thinker", "desk"))
        const waiting = yield* Effect.forkChild(Effect.all(calls, { concurrency: "unbounded" }), {
          startImmediately: true
        })
        yield* reaches(() => answers.length, 10)
        for (const answer of answers.splice(0)) answer()
        yield* desk.request("server:leave_office", { office_id: "in a hurry" })
        const outcomes = yield* Fiber.join(waiting)
        assert.deepStrictEqual(tally(outcomes.map(({ end }) => end)), { ok: 10 })
      }
    })
  )

  it.live("releases all resources after the last member has left", () =>
    Effect.gen(function* () {
      const [a, b, c] = nodes
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* joinOffice(a, "agent", "thinker", "full")
          yield* joinOffice(b, "computer", "desk", "full")
          yield* joinOffice(c, "computer", "shelf", "full")
          yield* meets(agent, "desk")
          assert.strictEqual((yield* call(agent, "thinker", "desk")).end, "ok")
          assert.strictEqual((yield* metrics(a, "members"))['a2c_members{role="agent"}'], 1)
          assert.strictEqual((yield* metrics(b, "members"))['a2c_members{role="computer"}'], 1)
          assert.deepStrictEqual(yield* metrics(c, "nodes", "registry_up"), {
            a2c_nodes: 3,
            a2c_registry_up: 1
          })
        })
      )
      for (const at of nodes) {
        yield* until(holds(at), isEmpty)
        // Each direction relays only known messages.
        assert.notMatch(at.process.stderr(), /cannot be read|none of a node/)
      }
    })
  )

  it.live("drains a stopped Server and moves its members", () =>
    Effect.gen(function* () {
      const [a] = nodes
      const going = yield* startNode(redis, "--drain-timeout", "5")
      const agent = yield* joinOffice(a, "agent", "thinker", "moving")
      const answers: Array<() => void> = []
      const desk = yield* joinOffice(going, "computer", "desk", "moving", {
        answers: (request, answer) => answers.push(() => echo(request, answer))
      })
      yield* joinOffice(going, "computer", "shelf", "moving")
      yield* Effect.all([meets(agent, "desk"), meets(agent, "shelf")])
      const waiting = yield* Effect.forkChild(call(agent, "thinker", "desk"), { startImmediately: true })
      yield* reaches(() => answers.length, 1)
      yield* going.process.signal("SIGTERM")
      yield* going.process.prints("graceful shutdown started", "stderr")
      assert.strictEqual((yield* call(agent, "thinker", "shelf")).end, "503")
      for (const answer of answers) answer()
      assert.strictEqual((yield* Fiber.join(waiting)).end, "ok")
      yield* desk.closed
      yield* reaches(() => bodies(agent, "notify:leave_office").length, 2)
      yield* joinOffice(a, "computer", "desk", "moving")
      assert.strictEqual(yield* going.process.ended, 0)
      assert.strictEqual((yield* call(agent, "thinker", "desk")).end, "ok")
      const notifications = agent.received.map(
        ({ body, event }) => `${event} ${String((body as { computer?: string }).computer)}`
      )
      assert.deepStrictEqual(tally(notifications), {
        "notify:enter_office desk": 2,
        "notify:enter_office shelf": 1,
        "notify:leave_office desk": 1,
        "notify:leave_office shelf": 1
      })
      assert.deepStrictEqual(yield* room(agent, "thinker", "moving"), ["agent thinker", "computer desk"])
    })
  )

  it.live("sends messages between Servers over links, at the address of each", () =>
    Effect.gen(function* () {
      const [other] = nodes
      const fixed = yield* startNode(redis, "--node-address", "127.0.0.1:0")
      const agent = yield* joinOffice(fixed, "agent", "thinker", "linked")
      yield* joinOffice(other, "computer", "desk", "linked")
      yield* meets(agent, "desk")
      assert.strictEqual((yield* call(agent, "thinker", "desk")).end, "ok")
      assert.deepStrictEqual(yield* metrics(fixed, "node_links"), { a2c_node_links: 1 })
    })
  )
})
