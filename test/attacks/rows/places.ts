import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Attack } from "../Attack.ts"
import { goodKey } from "../credentials.ts"
import { limits } from "../limits.ts"
import { sendConnect, admitted, joining, member, type Raw, request, unauthenticated } from "../raw.ts"
import { eventText } from "../wire.ts"

const times = <A, E, R>(count: number, effect: (index: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => index),
    effect
  )

/** Starts calls without a reply. */
const begin = (agent: Raw, computer: string, count: number) => {
  for (let call = 0; call < count; call += 1) {
    agent.send(eventText(1000 + call, "client:get_tools", request(computer)))
  }
}

const tooLong = "x".repeat(limits.nameLength + 1)

/** Attacks on quotas. */
export const places: ReadonlyArray<Attack> = [
  {
    attack: "calls beyond the quota of a Computer and of an Agent",
    answer: "429 calls_per_computer, 429 calls_per_agent",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "busy")
      yield* member("computer", "pc-1", "busy")
      yield* member("computer", "pc-2", "busy")
      begin(agent, "pc-1", limits.callsPerComputer)
      const [first] = yield* agent.request("client:get_tools", request("pc-1"))
      const max = limits.callsPerComputer
      assert.deepInclude(first, { code: 429, limit: "calls_per_computer", max })
      begin(agent, "pc-2", limits.callsPerAgent - limits.callsPerComputer)
      const [second] = yield* agent.request("client:get_tools", request("pc-2"))
      assert.deepInclude(second, { code: 429, limit: "calls_per_agent", max: limits.callsPerAgent })
    })
  },
  {
    attack: "connections beyond the quota",
    answer: "connect_error with 503 and too_many_connections",
    run: Effect.gen(function* () {
      // The two witnesses hold two connections.
      yield* times(limits.connections - 2, () => admitted("agent"))
      const reply = yield* sendConnect(yield* unauthenticated, { role: "agent", token: goodKey })
      assert.match(reply, /^4\/smcp,\{.*"code":503,.*"reason":"too_many_connections"/)
    })
  },
  {
    attack: "1500 connections without a connect packet",
    answer: "the oldest are closed, the quota and 256 stay; new members are admitted",
    run: Effect.gen(function* () {
      const silent = yield* times(1500, () => unauthenticated)
      // A later connection finds their number within the limit.
      yield* admitted("agent")
      const [first, , , last] = [silent[0], silent[1], silent[2], silent.at(-1)]
      yield* first?.closed ?? Effect.die(new Error("no member connected"))
      assert.strictEqual(last?.socket.readyState, last?.socket.OPEN)
      const open = () => silent.filter(({ socket }) => socket.readyState === socket.OPEN).length
      yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => open() <= limits.connections + 256 })
      assert.isAbove(open(), 200)
    })
  },
  {
    attack: "offices beyond the quota",
    answer: "[false, reason]",
    run: Effect.gen(function* () {
      yield* times(limits.offices - 1, (index) => member("computer", "pc", `many-${index}`))
      const computer = yield* admitted("computer")
      assert.deepStrictEqual(yield* joining(computer, "computer", "pc", "one-more"), [
        false,
        "The Server has as many offices as it may, try again"
      ])
    })
  },
  {
    attack: "members of an office beyond the quota",
    answer: "[false, reason]",
    run: Effect.gen(function* () {
      yield* times(limits.membersPerOffice, (index) => member("computer", `pc-${index}`, "crowded"))
      const computer = yield* admitted("computer")
      const [joined, why] = yield* joining(computer, "computer", "pc", "crowded")
      assert.deepStrictEqual([joined, why], [false, "Office 'crowded' is full"])
    })
  },
  {
    attack: "long names, office ids and request ids, and control characters in them",
    answer: "[false, reason]; 400",
    run: Effect.gen(function* () {
      const computer = yield* admitted("computer")
      for (const [name, office] of [
        [tooLong, "o"],
        ["pc", tooLong],
        ["a\nb", "o"],
        ["pc", "\u001b[2J"],
        ["", "o"],
        ["\u2028", "o"]
      ] as const) {
        const [joined, why] = yield* joining(computer, "computer", name, office)
        assert.deepStrictEqual([joined, typeof why], [false, "string"])
      }
      const agent = yield* member("agent", "mallory", "long")
      const [refused] = yield* agent.request("client:get_tools", request("pc", { req_id: tooLong }))
      assert.deepInclude(refused, { code: 400 })
    })
  },
  {
    attack: "connections outside any office, and idle ones in an office",
    answer: "closed after joinTime, and after idleTime",
    run: Effect.gen(function* () {
      const outside = yield* admitted("agent")
      const silent = yield* member("computer", "pc", "silent")
      yield* Effect.all([outside.closed, silent.closed], { concurrency: 2 })
    })
  }
]
