import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Attack } from "../Attack.ts"
import { admitted, member, polling, admittedPolling, type Raw, request, unauthenticated, until } from "../raw.ts"
import { connectText, eventText } from "../wire.ts"

/** More than twice the burst of the rate limit. */
const many = 8000

/** Earlier than the timeout of connections outside an office. */
const soon = "8 seconds"

/** Sends frames until the Server closes the connection. */
const flood = (client: Raw, frames: (round: number) => ReadonlyArray<string>) =>
  Effect.gen(function* () {
    for (let round = 0; round < many; round += 1) client.send(...frames(round))
    yield* Effect.timeout(client.closed, soon)
  })

const tooMany = (texts: ReadonlyArray<string>) => texts.filter((text) => text.includes('"code":429'))

const floodedBy = (attack: string, event: string, first: number): Attack => ({
  attack,
  answer: "429 with retry_after; closed when the flood continues",
  run: Effect.gen(function* () {
    const agent = yield* member("agent", "mallory", "flooded")
    yield* flood(agent, (round) => [eventText(round + 2, event, request("absent"))])
    const texts = yield* agent.rest
    const [refused = ""] = tooMany(texts)
    assert.isAbove(texts.filter((text) => text.includes(`"code":${first}`)).length, 1000)
    assert.match(refused, /"limit":"messages_per_second","max":1000,"retry_after":[\d.]+/)
  })
})

/** Attacks with many useless frames. */
export const floods: ReadonlyArray<Attack> = [
  floodedBy("a flood of requests", "client:get_tools", 404),
  floodedBy("a flood of unknown events", "server:nonsense", 404),
  {
    attack: "a flood of notifications",
    answer: "dropped; closed when the flood continues; other members get the allowed ones",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "flooded")
      const computer = yield* member("computer", "pc", "flooded")
      const report = eventText(undefined, "server:update_desktop", { computer: "pc" })
      yield* flood(computer, () => [report])
      yield* agent.waitFor('2/smcp,["notify:leave_office"')
    })
  },
  {
    attack: "a flood of invalid frames",
    answer: "closed at the first frame",
    run: Effect.gen(function* () {
      for (const garbage of ["4nonsense", '42/smcp,["x",{]', "9", "b!!!!", '42/smcp,{"a":1}', "2probe"]) {
        yield* flood(yield* admitted("agent"), () => [garbage])
      }
    })
  },
  {
    attack: "a flood of keepalive frames of Engine.IO and WebSocket",
    answer: "closed after 200",
    run: Effect.gen(function* () {
      yield* flood(yield* admitted("agent"), () => ["3"])
      yield* flood(yield* unauthenticated, () => ["6"])
      const pinging = yield* admitted("agent")
      for (let round = 0; round < many; round += 1) pinging.socket.ping()
      yield* Effect.timeout(pinging.closed, soon)
    })
  },
  {
    attack: "a flood of unsolicited acknowledgements",
    answer: "closed after 200",
    run: Effect.gen(function* () {
      const computer = yield* member("computer", "pc", "flooded")
      yield* flood(computer, (round) => [`43/smcp,${round}[{}]`])
    })
  },
  {
    attack: "connects to many foreign namespaces, and to one with a long name",
    answer: "Invalid namespace; closed after 200, and at once",
    run: Effect.gen(function* () {
      const foreign = yield* unauthenticated
      foreign.send("40/other,")
      assert.strictEqual(yield* foreign.next, '4/other,{"message":"Invalid namespace"}')
      yield* flood(foreign, (round) => [`40/other-${round},`])
      const longNamed = yield* unauthenticated
      longNamed.send(`40/${"x".repeat(50_000)},`)
      yield* longNamed.closed
      assert.deepStrictEqual(yield* longNamed.rest, [])
    })
  },
  {
    attack: "repeated connects on one connection, and disconnects without a session",
    answer: "closed after 20, and after 200",
    run: Effect.gen(function* () {
      const reconnecting = yield* admitted("agent")
      yield* flood(reconnecting, () => ["41/smcp,", connectText({ role: "agent", token: "wrong" })])
      yield* flood(yield* unauthenticated, () => ["41/smcp,"])
    })
  },
  {
    attack: "payloads of polling with very many packets",
    answer: "closed",
    run: Effect.gen(function* () {
      for (const packet of ["3", "6", eventText(1, "client:get_tools", request("absent"))]) {
        const session = yield* admittedPolling("agent")
        yield* session.post(Array.from({ length: 40_000 }, () => packet).join("\u001e"))
        assert.strictEqual((yield* session.get).status, 400)
      }
      const endless = yield* polling
      yield* endless.post("3\u001e".repeat(30_000))
      assert.strictEqual((yield* endless.get).status, 400)
      // So many that splitting them takes noticeable time.
      const huge = yield* admittedPolling("agent")
      yield* huge.post("6\u001e".repeat(4_000_000))
      assert.strictEqual((yield* huge.get).status, 400)
    })
  },
  {
    attack: "repeated payloads of polling with the maximum number of requests",
    answer: "429, then closed",
    run: Effect.gen(function* () {
      const session = yield* admittedPolling("agent")
      const packets = Array.from({ length: 3000 }, (_, id) => eventText(id, "client:get_tools", request("absent")))
      yield* session.post(packets.join("\u001e"))
      assert.strictEqual((yield* until(session, '"code":429')).status, 200)
      yield* session.post(packets.join("\u001e"))
      assert.strictEqual((yield* until(session, "never said")).status, 400)
    })
  }
]
