import { networkInterfaces } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted, Schedule } from "effect"
import { createClient } from "redis"
import * as RedisCluster from "../../../src/adapters/redis/RedisCluster.ts"
import { NodeLink } from "../../../src/application/server/nodes/NodeLink.ts"
import { OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { startRedis, type TestRedis, withoutRedis } from "../../fixtures/redis.ts"
import { allCommands, openFaultyRedis, sendCommands } from "../../fixtures/redisErrors.ts"
import { makeEcho, request } from "../nodeLink.contract.ts"
import { answered, outcome, redisNodes, type TestNode } from "./cluster.ts"
import { until } from "../../until.ts"

/** More than this is a busy loop; the backoff and the heartbeats of a node take a small part of it. */
const maxCommandsPerSecond = 200

const isUp = ({ registry }: TestNode) => registry.state().available

/** The log lines about Redis. A busy machine adds warnings about timeouts, so tests count those with their own text. */
const collectLogs = () => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    const line = `${logLevel} ${JSON.stringify(message)}`
    if (line.includes("Redis")) lines.push(line)
  })
  return {
    layer: Logger.layer([logger]),
    warnings: (text: string) => lines.filter((line) => line.startsWith("Warn") && line.includes(text)),
    endsWithRecovery: () => lines.at(-1)?.includes("Redis reconnected") === true
  }
}

const always = (redis: TestRedis) => () => redis

/** A node with an Agent, and its log. */
const joined = Effect.fnUntraced(function* (url: string) {
  const logs = collectLogs()
  const node = yield* Effect.provide(redisNodes(url, "{test}:")("n1"), logs.layer)
  yield* node.connect("a")
  yield* answered(node.join("a", "agent", "thinker", "O"))
  yield* node.connect("b")
  return { ...logs, node, join: node.join("b", "computer", "desk", "O") }
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
        const { endsWithRecovery, join, node, warnings } = yield* joined(redis.url)
        const own = () => warnings(error.slice(0, 20))
        yield* redis.fail(error)
        yield* until(() => own().length > 0)
        const before = redis.commands()
        assert.strictEqual(yield* outcome(join), "unavailable")
        yield* Effect.sleep("1 second")
        // The join also takes a second.
        assert.isBelow(redis.commands() - before, 2 * maxCommandsPerSecond)
        yield* redis.fail(undefined)
        assert.strictEqual(yield* outcome(answered(join)), "ok")
        assert.deepStrictEqual(
          node.registry.members("O").map(({ sid }) => sid),
          ["a", "b"]
        )
        yield* until(endsWithRecovery)
        assert.lengthOf(own(), 1)
        yield* until(() => redis.openConnections() === 2)
      }),
    60_000
  )

  it.live("gets fewer commands the longer an outage lasts", () =>
    Effect.gen(function* () {
      const redis = yield* openFaultyRedis(always(yield* startRedis))
      const { endsWithRecovery, warnings } = yield* joined(redis.url)
      for (let outage = 1; outage <= 2; outage++) {
        yield* redis.fail("BUSY for a test")
        yield* until(() => warnings("BUSY").length === outage)
        yield* Effect.sleep("1500 millis")
        // One script a second and the pings; without growth there would be 40 scripts.
        const before = redis.commands()
        yield* Effect.sleep("2 seconds")
        assert.isBelow(redis.commands() - before, 40)
        yield* redis.fail(undefined)
        yield* until(endsWithRecovery)
      }
    })
  )

  it.live("causes a warning for each reason of an outage", () =>
    Effect.gen(function* () {
      const redis = yield* openFaultyRedis(always(yield* startRedis))
      const { endsWithRecovery, warnings } = yield* joined(redis.url)
      const codes = ["READONLY", "OOM", "BUSY"]
      for (const code of codes) {
        yield* redis.fail(`${code} for a test`)
        yield* until(() => warnings(code).length > 0)
      }
      yield* redis.fail(undefined)
      yield* until(endsWithRecovery)
      yield* redis.fail("OOM for a test")
      yield* until(() => warnings("OOM").length > 1)
      assert.deepStrictEqual(
        codes.map((code) => warnings(code).length),
        [1, 2, 1]
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
        yield* redis.fail(undefined)
        yield* until(() => isUp(node))
        assert.lengthOf(logs.warnings(error.slice(0, 20)), 1)
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
        const { endsWithRecovery, join, node, warnings } = yield* joined(counted.url)
        yield* sendCommands(redis, ...start)
        yield* until(() => warnings(code).length > 0)
        const before = counted.commands()
        assert.strictEqual(yield* outcome(join), "unavailable")
        yield* Effect.sleep("1 second")
        assert.isBelow(counted.commands() - before, 2 * maxCommandsPerSecond)
        yield* sendCommands(redis, end)
        assert.strictEqual(yield* outcome(answered(join)), "ok")
        assert.lengthOf(node.registry.members("O"), 2)
        yield* until(endsWithRecovery)
        assert.lengthOf(warnings(code), 1)
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
        const { endsWithRecovery, join, warnings } = yield* joined(redis.url)
        const own = () => warnings(error.slice(0, 20))
        yield* redis.fail(error, ["PING"])
        yield* until(() => own().length > 0)
        assert.strictEqual(yield* outcome(answered(join)), "ok")
        // Both connections ping once a second; heartbeats in between succeed.
        yield* Effect.sleep("4 seconds")
        yield* redis.fail(undefined)
        yield* until(endsWithRecovery)
        assert.lengthOf(own(), 1)
      }),
    60_000
  )

  it.live.each([["publish"], ["hset"], ["incr"]])(
    "causes one warning for many joins that it rejects: %s",
    ([command = ""]) =>
      Effect.gen(function* () {
        const redis = yield* startRedis
        const { endsWithRecovery, join, warnings } = yield* joined(redis.url)
        yield* sendCommands(redis, acl(`-${command}`))
        for (let attempt = 0; attempt < 4; attempt++) {
          assert.strictEqual(yield* outcome(join), "unavailable")
          // A heartbeat succeeds in between.
          yield* Effect.sleep("1 second")
        }
        assert.lengthOf(warnings("Redis rejects commands"), 1)
        yield* sendCommands(redis, acl(`+${command}`))
        assert.strictEqual(yield* outcome(answered(join)), "ok")
        yield* until(endsWithRecovery)
      }),
    60_000
  )
})

const cluster = (url: string) =>
  Layer.provideMerge(NodeLink.layer, RedisCluster.layer({ url: Redacted.make(url) })).pipe(
    Layer.fresh,
    Layer.build,
    Effect.orDie,
    Effect.map((context) => ({
      registry: Context.get(context, OfficeRegistry),
      link: Context.get(context, NodeLink)
    }))
  )

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
          return list.split("\n").filter((line) => /sub=[12] |cmd=(eval|ping|subscribe)/.test(line)).length
        })
      yield* Effect.repeat(clients(first), { until: (count) => count === 0, schedule: Schedule.spaced("50 millis") })
      yield* until(() => one.registry.state().nodes.length === 2)
      yield* Effect.repeat(clients(second), { until: (count) => count >= 4, schedule: Schedule.spaced("50 millis") })
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
  it.live.skipIf(!hasIpv6)("connects the registry, and the nodes find each other", () =>
    Effect.gen(function* () {
      const redis = yield* openFaultyRedis(always(yield* startRedis), "::1")
      const [one, two] = [yield* cluster(redis.url), yield* cluster(redis.url)]
      yield* two.link.serve(makeEcho())
      yield* until(() => one.registry.state().available && two.registry.state().available)
      assert.deepStrictEqual(yield* request(one.link, two.link.node, "echo", "x"), ["x"])
    })
  )
})
