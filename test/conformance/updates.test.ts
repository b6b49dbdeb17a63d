import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { updates } from "../../src/domain/wire/v0_2/events.ts"
import {
  agent,
  agentAndComputer,
  agentIn,
  bodiesOf,
  computer,
  computerIn,
  malformed,
  newsSince,
  settled
} from "./joinedMembers.ts"
import { conform, type World } from "./World.ts"

const updateEvents = [
  { definition: updates.config, title: "case 086: notifies the office once of a new configuration" },
  { definition: updates.toolList, title: "case 087: notifies the office once of a new tool list" },
  { definition: updates.desktop, title: "case 088: notifies the office once of a new desktop" },
  { definition: updates.finder, title: "case 089: notifies the office once of new documents" }
].map(({ definition: { event }, title }) => ({
  event,
  title,
  notification: event.replace("server:", "notify:")
}))

/** `A1@O1, C1@O1, C2@O1, A3@O2`, with the number of messages that each received so far. */
const office = Effect.fnUntraced(function* (world: World) {
  const { a1, c1 } = yield* agentAndComputer(world)
  const c2 = yield* computerIn(world, "O1", "pc-2")
  const a3 = yield* agentIn(world, "O2", "agent-3")
  const all = [a1, c1, c2, a3]
  yield* settled(all)
  const before = all.map((peer) => peer.received().length)
  const news = Effect.map(settled(all), () => all.map((peer, index) => newsSince(peer, before[index] ?? 0)))
  return { a1, c1, c2, a3, news }
})

describe("update_* → notify:update_*", () => {
  for (const { event, notification, title } of updateEvents) {
    conform(title, (world) =>
      Effect.gen(function* () {
        const { c1, news } = yield* office(world)
        yield* c1.notify(event, { computer: "pc-1" })
        yield* settled([c1])
        const notified = [{ event: notification, body: { computer: "pc-1" } }]
        assert.deepStrictEqual(yield* news, [notified, [], notified, []])
      })
    )
  }

  conform("cases 090, 091: requires a Computer in an office", (world) =>
    Effect.gen(function* () {
      const { a1, news } = yield* office(world)
      const outsider = yield* computer(world)
      for (const { event } of updateEvents) {
        yield* a1.notify(event, { computer: "pc-1" })
        yield* outsider.notify(event, { computer: "pc-1" })
      }
      yield* settled([a1, outsider])
      assert.deepStrictEqual(yield* news, [[], [], [], []])
    })
  )

  conform("cases 092, 093, 094: requires a valid update about its sender", (world) =>
    Effect.gen(function* () {
      const { c1, news } = yield* office(world)
      const bad = [...malformed, [{}], ...["pc-2", 3, null, ""].map((name) => [{ computer: name }])]
      for (const { event } of updateEvents) for (const payload of bad) yield* c1.notify(event, ...payload)
      yield* settled([c1])
      assert.deepStrictEqual(yield* news, [[], [], [], []])
      for (const { event } of updateEvents) yield* c1.notify(event, { computer: "pc-1" })
      yield* settled([c1])
      const notified = updateEvents.map(({ notification }) => ({ event: notification, body: { computer: "pc-1" } }))
      assert.deepStrictEqual(yield* news, [notified, [], notified, []])
    })
  )

  conform("cases 095, 154: sends an empty acknowledgement on request", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      assert.deepStrictEqual(yield* c1.request("server:update_config", { computer: "pc-1" }), [])
      assert.deepStrictEqual(yield* a1.request("server:tool_call_cancel", { agent: "agent-1", req_id: "r" }), [])
      assert.deepStrictEqual(yield* a1.request("server:tool_call_cancel", { agent: "absent" }), [])
    })
  )

  conform("case 096: delivers fifty updates in a row", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      for (let count = 0; count < 50; count++) yield* c1.notify("server:update_desktop", { computer: "pc-1" })
      yield* settled([c1], [a1])
      const { length } = bodiesOf(a1, "notify:update_desktop")
      assert.isTrue(length >= 1 && length <= 50)
    })
  )

  conform("case 098: rejects notifications of members", (world) =>
    Effect.gen(function* () {
      const { a1, c1, news } = yield* office(world)
      for (const peer of [a1, c1]) {
        for (const event of ["notify:update_config", "notify:enter_office", "notify:tool_call_cancel"]) {
          yield* peer.notify(event, { computer: "pc-1", office_id: "O1", agent: "agent-1", req_id: "r" })
        }
      }
      yield* settled([a1, c1])
      assert.deepStrictEqual(yield* news, [[], [], [], []])
    })
  )
})

describe("cancellation", () => {
  const cancel = { agent: "agent-1", req_id: "r9" }

  conform("case 153: notifies the office of a cancellation", (world) =>
    Effect.gen(function* () {
      const { a1, news } = yield* office(world)
      yield* a1.notify("server:tool_call_cancel", cancel)
      yield* settled([a1])
      const notified = [{ event: "notify:tool_call_cancel", body: cancel }]
      assert.deepStrictEqual(yield* news, [[], notified, notified, []])
    })
  )

  conform("cases 155, 156, 157, 158: requires the Agent's own name", (world) =>
    Effect.gen(function* () {
      const { a1, c1, news } = yield* office(world)
      const outsider = yield* agent(world)
      yield* c1.notify("server:tool_call_cancel", cancel)
      yield* outsider.notify("server:tool_call_cancel", cancel)
      const bad = [
        ...malformed,
        [{ agent: "other", req_id: "r9" }],
        [{ agent: "agent-1" }],
        [{ req_id: "r9" }],
        [{ agent: "agent-1", req_id: 9 }],
        [{ agent: 1, req_id: "r9" }]
      ]
      for (const payload of bad) yield* a1.notify("server:tool_call_cancel", ...payload)
      yield* settled([a1, c1, outsider])
      assert.deepStrictEqual(yield* news, [[], [], [], []])
    })
  )
})
