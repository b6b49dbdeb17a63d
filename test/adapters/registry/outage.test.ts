import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Option, Schedule, type Scope } from "effect"
import { openProxy } from "../../chaos/Proxy.ts"
import { startRedis, withoutRedis } from "../../fixtures/redis.ts"
import { node as startProcess } from "../../main/processes.ts"
import { answered, outcome, redisNodes, type TestNode, notified } from "./cluster.ts"

const memberSids = ({ registry }: TestNode, office = "O") => registry.members(office).map(({ sid }) => sid)

/** Waits until a node is connected to Redis and in sync. */
const up = ({ registry }: TestNode) =>
  Effect.sync(() => registry.state().available).pipe(
    Effect.repeat({ schedule: Schedule.spaced("20 millis"), until: (is) => is }),
    Effect.timeout("30 seconds"),
    Effect.orDie
  )

/** The shortest duration of several attempts: a busy machine does not delay all of them. */
const fastest = (effect: Effect.Effect<unknown, unknown>) =>
  Effect.map(
    Effect.forEach([1, 2, 3, 4, 5], () => Effect.timed(Effect.exit(effect))),
    (attempts) => Math.min(...attempts.map(([duration]) => Duration.toMillis(duration)))
  )

/** Two nodes with an Agent and a Computer in one office. */
const pair = Effect.fnUntraced(function* (gracePeriod: Duration.Duration = Duration.seconds(1)) {
  const redis = yield* startRedis
  const open = redisNodes(redis.url, "{test}:", { gracePeriod })
  const [n1, n2] = [yield* open("n1"), yield* open("n2")]
  yield* n1.connect("a")
  yield* n2.connect("c")
  yield* answered(n1.join("a", "agent", "thinker", "O"))
  yield* answered(n2.join("c", "computer", "desk", "O"))
  yield* n1.until(() => n1.received.length === 1)
  return { redis, open, n1, n2 }
})

const live = (title: string, body: () => Effect.gen.Return<void, unknown, Scope.Scope>) =>
  it.live.skipIf(withoutRedis)(title, () => Effect.gen(body), 180_000)

describe("a registry without Redis", () => {
  live("rejects a join at once with a retryable message", function* () {
    const { n1, redis } = yield* pair()
    yield* redis.kill
    yield* n1.connect("b")
    const join = n1.join("b", "computer", "shelf", "O")
    // A join waits for a second where Redis does not reply.
    assert.isBelow(yield* fastest(join), 1000)
    const { message, reason } = yield* Effect.flip(join)
    assert.deepStrictEqual([reason, message], ["unavailable", "The office registry is unavailable, try again"])
  })

  live("reports a leave locally at once, and to other nodes after Redis is restored", function* () {
    const { n1, n2, redis } = yield* pair()
    yield* n1.connect("b")
    yield* answered(n1.join("b", "computer", "shelf", "O"))
    yield* n2.until(() => n2.received.length === 1)
    yield* redis.kill
    yield* n1.disconnect("b")
    assert.strictEqual(notified(n1).at(-1), "-b shelf@O → a")
    assert.deepStrictEqual(memberSids(n2), ["a", "c", "b"])
    yield* redis.restart
    yield* n2.until(() => notified(n2).includes("-b shelf@O → c"))
  })

  live("starts, and admits members when Redis is available", function* () {
    const redis = yield* startRedis
    yield* redis.kill
    const node = yield* redisNodes(redis.url, "{test}:")("n1")
    yield* node.connect("a")
    assert.strictEqual(yield* outcome(node.join("a", "agent", "x", "O")), "unavailable")
    yield* redis.restart
    yield* up(node)
    assert.strictEqual(yield* outcome(answered(node.join("a", "agent", "x", "O"))), "ok")
  })
})

describe("a Redis that restarts empty", () => {
  live("gets all memberships again, without changes for the members", function* () {
    const { n1, n2, redis } = yield* pair()
    const before = [notified(n1), notified(n2)]
    yield* redis.restart
    yield* Effect.all([up(n1), up(n2)])
    yield* n2.connect("d")
    yield* answered(n2.join("d", "computer", "shelf", "O"))
    yield* n1.until(() => notified(n1).includes("+d shelf@O → a"))
    assert.deepStrictEqual([notified(n1), notified(n2)], [[...(before[0] ?? []), "+d shelf@O → a"], ["+d shelf@O → c"]])
    assert.deepStrictEqual([memberSids(n1), memberSids(n2)], [memberSids(n2), memberSids(n1)])
    assert.strictEqual(memberSids(n1).length, 3)
  })

  live("admits exactly one of 40 Agents that race for an office", function* () {
    const { n1, n2, redis } = yield* pair()
    const sids = Array.from({ length: 40 }, (_, index) => `r${index}`)
    const owner = (sid: string) => (Number(sid.slice(1)) % 2 === 0 ? n1 : n2)
    yield* Effect.forEach(sids, (sid) => owner(sid).connect(sid))
    yield* redis.restart
    const outcomes = yield* Effect.forEach(sids, (sid) => outcome(answered(owner(sid).join(sid, "agent", sid, "P"))), {
      concurrency: "unbounded"
    })
    assert.strictEqual(outcomes.filter((one) => one === "ok").length, 1)
  })
})

describe("a Redis that is paused", () => {
  live("ends joins at their timeout, and loses no members", function* () {
    const { n1, n2, redis } = yield* pair()
    yield* n1.connect("b")
    // Both nodes renew their leases by now, and continue to try.
    yield* Effect.sleep("1500 millis")
    yield* redis.pause
    assert.strictEqual(yield* outcome(n1.join("b", "computer", "shelf", "O")), "unavailable")
    // Longer than a lease, and shorter than the connection timeout.
    yield* Effect.sleep("2500 millis")
    yield* redis.resume
    yield* Effect.all([up(n1), up(n2)])
    // The timed out join is not applied later.
    assert.deepStrictEqual([...notified(n1), ...notified(n2)], ["+c desk@O → a"])
    assert.deepStrictEqual(
      [memberSids(n1), memberSids(n2)],
      [
        ["a", "c"],
        ["a", "c"]
      ]
    )
    assert.strictEqual(yield* outcome(answered(n1.join("b", "computer", "shelf", "O"))), "ok")
  })
})

describe("a Redis connection that drops all data", () => {
  live("is replaced by a new one although it is in use", function* () {
    const redis = yield* startRedis
    const way = yield* openProxy({ host: redis.host, target: () => redis.port })
    const node = yield* redisNodes(`redis://127.0.0.1:${way.port}`, "{test}:")("n1")
    yield* up(node)
    const lookups = Effect.forkChild(node.registry.isComputerElsewhere("O", "unknown"))
    yield* Effect.forkScoped(Effect.repeat(lookups, Schedule.spaced("100 millis")))
    yield* way.silence
    yield* node.connect("a")
    assert.strictEqual(yield* outcome(answered(node.join("a", "agent", "x", "O"))), "ok")
  })
})

describe("a node that is lost", () => {
  const file = fileURLToPath(new URL("../../fixtures/registryNode.ts", import.meta.url))

  /** A node in this process, and one in a child process. */
  const here = Effect.gen(function* () {
    const redis = yield* startRedis
    // The lease is the usual one; the assertion allows more time for slow machines.
    const n1 = yield* redisNodes(redis.url, "{test}:", { gracePeriod: Duration.seconds(3) })("here")
    yield* n1.connect("c")
    yield* answered(n1.join("c", "computer", "desk", "O"))
    const there = yield* startProcess(["--conditions=a2c-source", file, redis.url, "{test}:"])
    yield* there.prints("joined")
    yield* n1.until(() => n1.received.length === 2)
    return { redis, n1, there }
  })
  const gone = ["-there-agent there-agent@O → c", "-there-computer there-computer@O → c", "gone there"]
  const lost = (node: TestNode) => node.until(() => gone.every((line) => notified(node).includes(line)))

  live("is reported after kill -9", function* () {
    const { n1, there } = yield* here
    yield* there.signal("SIGKILL")
    yield* lost(n1)
    assert.deepStrictEqual(memberSids(n1), ["c"])
  })

  live("keeps the membership of its Agent when it notices the restart of an empty Redis late", function* () {
    const { n1, redis, there } = yield* here
    yield* n1.connect("b")
    yield* there.signal("SIGSTOP")
    yield* redis.restart
    const trying = yield* Effect.forkChild(outcome(answered(n1.join("b", "agent", "newcomer", "O"))))
    yield* Effect.sleep("500 millis")
    yield* there.signal("SIGCONT")
    assert.strictEqual(yield* Fiber.join(trying), "agent_exists")
    assert.deepStrictEqual(memberSids(n1).toSorted(), ["c", "there-agent", "there-computer"])
  })

  live("rejoins the cluster after a pause, and evicts members that lost their place", function* () {
    const { n1, there } = yield* here
    yield* there.signal("SIGSTOP")
    yield* lost(n1)
    yield* n1.connect("a")
    yield* answered(n1.join("a", "agent", "thinker", "O"))
    yield* there.signal("SIGCONT")
    yield* n1.until(() => notified(n1).at(-1) === "+there-computer there-computer@O → a,c")
    yield* there.prints('"_tag":"Evicted","sid":"there-agent"')
    yield* there.prints('"_tag":"Entered","sid":"a"')
    assert.deepStrictEqual(memberSids(n1), ["a", "c", "there-computer"])
    assert.isTrue(Option.isSome(n1.registry.findComputer("O", "there-computer")))
    assert.notInclude(there.stdout(), '"Evicted","sid":"there-computer"')
  })
})
