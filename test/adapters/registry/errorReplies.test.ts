import { networkInterfaces } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted, Schedule } from "effect"
import { createClient } from "redis"
import * as RedisCluster from "../../../src/adapters/redis/RedisCluster.ts"
import { NodeLink } from "../../../src/application/ports/NodeLink.ts"
import { OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { startRedis, type TestRedis, withoutRedis } from "../../fixtures/redis.ts"
import { allCommands, openFaultyRedis, sendCommands } from "../../fixtures/redisErrors.ts"
import { makeEcho, request } from "../nodeLink.contract.ts"
import { answered, outcome, redisNodes, type TestNode } from "./cluster.ts"
import { until } from "../../until.ts"

/** More than this is a busy loop; the backoff and the heartbeats of a node take a small part of it. */
const maxCommandsPerSecond = 200

const isUp = ({ registry }: TestNode) => registry.state().available

/** Collects the log lines about Redis. */
const collectLogs = () => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    const line = `${logLevel} ${JSON.stringify(message)}`
    if (line.includes("Redis")) lines.push(line)
  })
  return { lines, layer: Logger.layer([logger]) }
}

const always = (redis: TestRedis) => () => redis

/** A node with an Agent, and its log. */
const joined = Effect.fnUntraced(function* (url: string) {
  const logs = collectLogs()
  const node = yield* Effect.provide(redisNodes(url, "{test}:")("n1"), logs.layer)
  yield* node.connect("a")
  yield* answered(node.join("a", "agent", "thinker", "O"))
  yield* node.connect("b")
  return { node, lines: logs.lines, join: node.join("b", "computer", "desk", "O") }
})

const failures = [
  [
    "READONLY in a script of an older version",
    "ERR Error running script (call to f_1): @user_script:12: @user_script: 12: -READONLY You can't write against a read only replica. "
  ],
  ["LOADING", "LOADING Redis is loading the dataset in memory"],
  ["MISCONF", "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."],
  ["NOAUTH", "NOAUTH Authentication required."],
  ["BUSY", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."],
  ["TRYAGAIN", "TRYAGAIN Multiple keys request during rehashing of slot"],
  ["an unknown error", "ERR something else"]
] as const

describe.skipIf(withoutRedis)("a Redis that answers scripts with errors", { concurrent: true }, () => {
  it.live.each(failures)(
    "causes one warning, few commands and no loss of members: %s",
    ([, error = ""]) =>
      Effect.gen(function* () {
        const redis = yield* openFaultyRedis(always(yield* startRedis))
        const { join, lines, node } = yield* joined(redis.url)
        yield* redis.fail(error)
        yield* until(() => lines.length > 0)
        const before = redis.commands()
        assert.strictEqual(yield* outcome(join), "unavailable")
        yield* Effect.sleep("1 second")
        // The join also takes a second.
        assert.isBelow(redis.commands() - before, 2 * maxCommandsPerSecond)
        assert.lengthOf(lines, 1)
        assert.match(lines[0] ?? "", /^Warn/)
        assert.include(lines[0], error.slice(0, 20))
        yield* redis.fail(undefined)
        assert.strictEqual(yield* outcome(answered(join)), "ok")
        assert.deepStrictEqual(
          node.registry.members("O").map(({ sid }) => sid),
          ["a", "b"]
        )
        yield* until(() => lines.length > 1)
        assert.lengthOf(lines, 2)
        assert.include(lines[1], "Redis reconnected")
        yield* until(() => redis.openConnections() === 2)
      }),
    60_000
  )

  it.live("gets fewer commands the longer an outage lasts", () =>
    Effect.gen(function* () {
      const redis = yield* openFaultyRedis(always(yield* startRedis))
      const { lines } = yield* joined(redis.url)
      for (let outage = 1; outage <= 2; outage++) {
        yield* redis.fail("BUSY for a test")
        yield* until(() => lines.length === 2 * outage - 1)
        yield* Effect.sleep("1500 millis")
        // One script a second and the pings; without growth there would be 40 scripts.
        const before = redis.commands()
        yield* Effect.sleep("2 seconds")
        assert.isBelow(redis.commands() - before, 40)
        yield* redis.fail(undefined)
        yield* until(() => lines.length === 2 * outage)
      }
    })
  )

  it.live("causes a warning for each reason of an outage", () =>
    Effect.gen(function* () {
      const redis = yield* openFaultyRedis(always(yield* startRedis))
      const { lines } = yield* joined(redis.url)
      const codes = ["READONLY", "OOM", "BUSY"]
      for (const [index, code] of codes.entries()) {
        yield* redis.fail(`${code} for a test`)
        yield* until(() => lines.length === index + 1)
      }
      yield* redis.fail(undefined)
      yield* until(() => lines.length === 4)
      yield* redis.fail("OOM for a test")
      yield* until(() => lines.length === 5)
      assert.deepStrictEqual(
        lines.map((line) => codes.find((code) => line.includes(code)) ?? line.slice(0, 4)),
        [...codes, "Info", "OOM"]
      )
    })
  )

  it.live.each([
    ["max number of clients reached", "ERR max number of clients reached"],
    ["WRONGPASS", "WRONGPASS invalid username-password pair or user is disabled."],
    ["NOPERM", "NOPERM this user has no permissions to run the 'hello' command"]
  ])(
    "is asked at a bounded rate when it rejects connections: %s",
    ([, error = ""]) =>
      Effect.gen(function* () {
        const redis = yield* openFaultyRedis(always(yield* startRedis))
        yield* redis.fail(error, allCommands)
        const logs = collectLogs()
        const node = yield* Effect.provide(redisNodes(redis.url, "{test}:")("n1"), logs.layer)
        const before = redis.commands()
        yield* Effect.sleep("2 seconds")
        assert.isBelow(redis.commands() - before, 2 * maxCommandsPerSecond)
        assert.lengthOf(
          logs.lines.filter((line) => line.includes(error.slice(0, 20))),
          1
        )
        yield* redis.fail(undefined)
        yield* until(() => isUp(node))
      }),
    60_000
  )
})

describe.skipIf(withoutRedis)("a real Redis that cannot write", { concurrent: true }, () => {
  const set = (name: string, value: string) => ["CONFIG", "SET", name, value]
  const unreachablePrimary = ["REPLICAOF", "127.0.0.1", "1"]
  const primary = ["REPLICAOF", "NO", "ONE"]
  const conditions: ReadonlyArray<
    readonly [code: string, start: ReadonlyArray<ReadonlyArray<string>>, end: ReadonlyArray<string>]
  > = [
    ["READONLY", [unreachablePrimary], primary],
    ["MASTERDOWN", [set("replica-serve-stale-data", "no"), unreachablePrimary], primary],
    ["OOM", [set("maxmemory", "1")], set("maxmemory", "0")],
    ["NOREPLICAS", [set("min-replicas-to-write", "1")], set("min-replicas-to-write", "0")],
    ["NOPERM", [["ACL", "SETUSER", "default", "-eval", "-evalsha"]], ["ACL", "SETUSER", "default", "+@all"]]
  ]

  it.live.each(conditions)(
    "causes one warning, few commands and no loss of members: %s",
    ([code, start, end]) =>
      Effect.gen(function* () {
        const redis = yield* startRedis
        const counted = yield* openFaultyRedis(always(redis))
        const { join, lines, node } = yield* joined(counted.url)
        yield* sendCommands(redis, ...start)
        yield* until(() => lines.length > 0)
        const before = counted.commands()
        assert.strictEqual(yield* outcome(join), "unavailable")
        yield* Effect.sleep("1 second")
        assert.isBelow(counted.commands() - before, 2 * maxCommandsPerSecond)
        assert.lengthOf(lines, 1)
        assert.include(lines[0], code)
        yield* sendCommands(redis, end)
        assert.strictEqual(yield* outcome(answered(join)), "ok")
        assert.lengthOf(node.registry.members("O"), 2)
        yield* until(() => lines.length === 2)
      }),
    60_000
  )
})

describe.skipIf(withoutRedis)("a Redis that rejects one command and accepts others", { concurrent: true }, () => {
  const acl = (...rules: ReadonlyArray<string>) => ["ACL", "SETUSER", "default", ...rules]

  it.live.each([
    ["NOPERM", "NOPERM this user has no permissions to run the 'ping' command"],
    ["an unknown command", "ERR unknown command 'PING', with args beginning with: "],
    ["BUSY", "BUSY Redis is busy running a script."]
  ])(
    "causes one warning until it accepts pings: %s",
    ([, error = ""]) =>
      Effect.gen(function* () {
        const redis = yield* openFaultyRedis(always(yield* startRedis))
        const { join, lines } = yield* joined(redis.url)
        yield* redis.fail(error, ["PING"])
        yield* until(() => lines.length > 0)
        assert.strictEqual(yield* outcome(answered(join)), "ok")
        // Both connections ping once a second; heartbeats in between succeed.
        yield* Effect.sleep("4 seconds")
        assert.lengthOf(lines, 1)
        assert.include(lines[0], error.slice(0, 20))
        yield* redis.fail(undefined)
        yield* until(() => lines.length === 2)
        assert.include(lines[1], "Redis reconnected")
      }),
    60_000
  )

  it.live.each([["publish"], ["hset"], ["incr"]])(
    "causes one warning for many joins that it rejects: %s",
    ([command = ""]) =>
      Effect.gen(function* () {
        const redis = yield* startRedis
        const { join, lines } = yield* joined(redis.url)
        yield* sendCommands(redis, acl(`-${command}`))
        for (let attempt = 0; attempt < 4; attempt++) {
          assert.strictEqual(yield* outcome(join), "unavailable")
          // A heartbeat succeeds in between.
          yield* Effect.sleep("1 second")
        }
        assert.lengthOf(
          lines.filter((line) => line.includes("registry")),
          1
        )
        yield* sendCommands(redis, acl(`+${command}`))
        assert.strictEqual(yield* outcome(answered(join)), "ok")
        yield* until(() => lines.some((line) => line.includes("Redis reconnected") && line.includes("registry")))
      }),
    60_000
  )
})

const cluster = (url: string) =>
  Effect.map(Effect.orDie(Layer.build(Layer.fresh(RedisCluster.layer({ url: Redacted.make(url) })))), (context) => ({
    registry: Context.get(context, OfficeRegistry),
    link: Context.get(context, NodeLink)
  }))

describe.skipIf(withoutRedis)("a failover of Redis", () => {
  it.live("moves all connections of all nodes to the new primary", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* startRedis, yield* startRedis]
      let target = first
      const { url } = yield* openFaultyRedis(() => target)
      const [one, two] = [yield* cluster(url), yield* cluster(url)]
      yield* two.link.serve(makeEcho())
      yield* until(() => one.registry.state().available && two.registry.state().available)
      yield* sendCommands(first, ["REPLICAOF", second.host, String(second.port)])
      target = second
      const clients = (redis: TestRedis) =>
        Effect.promise(async () => {
          const client = await createClient({ url: redis.url }).connect()
          const list = await client.sendCommand<string>(["CLIENT", "LIST"])
          client.destroy()
          // Without this client and the replica.
          return list.split("\n").filter((line) => /sub=[12] |cmd=(eval|publish|ping|subscribe)/.test(line)).length
        })
      yield* Effect.repeat(clients(first), { until: (count) => count === 0, schedule: Schedule.spaced("50 millis") })
      yield* until(() => one.registry.state().nodes.length === 2)
      yield* Effect.repeat(clients(second), { until: (count) => count >= 6, schedule: Schedule.spaced("50 millis") })
      const answer = request(one.link, two.link.node, "echo", "x")
      yield* Effect.repeat(answer, {
        until: (got) => got !== "NodeUnreachable",
        schedule: Schedule.spaced("20 millis")
      })
      assert.deepStrictEqual(yield* answer, ["x"])
    })
  )
})

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"))

describe.skipIf(withoutRedis)("a Redis at an IPv6 address", () => {
  it.live.skipIf(!hasIpv6)("connects registry and node link", () =>
    Effect.gen(function* () {
      const redis = yield* openFaultyRedis(always(yield* startRedis), "::1")
      const [one, two] = [yield* cluster(redis.url), yield* cluster(redis.url)]
      yield* two.link.serve(makeEcho())
      yield* until(() => one.registry.state().available && two.registry.state().available)
      assert.deepStrictEqual(yield* request(one.link, two.link.node, "echo", "x"), ["x"])
    })
  )
})
