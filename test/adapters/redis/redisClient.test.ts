import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as RedisCluster from "../../../src/adapters/redis/RedisCluster.ts"
import { NodeLink } from "../../../src/application/server/nodes/NodeLink.ts"
import { needsReconnect, parseRedisUrl } from "../../../src/adapters/redis/redisClient.ts"
import { loopbackAddress } from "../../loopbackAddress.ts"

describe("the URL of Redis", () => {
  it.effect.each([
    ["redis://host:1", { host: "host", isSecure: false }],
    ["REDIS://host:1", { host: "host", isSecure: false }],
    ["rediss://host:1", { host: "host", isSecure: true }],
    ["REDISS://host:1", { host: "host", isSecure: true }],
    ["Rediss://user:rediss@host:1/2", { host: "host", isSecure: true }],
    ["redis://[::1]:1", { host: "::1", isSecure: false }],
    ["rediss://[2001:DB8::1]", { host: "2001:db8::1", isSecure: true }],
    ["redis://[::ffff:127.0.0.1]:1", { host: "::ffff:7f00:1", isSecure: false }]
  ] as const)("is parsed in any case, with any host: %s", ([url, expected]) =>
    Effect.gen(function* () {
      const { isSecure, socket } = yield* parseRedisUrl(Redacted.make(url))
      assert.deepStrictEqual({ host: "host" in socket ? socket.host : undefined, isSecure }, expected)
    })
  )

  it.effect.each(["redis://h/-1", "redis://h/1.5", "redis://h/abc", "redis://h/Infinity"])(
    "needs a database with a number: %s",
    (url) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip(parseRedisUrl(Redacted.make(url))))._tag, "RedisUrlInvalid")
      })
  )
})

describe("a text that is no URL of Redis", () => {
  it.effect.each(["rediss:host", "rediss:/host", "redis://", "redis:///3", "unix:/tmp/redis", "host:6379"])(
    "is rejected: %s",
    (url) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip(parseRedisUrl(Redacted.make(url))))._tag, "RedisUrlInvalid")
      })
  )
})

describe("links between nodes", () => {
  /** A record of TLS with an empty handshake; without TLS, the length of a frame that is too long. */
  const invalidHello = Buffer.concat([Buffer.from("16030100040100000000", "hex"), Buffer.alloc(256)])

  /** The first byte that the listener of a node replies to an invalid start; `undefined` when it closes. */
  const firstByte = Effect.fnUntraced(function* (url: string) {
    const address = loopbackAddress()
    yield* Layer.build(Layer.provide(NodeLink.layer, RedisCluster.layer({ url: Redacted.make(url), address })))
    return yield* Effect.callback<number | undefined>((resume) => {
      const socket = connect(address.port, address.host, () => void socket.write(invalidHello))
      socket.on("data", (data) => resume(Effect.succeed(data[0])))
      socket.on("error", () => undefined)
      socket.on("close", () => resume(Effect.succeed(undefined)))
    })
  })

  it.live.each([
    ["rediss", 0x15],
    ["REDISS", 0x15],
    ["rediSS", 0x15],
    ["redis", undefined],
    ["REDIS", undefined]
  ] as const)("use TLS when the connection to Redis does: %s", ([scheme, expected]) =>
    Effect.gen(function* () {
      // 0x15 is an alert of TLS.
      assert.strictEqual(yield* firstByte(`${scheme}://127.0.0.1:1`), expected)
    }).pipe(Effect.scoped)
  )
})

describe("an error reply of Redis", () => {
  it.each([
    ["READONLY You can't write against a read only replica.", true],
    ["ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed", true],
    ["WRONGPASS invalid username-password pair", true],
    ["NOPERM this user has no permissions", false],
    ["ERR unknown command", false],
    ["MOVED 1 127.0.0.1:1", false],
    ["connect ECONNREFUSED 127.0.0.1:1", false],
    ["Socket closed unexpectedly", false]
  ])("replaces the connections: %s → %s", (reason, expected) => {
    assert.strictEqual(needsReconnect(reason), expected)
  })
})
