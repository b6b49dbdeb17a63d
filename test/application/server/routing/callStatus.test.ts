import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber } from "effect"
import { type Body, jsonBody } from "../../../../src/application/ports/Body.ts"
import { type NodeReplyExit, NodeUnreachable } from "../../../../src/application/server/nodes/nodeMessages.ts"
import {
  makeCallStatusForwarding,
  makeCallStatusReceiver
} from "../../../../src/application/server/routing/callStatus.ts"
import { InFlightCall } from "../../../../src/application/server/connections/InFlightCall.ts"
import { makeLink, makeParts, openMember } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

const waits = (computer: string, reqId: string) =>
  jsonBody({
    computer,
    req_id: reqId,
    status: "waiting_for_consent",
    approval_id: "a1",
    mcp_server: "alpha",
    tool_name: "t",
    wait_seconds: 300
  })

const progress = (computer: string, reqId: string) =>
  jsonBody({ computer, req_id: reqId, status: "progress", progress: 1 })

/** A call of a member of this node. */
const callTo = (computer: string, reqId: string, agent?: string) =>
  new InFlightCall("O", () => undefined, {
    computer,
    reqId,
    serial: 1,
    startedAt: 0,
    describe: () =>
      agent === undefined
        ? assert.fail("not observed")
        : {
            serial: 1,
            event: "client:tool_call",
            sid: agent,
            agent: { office: "O", role: "agent", name: agent },
            line: "0.2",
            subject: agent,
            computer,
            reqId,
            request: jsonBody({}),
            startedAt: 0
          }
  })

describe("the status of a call of an Agent of this node", () => {
  const receive = Effect.gen(function* () {
    const { link, sent } = makeLink("ada")
    const parts = yield* makeParts()
    const agent = yield* openMember(parts, link, "agent")
    const call = callTo("pc", "r")
    const receiver = yield* makeCallStatusReceiver(parts.connections)
    const silent = yield* openMember(yield* makeParts(), link, "agent")
    Object.assign(agent, { features: { ...agent.features, callStatus: true } })
    return {
      call,
      receive: (computer: string, reqId: string) => receiver(agent, [call], waits(computer, reqId)),
      receiveBody: (body: Body) => receiver(agent, [call], body),
      receiveWithout: () => receiver(silent, [call], waits("pc", "r")),
      sent
    }
  })

  const test = effectWith(receive)

  test("extends the call, and is sent to the Agent", ({ call, receive: from, sent }) => {
    assert.strictEqual(from("pc", "r"), 300)
    assert.deepStrictEqual(sent, [{ event: "notify:update_tool_call", body: waits("pc", "r") }])
    assert.strictEqual(call.reported?.status?._tag, "WaitingForConsent")
    assert.deepStrictEqual(call.takeExtension(), Duration.seconds(300))
  })

  it.effect.each([
    ["another Computer", "other", "r"],
    ["another call", "pc", "other"]
  ] as const)("is that of its Computer: one of %s changes nothing", ([, computer, reqId]) =>
    Effect.gen(function* () {
      const { call, receive: from, sent } = yield* receive
      assert.strictEqual(from(computer, reqId), 0)
      assert.isEmpty(sent)
      assert.isUndefined(call.reported)
      assert.deepStrictEqual(call.takeExtension(), Duration.zero)
    })
  )

  test("keeps the approval of the call and its decision beside later statuses", ({ call, receiveBody }) => {
    const decided = { computer: "pc", req_id: "r", status: "decided", allowed: true, decided_by: "ann" }
    const waiting = { computer: "pc", req_id: "r", status: "waiting_for_consent", wait_seconds: 300 }
    receiveBody(jsonBody({ ...waiting, approval_id: "a1" }))
    receiveBody(jsonBody(decided))
    receiveBody(jsonBody({ ...waiting, approval_id: "a2", question: true }))
    receiveBody(jsonBody({ ...decided, allowed: false, decided_by: "bob", question: true }))
    receiveBody(progress("pc", "r"))
    assert.deepStrictEqual<unknown>(call.reported, {
      status: { _tag: "Progressing", computer: "pc", progress: 1 },
      approval: "a1",
      decision: { _tag: "Decided", computer: "pc", isAllowed: true, by: "ann" }
    })
  })

  it.effect("is that of the caller that it names, where two use one id", () =>
    Effect.gen(function* () {
      const { link, sent } = makeLink("ada")
      const parts = yield* makeParts()
      const agent = yield* openMember(parts, link, "agent")
      Object.assign(agent, { features: { ...agent.features, callStatus: true } })
      const receiver = yield* makeCallStatusReceiver(parts.connections)
      const [ada, ann] = [callTo("pc", "r", "ada"), callTo("pc", "r", "operator:ann")]
      const named = jsonBody({ computer: "pc", req_id: "r", agent: "operator:ann", status: "progress", progress: 1 })
      receiver(agent, [ada, ann], progress("pc", "r"))
      receiver(agent, [ada, ann], named)
      assert.deepStrictEqual([ada.reported?.status?._tag, ann.reported?.status?._tag], [undefined, "Progressing"])
      // A Computer of an earlier version names no caller.
      receiver(agent, [ada], progress("pc", "r"))
      receiver(agent, [ada], named)
      assert.deepStrictEqual(
        sent.map(({ body }) => body),
        [named, progress("pc", "r")]
      )
    })
  )

  test("extends nothing for an Agent that does not know statuses", ({ call, receiveWithout, sent }) => {
    assert.strictEqual(receiveWithout(), 0)
    assert.isEmpty(sent)
    assert.deepStrictEqual(call.takeExtension(), Duration.zero)
  })
})

describe("the status of a call of an Agent at another node", () => {
  /**
   * Forwards statuses of `pc` to the node of the Agent, which gives this reply. `calls` are those that this node sent to `pc`,
   * with the ids `r` and `other`.
   */
  const toNode = Effect.fnUntraced(function* (
    reply: NodeReplyExit | "silent" = Exit.succeed([jsonBody({ wait_seconds: 200 })]),
    { node, role = "agent" }: { readonly role?: "agent" | "computer"; readonly node?: "here" } = {}
  ) {
    const announced: Array<ReadonlyArray<unknown>> = []
    const notified: Array<ReadonlyArray<unknown>> = []
    let cancelled = 0
    const parts = yield* makeParts({}, ({ nodeLink, registry }) => {
      const elsewhere = {
        membership: { role, name: "ada", office: "O" },
        node: node === "here" ? nodeLink.node : "far",
        sid: "ada",
        version: "0.2.0",
        joinRevision: 1
      } as const
      return {
        nodeLink: {
          ...nodeLink,
          startRequest: (to, target, event, body, timeout, onReply) => {
            announced.push([to, target, event, body, timeout])
            if (reply !== "silent") onReply(reply)
            return () => void cancelled++
          },
          notify: (to, sids, event, body) => void notified.push([to, sids, event, body])
        },
        registry: { ...registry, members: () => [elsewhere] }
      }
    })
    const computer = yield* openMember(parts, makeLink("pc").link, "computer")
    const calls = ["r", "other"].map(
      (reqId) =>
        new InFlightCall(
          "O",
          () => undefined,
          () => reqId
        )
    )
    for (const call of calls) computer.inboundCalls.add(call)
    const forwarding = yield* parts.provide(makeCallStatusForwarding(parts.connections))
    const forward = (office: string, body: Body) => forwarding(computer, office, body)
    return { announced, calls, cancelled: () => cancelled, forward, notified }
  })

  const testNode = effectWith(toNode())

  /** The seconds that are waited after this acknowledgement, and those by which the calls `r` and `other` are extended. */
  const forwarded = Effect.fnUntraced(function* (acknowledged: number) {
    const { calls, forward } = yield* toNode(Exit.succeed([jsonBody({ wait_seconds: acknowledged })]))
    const waited = yield* forward("O", waits("pc", "r"))
    return [waited, ...calls.map((call) => Duration.toSeconds(call.takeExtension()))]
  })

  it.effect("extends this call here by what its node acknowledges", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* forwarded(200), [200, 200, 0])
    })
  )

  testNode(
    "is announced to its session in this office, as it is, for five seconds",
    function* ({ announced, forward, notified }) {
      const body = waits("pc", "r")
      yield* forward("O", body)
      assert.deepStrictEqual(announced, [
        ["far", { sid: "ada", office: "O" }, "notify:update_tool_call", body, Duration.seconds(5)]
      ])
      assert.isEmpty(notified)
    }
  )

  testNode(
    "is sent to its node without an acknowledgement where it announces no wait",
    function* ({ announced, forward, notified }) {
      const body = progress("pc", "r")
      assert.strictEqual(yield* forward("O", body), 0)
      assert.deepStrictEqual([announced, notified], [[], [["far", ["ada"], "notify:update_tool_call", body]]])
    }
  )

  it.effect.each([
    ["its node cannot be reached", Exit.fail(new NodeUnreachable({ node: "far", reason: "gone" }))],
    ["its node acknowledges nothing", Exit.succeed([])],
    ["its node acknowledges something else", Exit.succeed([jsonBody({ wait_seconds: "long" })])]
  ] as const)("extends nothing where %s", ([, reply]) =>
    Effect.gen(function* () {
      const { calls, forward } = yield* toNode(reply)
      assert.strictEqual(yield* forward("O", waits("pc", "r")), 0)
      assert.deepStrictEqual(
        calls.map((call) => Duration.toSeconds(call.takeExtension())),
        [0, 0]
      )
    })
  )

  it.effect("is withdrawn when its Computer disconnects", () =>
    Effect.gen(function* () {
      const { cancelled, forward } = yield* toNode("silent")
      const waiting = yield* Effect.forkChild(forward("O", waits("pc", "r")), { startImmediately: true })
      assert.strictEqual(cancelled(), 0)
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(cancelled(), 1)
    })
  )

  it.effect.each([
    ["without an Agent", { role: "computer" }],
    ["whose Agent is at this node and waits for no such call", { node: "here" }]
  ] as const)("goes nowhere in an office %s", ([, change]) =>
    Effect.gen(function* () {
      const { announced, forward, notified } = yield* toNode(undefined, change)
      assert.deepStrictEqual([yield* forward("O", waits("pc", "r")), announced, notified], [0, [], []])
    })
  )

  it.effect("extends nothing where its node does not wait", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* forwarded(0), [0, 0, 0])
    })
  )
})
