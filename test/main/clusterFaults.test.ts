import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { startRedis, withoutRedis } from "../fixtures/redis.ts"
import {
  bodies,
  call,
  connect,
  load,
  meets,
  metrics,
  type Outcome,
  page,
  type Peer,
  room,
  soon,
  joinOffice,
  startNode,
  startNodes,
  tally,
  until
} from "./nodes.ts"
import { a2c, temporaryFile } from "./processes.ts"

/** Codes of calls whose Computer, or its node, is lost. */
const lost: ReadonlySet<string> = new Set(["404", "408", "503"])

const endsOf = (outcomes: ReadonlyArray<Outcome>) => tally(outcomes.map(({ end }) => end))

const assertEnds = (outcomes: ReadonlyArray<Outcome>, allowed: ReadonlySet<string>) => {
  const others = Object.keys(endsOf(outcomes)).filter((end) => !allowed.has(end))
  assert.deepStrictEqual(others, [], JSON.stringify(endsOf(outcomes)))
}

const slowest = (outcomes: ReadonlyArray<Outcome>) => Math.max(...outcomes.map(({ millis }) => millis))

/** Retries a join until it succeeds, or fails without "try again". */
const joinSoon = (peer: Peer, name: string, office: string) =>
  until(peer.join(name, office), (reason) => reason === undefined || !reason.includes("try again"))

describe.skipIf(withoutRedis)("killed Server of a cluster", () => {
  it.live("ends the calls of its members and affects no others", () =>
    Effect.gen(function* () {
      const redis = yield* startRedis
      const [a, b, c] = yield* startNodes(redis.url)
      const agent = yield* joinOffice(a, "agent", "thinker", "o")
      yield* joinOffice(b, "computer", "desk", "o")
      yield* joinOffice(b, "computer", "shelf", "o", { instance: "secret" })
      yield* joinOffice(c, "computer", "store", "o")
      yield* Effect.forEach(["desk", "shelf", "store"], (name) => meets(agent, name))
      const stuck = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 500 }, (_, index) =>
            call(agent, "thinker", index % 2 === 0 ? "desk" : "shelf", "never")
          ),
          { concurrency: "unbounded" }
        ),
        { startImmediately: true }
      )
      // The killed Server receives nothing from here on, so only its missing heartbeats reveal its end.
      const lone = yield* joinOffice(c, "agent", "lone", "p")
      yield* joinOffice(b, "computer", "remote", "p")
      yield* meets(lone, "remote")
      const waiting = yield* Effect.forkChild(call(lone, "lone", "remote", "never"), {
        startImmediately: true
      })
      const toDesk = yield* load(agent, "thinker", "desk", 8)
      const toStore = yield* load(agent, "thinker", "store", 8)
      yield* until(
        Effect.sync(() => Math.min(toDesk.outcomes.length, toStore.outcomes.length)),
        (count) => count > 200
      )
      yield* b.process.signal("SIGKILL")

      // Computers of this project do the same: they reconnect with the secret of their session.
      yield* joinOffice(c, "computer", "shelf", "o", { instance: "secret" })
      // The leave of the old session is published before the join of the new one.
      yield* until(call(agent, "thinker", "shelf"), ({ end }) => end === "ok")

      const ended = yield* Fiber.join(stuck)
      assertEnds(ended, lost)
      assert.isBelow(slowest(ended), soon)
      const last = yield* Fiber.join(waiting)
      assertEnds([last], lost)
      assert.isBelow(last.millis, soon)
      const left = (name: string) =>
        agent.received.filter(
          ({ body, event }) => event === "notify:leave_office" && (body as { computer?: string }).computer === name
        )
      yield* until(
        Effect.sync(() => left("desk")),
        (those) => those.length > 0
      )

      const back = yield* joinOffice(c, "computer", "desk", "o")
      const again = toDesk.since()
      yield* until(Effect.sync(again), (those) => those.filter(({ end }) => end === "ok").length > 50)
      const outcomes = [...(yield* toDesk.stop), ...(yield* toStore.stop)]
      assertEnds(toDesk.outcomes, new Set(["ok", ...lost]))
      assertEnds(toStore.outcomes, new Set(["ok"]))
      assert.deepStrictEqual([left("desk").length, left("shelf").length], [1, 1])
      assert.deepStrictEqual((yield* room(agent, "thinker", "o")).toSorted(), [
        "agent thinker",
        "computer desk",
        "computer shelf",
        "computer store"
      ])
      // Each request has one reply, and none has two.
      assert.isAbove(agent.requestCount(), ended.length + outcomes.length)
      assert.strictEqual(agent.acknowledgements(), agent.requestCount())
      assert.deepStrictEqual(bodies(back, "notify:leave_office"), [])
      // The keepalive detects it.
      yield* until(metrics(a, "nodes"), ({ a2c_nodes }) => a2c_nodes === 2)
    })
  )
})

describe.skipIf(withoutRedis)("failing Redis of a cluster", () => {
  for (const [what, away] of [
    ["is stalled", "pause"],
    ["restarts empty", "kill"]
  ] as const) {
    it.live(`affects joins and no calls while it ${what}`, () =>
      Effect.gen(function* () {
        const redis = yield* startRedis
        const [a, b] = yield* startNodes(redis.url)
        const agent = yield* joinOffice(a, "agent", "thinker", "o")
        yield* joinOffice(a, "computer", "near", "o")
        yield* joinOffice(b, "computer", "far", "o")
        yield* meets(agent, "far")
        const near = yield* load(agent, "thinker", "near", 4)
        const far = yield* load(agent, "thinker", "far", 4)
        const flows = (those: () => ReadonlyArray<Outcome>) =>
          until(Effect.sync(those), (some) => some.filter(({ end }) => end === "ok").length > 50)
        yield* flows(far.since())
        const during = { near: near.since(), far: far.since() }
        yield* redis[away]
        const newcomer = yield* connect(b, "computer")
        assert.strictEqual(yield* newcomer.join("new", "o"), "The office registry is unavailable, try again")
        yield* until(metrics(a, "registry_up", "components_unhealthy"), (seen) => seen["a2c_registry_up"] === 0)
        assert.deepStrictEqual(yield* page(a, "/readyz"), {
          status: 200,
          text: "ready, unhealthy components: registry\n"
        })
        for (const those of [during.near, during.far]) yield* until(Effect.sync(those), ({ length }) => length > 200)

        yield* away === "pause" ? redis.resume : redis.restart
        yield* flows(far.since())
        assert.strictEqual(yield* joinSoon(newcomer, "new", "o"), undefined)
        // The Computer has joined; the Agent may be notified a moment later.
        yield* until(call(agent, "thinker", "new"), ({ end }) => end === "ok")
        const rival = yield* connect(b, "agent")
        assert.match(String(yield* joinSoon(rival, "rival", "o")), /already/)

        yield* near.stop
        yield* far.stop
        for (const those of [during.near, during.far]) assertEnds(those(), new Set(["ok"]))
        const notifications = agent.received.map(
          ({ body, event }) => `${event} ${String((body as { computer?: string }).computer)}`
        )
        // A stalled Redis may run the rejected join later: then it is reverted.
        const visits = notifications.filter((one) => one.endsWith(" new"))
        const passing = Math.floor(visits.length / 2)
        const [enter, leave] = ["notify:enter_office new", "notify:leave_office new"]
        assert.deepStrictEqual(visits, [...Array.from({ length: passing }, () => [enter, leave]).flat(), enter])
        assert.deepStrictEqual(
          notifications.filter((one) => !one.endsWith(" new")),
          ["notify:enter_office near", "notify:enter_office far"]
        )
        assert.deepStrictEqual(yield* page(a, "/readyz"), { status: 200, text: "ready\n" })
      })
    )
  }

  it.live("delays joins until it starts, and rejects them with a reason", () =>
    Effect.gen(function* () {
      const redis = yield* startRedis
      yield* redis.kill
      const alone = yield* startNode(redis.url)
      yield* alone.process.prints("Redis unreachable: joins fail until it connects", "stderr")
      assert.deepStrictEqual(yield* page(alone, "/readyz"), {
        status: 200,
        text: "ready, unhealthy components: registry\n"
      })
      const agent = yield* connect(alone, "agent")
      assert.strictEqual(yield* agent.join("thinker", "o"), "The office registry is unavailable, try again")
      const place = ["--server", alone.url, "--office", "o", "--name"]
      const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers: {} }))
      const desk = yield* a2c("computer", ...place, "desk", "--config", config)
      yield* desk.prints("join failed, retrying", "stderr")
      const hasty = yield* a2c("agent", ...place, "hasty", "members")
      assert.strictEqual(yield* hasty.ended, 1)
      assert.strictEqual(hasty.stderr(), "a2c: The office registry is unavailable, try again\n")
      yield* redis.restart
      yield* desk.prints("joined office o as desk")
      assert.strictEqual(yield* joinSoon(agent, "thinker", "o"), undefined)
      yield* alone.process.prints("Redis reconnected", "stderr")
    })
  )

  it.live("keeps a Server with an invalid URL from starting, without quoting the URL", () =>
    Effect.gen(function* () {
      for (const address of ["nonsense", "http://user:sesame@localhost:6379", "redis://user:sesame@:x"]) {
        const wrong = yield* a2c("server", "--port", "0", "--redis", address)
        assert.strictEqual(yield* wrong.ended, 1)
        assert.match(wrong.stderr(), /^a2c: Invalid Redis URL: expected redis:/m)
        assert.notInclude(wrong.stderr(), "sesame")
      }
    })
  )
})
