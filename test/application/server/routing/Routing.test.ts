import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { type ReplyExit, RequestTimeout } from "../../../../src/application/ports/Transport.ts"
import type { ClusterNodes } from "../../../../src/application/server/routing/ClusterNodes.ts"
import type { Limits } from "../../../../src/application/server/Limits.ts"
import type { CompletedCall } from "../../../../src/application/server/observability/observers.ts"
import { makeRouting } from "../../../../src/application/server/routing/Routing.ts"
import type { Member } from "../../../../src/domain/model/Membership.ts"
import { unlimitedCapacity } from "../../../../src/domain/office/decideMembership.ts"
import { calls } from "../../../../src/domain/wire/calls.ts"
import { makeLink, makeParts, makeRequest, openMember } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

/** A Computer of another node. */
const remote: Member = {
  sid: "far",
  node: "two",
  version: "0.2.0",
  membership: { office: "O", role: "computer", name: "remote" },
  joinRevision: 1
}

/** An Agent `ada`, a Computer `pc` whose requests the test ends, and the observed calls. */
const start = Effect.fnUntraced(function* (limits: Partial<Limits> = {}) {
  const observed: Array<CompletedCall> = []
  const replies: Array<(exit: ReplyExit) => void> = []
  const timeouts: Array<number> = []
  const notified: Array<readonly [node: string, event: string, body: unknown]> = []
  const parts = yield* makeParts({ limits, callObservers: [(call) => void observed.push(call)] }, (given) => ({
    nodeLink: {
      ...given.nodeLink,
      notify: (node, _sids, event, body) => void notified.push([node, event, Result.getOrThrow(body.value())])
    },
    registry: {
      ...given.registry,
      findComputer: (office, name) =>
        name === remote.membership.name ? Option.some(remote) : given.registry.findComputer(office, name)
    }
  }))
  const nodes: ClusterNodes = {
    serveOperators: () => Effect.void,
    startRequest: (_member, _event, _body, timeout, onReply) => {
      timeouts.push(Duration.toMillis(timeout))
      replies.push(onReply)
      return () => undefined
    }
  }
  const route = yield* parts.provide(makeRouting({ ...parts, nodes }))
  const agent = yield* openMember(parts, makeLink("ada").link, "agent")
  const pc = makeLink("pc", {
    startRequest: (_event, _body, timeout, onReply) => {
      timeouts.push(Duration.toMillis(timeout))
      replies.push(onReply)
      return () => undefined
    }
  })
  const computer = yield* openMember(parts, pc.link, "computer")
  const call = (name: string) =>
    route(makeRequest(agent, "client:get_tools", { agent: "ada", req_id: "r", computer: name }), calls.getTools)
  const callTool = (name: string, timeout = 30) => {
    const body = { agent: "ada", req_id: "r", computer: name, tool_name: "t", params: {}, timeout }
    return route(makeRequest(agent, "client:tool_call", body), calls.toolCall)
  }
  const reply = (exit: ReplyExit) => Effect.sync(() => replies.shift()?.(exit))
  return { ...parts, agent, call, callTool, computer, notified, observed, reply, sent: pc.sent, timeouts }
})

const begin = { startImmediately: true }

const test = effectWith(start())

describe("the routing of a call", () => {
  test("fails with 500 when the request fails unexpectedly", function* ({ call, reply }) {
    const calling = yield* Effect.forkChild(Effect.flip(call("pc")), begin)
    yield* reply(Exit.die(new Error("no socket")))
    assert.strictEqual((yield* Fiber.join(calling)).code, 500)
  })

  test("fails with 404 when the connection of the Computer has just closed", function* ({ call, registry }) {
    const session = { sid: "gone", version: "0.2.0", role: Option.none(), reconnectKey: "", subject: "" }
    yield* registry.connect(session)
    const membership = { office: "O", role: "computer", name: "gone" } as const
    yield* registry.apply({ _tag: "Join", sid: "gone", ...membership }, unlimitedCapacity)
    assert.strictEqual((yield* Effect.flip(call("gone"))).code, 404)
  })

  test("names a Computer of another office in the error", function* ({ call, open, registry }) {
    yield* open(makeLink("far").link)
    const membership = { office: "P", role: "computer", name: "far" } as const
    yield* registry.apply({ _tag: "Join", sid: "far", ...membership }, unlimitedCapacity)
    const { code, message } = yield* Effect.flip(call("far"))
    assert.strictEqual(code, 4104)
    assert.include(message, "'far'")
  })

  test("counts as activity of the Computer when it starts, and of both when it ends", function* ({
    agent,
    call,
    computer,
    reply
  }) {
    const activity = () => [agent.lastActivityAt, computer.lastActivityAt]
    yield* TestClock.adjust("10 seconds")
    const calling = yield* Effect.forkChild(call("pc"), begin)
    assert.deepStrictEqual(activity(), [0, 10_000])
    yield* TestClock.adjust("10 seconds")
    yield* reply(Exit.succeed([jsonBody({})]))
    yield* Fiber.join(calling)
    assert.deepStrictEqual(activity(), [20_000, 20_000])
  })

  test("counts as activity of the Agent only when the request fails", function* ({ agent, call, computer, reply }) {
    const calling = yield* Effect.forkChild(Effect.flip(call("pc")), begin)
    yield* TestClock.adjust("10 seconds")
    yield* reply(Exit.die("no socket"))
    yield* Fiber.join(calling)
    assert.deepStrictEqual([agent.lastActivityAt, computer.lastActivityAt], [10_000, 0])
  })

  for (const computer of ["pc", "remote"]) {
    test(`waits for as long as it states and five seconds, or for half a minute, for ${computer}`, function* ({
      call,
      callTool,
      timeouts
    }) {
      yield* Effect.forkChild(callTool(computer, 7), begin)
      yield* Effect.forkChild(call(computer), begin)
      assert.deepStrictEqual(timeouts, [12_000, 30_000])
    })

    test(`is cancelled at ${computer} when its caller ends, and reported`, function* ({
      callTool,
      notified,
      observed,
      sent
    }) {
      const calling = yield* Effect.forkChild(callTool(computer), begin)
      yield* Fiber.interrupt(calling)
      const cancelled = ["notify:tool_call_cancel", { agent: "ada", req_id: "r" }] as const
      assert.deepStrictEqual(
        [...notified, ...sent.map(({ body, event }) => ["here", event, Result.getOrThrow(body.value())])],
        [[computer === "pc" ? "here" : "two", ...cancelled]]
      )
      assert.deepStrictEqual(
        observed.map(({ outcome }) => ("_tag" in outcome ? outcome.code : outcome)),
        [4103]
      )
    })

    test(`is cancelled at ${computer} when it times out, but not after a reply`, function* ({
      callTool,
      notified,
      reply,
      sent
    }) {
      const timeout = Duration.seconds(35)
      const timed = yield* Effect.forkChild(Effect.flip(callTool(computer)), begin)
      yield* reply(Exit.fail(new RequestTimeout({ timeout })))
      assert.deepInclude({ ...(yield* Fiber.join(timed)) }, { code: 408 })
      const replied = yield* Effect.forkChild(callTool(computer), begin)
      yield* reply(Exit.succeed([jsonBody({})]))
      yield* Fiber.join(replied)
      assert.strictEqual(notified.length + sent.length, 1)
    })
  }

  test("reports its start and its end to observers", function* ({ call, observed, reply }) {
    yield* TestClock.adjust("10 seconds")
    const calling = yield* Effect.forkChild(call("pc"), begin)
    yield* TestClock.adjust(Duration.millis(2500))
    yield* reply(Exit.succeed([jsonBody({})]))
    yield* Fiber.join(calling)
    assert.deepStrictEqual(
      observed.map(({ endedAt, startedAt }) => [startedAt, endedAt]),
      [[10_000, 12_500]]
    )
  })

  it.effect("reports a call beyond a limit to observers", () =>
    Effect.gen(function* () {
      const { call, observed } = yield* start({ callsPerAgent: 1 })
      yield* Effect.forkChild(call("pc"), begin)
      const error = yield* Effect.flip(call("pc"))
      assert.strictEqual(error.code, 429)
      assert.deepStrictEqual(
        observed.map(({ outcome }) => outcome),
        [error]
      )
    })
  )
})
