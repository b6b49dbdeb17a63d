import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Attack } from "../Attack.ts"
import { guest, member, polling, pollingGuest, type Raw, request, stranger, until } from "../raw.ts"
import { connectText, eventText } from "../wire.ts"

/** More than twice what one may send at once. */
const many = 8000

/** Sooner than anybody is closed for sitting outside. */
const soon = "2500 millis"

/** Sends something again and again until the Server has had enough. */
const flood = (client: Raw, frames: (round: number) => ReadonlyArray<string>) =>
  Effect.gen(function* () {
    for (let round = 0; round < many; round += 1) client.send(...frames(round))
    yield* Effect.timeout(client.closed, soon)
  })

const tooMany = (texts: ReadonlyArray<string>) => texts.filter((text) => text.includes('"code":429'))

const floodedBy = (attack: string, event: string, first: number): Attack => ({
  attack,
  answer: "429 with retry_after; closed when it goes on",
  run: Effect.gen(function* () {
    const agent = yield* member("agent", "mallory", "flooded")
    yield* flood(agent, (round) => [eventText(round + 2, event, request("nobody"))])
    const texts = yield* agent.rest
    const [refused = ""] = tooMany(texts)
    assert.isAbove(texts.filter((text) => text.includes(`"code":${first}`)).length, 1000)
    assert.match(refused, /"limit":"messages_per_second","max":1000,"retry_after":[\d.]+/)
  })
})

/** What keeps a Server busy without meaning anything. */
export const floods: ReadonlyArray<Attack> = [
  floodedBy("a flood of requests", "client:get_tools", 404),
  floodedBy("a flood of events that nobody knows", "server:nonsense", 404),
  {
    attack: "a flood of reports",
    answer: "dropped; closed when it goes on; the others hear what is allowed",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "flooded")
      const computer = yield* member("computer", "pc", "flooded")
      const report = eventText(undefined, "server:update_desktop", { computer: "pc" })
      yield* flood(computer, () => [report])
      yield* agent.hear('2/smcp,["notify:leave_office"')
    })
  },
  {
    attack: "a flood of garbage, and of one piece",
    answer: "closed at the first piece",
    run: Effect.gen(function* () {
      for (const garbage of ["4nonsense", '42/smcp,["x",{]', "9", "b!!!!", '42/smcp,{"a":1}', "2probe"]) {
        yield* flood(yield* guest("agent"), () => [garbage])
      }
    })
  },
  {
    attack: "a flood of signs of life, of Engine.IO and of WebSocket",
    answer: "closed after 200",
    run: Effect.gen(function* () {
      yield* flood(yield* guest("agent"), () => ["3"])
      yield* flood(yield* stranger, () => ["6"])
      const pinging = yield* guest("agent")
      for (let round = 0; round < many; round += 1) pinging.socket.ping()
      yield* Effect.timeout(pinging.closed, soon)
    })
  },
  {
    attack: "a flood of answers that nobody asked for",
    answer: "closed after 200",
    run: Effect.gen(function* () {
      const computer = yield* member("computer", "pc", "flooded")
      yield* flood(computer, (round) => [`43/smcp,${round}[{}]`])
    })
  },
  {
    attack: "asking for many other namespaces, and for one with a long name",
    answer: "Invalid namespace; closed after 200, and at once",
    run: Effect.gen(function* () {
      const curious = yield* stranger
      curious.send("40/other,")
      assert.strictEqual(yield* curious.next, '4/other,{"message":"Invalid namespace"}')
      yield* flood(curious, (round) => [`40/other-${round},`])
      const loud = yield* stranger
      loud.send(`40/${"x".repeat(50_000)},`)
      yield* loud.closed
      assert.deepStrictEqual(yield* loud.rest, [])
    })
  },
  {
    attack: "coming and going on one connection, and going where nobody is",
    answer: "closed after 20, and after 200",
    run: Effect.gen(function* () {
      const restless = yield* guest("agent")
      yield* flood(restless, () => ["41/smcp,", connectText({ role: "agent", token: "wrong" })])
      yield* flood(yield* stranger, () => ["41/smcp,"])
    })
  },
  {
    attack: "payloads of polling with very many packets",
    answer: "closed",
    run: Effect.gen(function* () {
      for (const packet of ["3", "6", eventText(1, "client:get_tools", request("nobody"))]) {
        const session = yield* pollingGuest("agent")
        yield* session.post(Array.from({ length: 40_000 }, () => packet).join("\u001e"))
        assert.strictEqual((yield* session.get).status, 400)
      }
      const endless = yield* polling
      yield* endless.post("3\u001e".repeat(30_000))
      assert.strictEqual((yield* endless.get).status, 400)
      // So many that taking them apart would be noticed.
      const huge = yield* pollingGuest("agent")
      yield* huge.post("6\u001e".repeat(4_000_000))
      assert.strictEqual((yield* huge.get).status, 400)
    })
  },
  {
    attack: "payloads of polling with as many requests as fit, again and again",
    answer: "429, then closed",
    run: Effect.gen(function* () {
      const session = yield* pollingGuest("agent")
      const packets = Array.from({ length: 3000 }, (_, id) =>
        eventText(id, "client:get_tools", request("nobody"))
      )
      yield* session.post(packets.join("\u001e"))
      assert.strictEqual((yield* until(session, '"code":429')).status, 200)
      yield* session.post(packets.join("\u001e"))
      assert.strictEqual((yield* until(session, "never said")).status, 400)
    })
  }
]
