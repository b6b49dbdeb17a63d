import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Latch, Layer, Queue, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Agent } from "../../../../src/application/agent/Agent.ts"
import { type Body, jsonBody } from "../../../../src/application/ports/Body.ts"
import { type Link, type MessageHandler, TransportClient } from "../../../../src/application/ports/Transport.ts"
import { operatorRequests } from "../../../../src/domain/page/operatorRequests.ts"
import type { CallStatus } from "../../../../src/domain/model/CallStatus.ts"
import { settle } from "../../../settle.ts"

interface Peers {
  readonly serverFeatures: ReadonlyArray<string>
  readonly computerFeatures: ReadonlyArray<string>
  readonly computers: ReadonlyArray<string>
}

const valueOf = (body: Body) => Object(Result.getOrUndefined(body.value()))
const tool = { name: "echo", description: "", params_schema: {}, return_schema: null }
const approval = {
  id: "a1",
  computer: "pc",
  server: "fs",
  tool: "list",
  requester: "ada",
  arguments: "{}",
  argumentsDigest: "d",
  askedBy: "rule",
  requestedAt: 1,
  expiresIn: 2,
  state: "open"
} as const
const outcome = { result: { messages: [1] } }

/** An Agent at peers that change with its connections, and what it sends. */
const agentAt = Effect.fnUntraced(function* (peers: { now: Peers }) {
  const links = yield* Queue.unbounded<{ readonly onMessage: MessageHandler; readonly lose: Effect.Effect<void> }>()
  const sent: Array<string> = []
  const replyTo = (event: string, body: Body): object | boolean => {
    const { req_id } = valueOf(body)
    const { computerFeatures, computers, serverFeatures } = peers.now
    switch (event) {
      case "server:join_office":
        return true
      case "server:list_room":
        return {
          sessions: computers.map((name) => ({ sid: name, name, role: "computer", office_id: "O" })),
          a2c_features: serverFeatures,
          req_id
        }
      case "client:get_tools":
        return { tools: [tool], a2c_features: computerFeatures, req_id }
      case "client:mcp":
        return { ...outcome, req_id }
      case "client:tool_call":
        return { content: [], structuredContent: outcome, req_id }
      case "client:get_desktop":
        return { desktops: [], req_id }
      case "client:get_approvals":
        return { approvals: [operatorRequests.getApproval.reply.encode(approval)], req_id }
      default:
        return { code: 404, message: "nothing here" }
    }
  }
  const transport = TransportClient.of({
    connect: Effect.fnUntraced(function* ({ onMessage }) {
      const closed = yield* Deferred.make<string>()
      const link: Pick<Link, "request" | "notify" | "closed" | "close" | "maxBytes" | "fits"> = {
        request: (event, body) =>
          Effect.sync(() => {
            sent.push(event)
            return [jsonBody(replyTo(event, body))]
          }),
        notify: () => Effect.void,
        closed: Deferred.await(closed),
        close: (reason) => Effect.asVoid(Deferred.succeed(closed, reason)),
        maxBytes: () => Number.POSITIVE_INFINITY,
        fits: () => true
      }
      yield* Queue.offer(links, { onMessage, lose: link.close("lost") })
      return link as Link
    })
  })
  const context = yield* Agent.layer({ office: "O", name: "ada" }).pipe(
    Layer.provide(Layer.succeed(TransportClient, transport)),
    Layer.build
  )
  const agent = Context.get(context, Agent)
  yield* agent.settled
  const ask = Effect.gen(function* () {
    const before = sent.length
    const request = { server: "s", method: "prompts/get", params: {} } as const
    const result = yield* Effect.result(agent.mcpRequest("pc", request))
    const events = sent.slice(before)
    return [Result.isSuccess(result) ? "passed" : String(Object(result.failure).reason), ...events]
  })
  return { agent, ask, opened: Queue.take(links), sent }
})

const passing: Peers = { serverFeatures: ["mcp"], computerFeatures: ["mcp"], computers: ["pc"] }

describe("what an Agent knows of its peers", () => {
  it.effect("is learned again at each connection", () =>
    Effect.gen(function* () {
      const peers: { now: Peers } = { now: passing }
      const { ask, opened } = yield* agentAt(peers)
      const servers: ReadonlyArray<readonly [Peers, ReadonlyArray<string>]> = [
        [{ ...passing, serverFeatures: [] }, ["passed", "client:tool_call"]],
        [{ ...passing, computerFeatures: [] }, ["unsupported"]],
        [passing, ["passed", "client:mcp"]]
      ]
      assert.deepStrictEqual(yield* ask, ["passed", "client:mcp"])
      for (const [now, expected] of servers) {
        peers.now = now
        yield* (yield* opened).lose
        yield* TestClock.adjust("1 minute")
        yield* settle
        assert.deepStrictEqual(yield* ask, [...expected])
      }
    })
  )

  it.effect.each(["notify:leave_office", "notify:enter_office"])(
    "is learned again for a Computer whose place changes: %s",
    (event) =>
      Effect.gen(function* () {
        const peers: { now: Peers } = { now: passing }
        const { ask, opened } = yield* agentAt(peers)
        const { onMessage } = yield* opened
        assert.deepStrictEqual(yield* ask, ["passed", "client:mcp"])
        peers.now = { ...passing, computerFeatures: [] }
        yield* onMessage(event, jsonBody({ office_id: "O", computer: "pc" }))
        yield* settle
        const [outcomeOf] = yield* ask
        assert.strictEqual(outcomeOf, "unsupported")
      })
  )

  it.effect("is the members of the new connection only", () =>
    Effect.gen(function* () {
      const peers: { now: Peers } = { now: { ...passing, computers: ["pc", "gone"] } }
      const { agent, opened } = yield* agentAt(peers)
      const names = Effect.map(agent.view, ({ computers }) =>
        [...computers].map(([name, { desktop, tools }]) => [name, tools?.length, desktop?.length])
      )
      assert.deepStrictEqual(yield* names, [
        ["pc", 1, 0],
        ["gone", 1, 0]
      ])
      peers.now = { ...passing, computers: ["pc", "new"] }
      yield* (yield* opened).lose
      yield* TestClock.adjust("1 minute")
      yield* agent.settled
      assert.deepStrictEqual(yield* names, [
        ["pc", 1, 0],
        ["new", 1, 0]
      ])
      yield* (yield* opened).onMessage("notify:enter_office", jsonBody({ office_id: "O", computer: "late" }))
      yield* agent.settled
      assert.deepStrictEqual((yield* names).at(-1), ["late", 1, 0])
    })
  )
})

describe("an Agent", () => {
  it.effect("replies to what it does not know with an error, and tells of its connection", () =>
    Effect.gen(function* () {
      const { agent, opened } = yield* agentAt({ now: passing })
      const link = yield* opened
      const [reply] = yield* link.onMessage("notify:unknown", jsonBody({}))
      assert.deepInclude(valueOf(reply ?? jsonBody({})), { code: 404 })
      assert.deepStrictEqual(yield* link.onMessage("notify:update_tool_call", jsonBody({ nonsense: true })), [])
      const events = yield* Effect.forkScoped(Stream.runCollect(Stream.take(agent.events, 2)), {
        startImmediately: true
      })
      yield* link.lose
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* Fiber.join(events), [{ _tag: "Disconnected", reason: "lost" }, { _tag: "Joined" }])
    })
  )

  it.effect("drops the oldest events of a subscriber that falls behind", () =>
    Effect.gen(function* () {
      const { agent, opened } = yield* agentAt({ now: passing })
      const link = yield* opened
      const isReading = yield* Latch.make()
      const count = 3000
      const names = yield* agent.events.pipe(
        Stream.tap(() => isReading.await),
        Stream.filterMap((event) =>
          event._tag === "Entered" ? Result.succeed(event.membership.name) : Result.fail(undefined)
        ),
        Stream.takeUntil((name) => name === `c${count}`),
        Stream.runCollect,
        Effect.forkScoped({ startImmediately: true })
      )
      for (let index = 1; index <= count; index++) {
        yield* link.onMessage("notify:enter_office", jsonBody({ office_id: "O", computer: `c${index}` }))
      }
      yield* isReading.open
      const received = yield* Fiber.join(names)
      assert.isBelow(received.length, count)
      assert.strictEqual(received.at(-1024), `c${count - 1023}`)
    })
  )

  it.effect.each([
    ["notify:update_config", "client:get_tools"],
    ["notify:update_tool_list", "client:get_tools"],
    ["notify:update_desktop", "client:get_desktop"],
    ["notify:update_finder", "client:get_finder"],
    ["notify:update_skills", "client:get_skills"]
  ] as const)("requests the part of a Computer that has changed: %s", ([event, request]) =>
    Effect.gen(function* () {
      const { agent, opened, sent } = yield* agentAt({ now: passing })
      const { onMessage } = yield* opened
      const before = sent.length
      yield* onMessage(event, jsonBody({ computer: "pc" }))
      yield* agent.settled
      assert.deepStrictEqual(sent.slice(before), [request])
    })
  )

  it.effect("shows the approval of a call, of its connection alone", () =>
    Effect.gen(function* () {
      const { agent, opened } = yield* agentAt({ now: { ...passing, computerFeatures: ["mcp", "approvals"] } })
      let shown: ReadonlyArray<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(agent.approvals, (all) => Effect.sync(() => void (shown = all.map(({ id }) => id))))
      )
      // A started call is awaited also through a lost connection.
      yield* Effect.forkScoped(
        agent.statuses.listen({ reqId: "r", computer: "pc", onStatus: undefined }, () => Effect.never),
        { startImmediately: true }
      )
      const waiting = { status: "waiting_for_consent", approval_id: "a1", mcp_server: "fs", tool_name: "list" }
      const report = (link: { readonly onMessage: MessageHandler }) =>
        link.onMessage(
          "notify:update_tool_call",
          jsonBody({ computer: "pc", req_id: "r", ...waiting, wait_seconds: 9 })
        )
      const first = yield* opened
      yield* report(first)
      yield* settle
      assert.deepStrictEqual(shown, ["a1"])
      yield* first.lose
      yield* settle
      assert.deepStrictEqual(shown, [])
      yield* TestClock.adjust("1 minute")
      yield* report(yield* opened)
      yield* settle
      assert.deepStrictEqual(shown, ["a1"])
    })
  )

  it.effect("passes statuses of a call on to it alone, of its Computer alone, and until it ends", () =>
    Effect.gen(function* () {
      const { agent, opened } = yield* agentAt({ now: passing })
      const link = yield* opened
      const seen: Array<CallStatus> = []
      const onStatus = (status: CallStatus) => Effect.sync(() => void seen.push(status))
      const report = (computer: string, reqId: string) =>
        link.onMessage(
          "notify:update_tool_call",
          jsonBody({ computer, req_id: reqId, status: "progress", progress: 1 })
        )
      const during = agent.statuses.listen({ reqId: "r", computer: "pc", onStatus }, () =>
        Effect.forEach(
          [
            ["pc", "other"],
            ["lab", "r"],
            ["pc", "r"]
          ] as const,
          ([computer, reqId]) => report(computer, reqId)
        )
      )
      yield* during
      yield* report("pc", "r")
      assert.deepStrictEqual(seen, [{ _tag: "Progressing", computer: "pc", progress: 1 }])
    })
  )
})
