import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import type { ReplyExit } from "../../../../src/application/ports/Transport.ts"
import type { Limits } from "../../../../src/application/server/connections/Limits.ts"
import type { CompletedCall } from "../../../../src/application/server/observability/observers.ts"
import { makeRouting } from "../../../../src/application/server/routing/Routing.ts"
import { unlimitedCapacity } from "../../../../src/domain/office/MembershipState.ts"
import { calls } from "../../../../src/domain/wire/v0_2/events.ts"
import { makeLink, makeParts, makeRequest, openMember } from "../parts.ts"

/** An Agent `ada`, a Computer `pc` whose requests the test ends, and the observed calls. */
const start = Effect.fnUntraced(function* (limits: Partial<Limits> = {}) {
  const observed: Array<CompletedCall> = []
  const replies: Array<(exit: ReplyExit) => void> = []
  const parts = yield* makeParts({ limits, callObservers: [(call) => void observed.push(call)] })
  const nodes = { serveOperators: () => Effect.void, startRequest: () => () => undefined }
  const route = makeRouting(parts.context, parts.connections, parts.inFlightCalls, nodes, parts.notifications)
  const agent = yield* openMember(parts, makeLink("ada").link, "agent")
  const pc = makeLink("pc", {
    startRequest: (_event, _body, _timeout, onReply) => {
      replies.push(onReply)
      return () => undefined
    }
  })
  const computer = yield* openMember(parts, pc.link, "computer")
  const call = (name: string) =>
    route(makeRequest(agent, "client:get_tools", { agent: "ada", req_id: "r", computer: name }), calls.getTools)
  const reply = (exit: ReplyExit) => Effect.sync(() => replies.shift()?.(exit))
  return { ...parts, agent, call, computer, observed, reply }
})

const begin = { startImmediately: true }

describe("the routing of a call", () => {
  it.effect("fails with 500 when the request fails unexpectedly", () =>
    Effect.gen(function* () {
      const { call, reply } = yield* start()
      const calling = yield* Effect.forkChild(Effect.flip(call("pc")), begin)
      yield* reply(Exit.die(new Error("no socket")))
      assert.strictEqual((yield* Fiber.join(calling)).code, 500)
    })
  )

  it.effect("fails with 404 when the connection of the Computer has just closed", () =>
    Effect.gen(function* () {
      const { call, context } = yield* start()
      const session = { sid: "gone", version: "0.2.0", role: Option.none(), reconnectKey: "", subject: "" }
      yield* context.registry.connect(session)
      const membership = { office: "O", role: "computer", name: "gone" } as const
      yield* context.registry.apply({ _tag: "Join", sid: "gone", ...membership }, unlimitedCapacity)
      assert.strictEqual((yield* Effect.flip(call("gone"))).code, 404)
    })
  )

  it.effect("names a Computer of another office in the error", () =>
    Effect.gen(function* () {
      const { call, context, open } = yield* start()
      yield* open(makeLink("far").link)
      const membership = { office: "P", role: "computer", name: "far" } as const
      yield* context.registry.apply({ _tag: "Join", sid: "far", ...membership }, unlimitedCapacity)
      const { code, message } = yield* Effect.flip(call("far"))
      assert.strictEqual(code, 4104)
      assert.include(message, "'far'")
    })
  )

  it.effect("counts as activity of the Computer when it starts, and of both when it ends", () =>
    Effect.gen(function* () {
      const { agent, call, computer, reply } = yield* start()
      const activity = () => [agent.lastActivityAt, computer.lastActivityAt]
      yield* TestClock.adjust("10 seconds")
      const calling = yield* Effect.forkChild(call("pc"), begin)
      assert.deepStrictEqual(activity(), [0, 10_000])
      yield* TestClock.adjust("10 seconds")
      yield* reply(Exit.succeed([jsonBody({})]))
      yield* Fiber.join(calling)
      assert.deepStrictEqual(activity(), [20_000, 20_000])
    })
  )

  it.effect("counts as activity of the Agent only when the request fails", () =>
    Effect.gen(function* () {
      const { agent, call, computer, reply } = yield* start()
      const calling = yield* Effect.forkChild(Effect.flip(call("pc")), begin)
      yield* TestClock.adjust("10 seconds")
      yield* reply(Exit.die("no socket"))
      yield* Fiber.join(calling)
      assert.deepStrictEqual([agent.lastActivityAt, computer.lastActivityAt], [10_000, 0])
    })
  )

  it.effect("reports its start and its end to observers", () =>
    Effect.gen(function* () {
      const { call, observed, reply } = yield* start()
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
  )

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
