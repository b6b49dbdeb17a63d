import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Layer, Logger, Redacted, Result, type Scope } from "effect"
import { createClient } from "redis"
import { RawBody } from "../../../../src/adapters/bytes/RawBody.ts"
import * as RedisNodeLink from "../../../../src/adapters/redis/nodelink/RedisNodeLink.ts"
import { type Body, invalidBody, jsonBody } from "../../../../src/application/ports/Body.ts"
import { NodeLink } from "../../../../src/application/ports/NodeLink.ts"
import { badRequest } from "../../../../src/domain/model/ProtocolError.ts"
import { startRedis, withoutRedis } from "../../../fixtures/redis.ts"
import { guardChild } from "../../../childGuard.ts"
import { idle, type LinkOf, makeEcho, memberOf, outcomeOf, request } from "../../nodeLink.contract.ts"
import { until } from "../../../until.ts"
import { liveWith } from "../../../testWith.ts"

const mib = 1024 * 1024
const minute = Duration.minutes(1)

const join = (url: string, node: string): Effect.Effect<LinkOf, never, Scope.Scope> =>
  Layer.build(Layer.fresh(RedisNodeLink.layer({ url: Redacted.make(url), prefix: "{a2c}", node }))).pipe(
    Effect.flatMap((context) => Effect.provideContext(NodeLink, context)),
    Effect.orDie
  )

/** A Redis with two nodes that echo. */
const pair = Effect.gen(function* () {
  const redis = yield* startRedis
  const one = yield* join(redis.url, "one")
  const two = yield* join(redis.url, "two")
  const echo = makeEcho()
  yield* one.serve(echo)
  yield* two.serve(echo)
  return { redis, echo, one, two }
})

const live = liveWith(pair)

/** Begins a request without an answer, and gives its outcome. */
const begin = (link: LinkOf, node: string, event = "never") =>
  Effect.forkChild(request(link, node, event, 1), { startImmediately: true })

/** A separate client, to inspect Redis and to inject messages. */
const clientOf = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      createClient({ url, RESP: 3 })
        .on("error", () => {})
        .connect()
    ),
    (client) => Effect.sync(() => client.destroy())
  )

/** A node in a child process. */
const peer = (url: string, node: string): Effect.Effect<ChildProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<ChildProcess>((resume) => {
      const program = fileURLToPath(new URL("../../../fixtures/nodePeer.ts", import.meta.url))
      const child = guardChild(fork(program, [url, node], { execArgv: ["--conditions=a2c-source"] }))
      child.once("message", () => resume(Effect.succeed(child)))
    }),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  )

/** Retries a request until it succeeds. Only NodeUnreachable is retried. */
const works = (link: LinkOf, node: string): Effect.Effect<void> =>
  Effect.flatMap(request(link, node, "echo", "again"), (outcome) => {
    if (outcome === "NodeUnreachable") {
      return Effect.andThen(
        Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 10))),
        works(link, node)
      )
    }
    return Effect.sync(() => assert.deepStrictEqual(outcome, ["again"]))
  })

/** Sends requests concurrently and counts their outcomes. `stop` waits for the last of them. */
const load = (link: LinkOf, node: string) => {
  const ends = new Map<string, number>()
  let begun = 0
  let open = 0
  let going = true
  const next = () => {
    if (!going) return
    begun++
    open++
    let ended = false
    link.startRequest(
      node,
      memberOf(`sid${begun % 5}`),
      "echo",
      jsonBody("x".repeat((begun * 7919) % 40_000)),
      minute,
      (exit) => {
        assert.isFalse(ended, "a request ended twice")
        ended = true
        open--
        const outcome = Exit.isSuccess(exit) ? "answered" : String(outcomeOf(exit))
        ends.set(outcome, (ends.get(outcome) ?? 0) + 1)
        setImmediate(next)
      }
    )
  }
  for (let count = 0; count < 20; count++) next()
  return {
    count: (outcome: string) => ends.get(outcome) ?? 0,
    stop: Effect.suspend(() => {
      going = false
      return Effect.andThen(
        until(() => open === 0),
        Effect.sync(() => {
          assert.strictEqual(
            [...ends.values()].reduce((sum, one) => sum + one, 0),
            begun
          )
        })
      )
    })
  }
}

const textOf = (body: Body | undefined): string =>
  body === undefined ? "failed" : Result.getOrElse(body.text(), () => "fault")

/** The body that the second node echoes; `undefined` when it replies none. */
const echoed = (link: LinkOf, body: Body) =>
  Effect.callback<Body | undefined>((resume) => {
    link.startRequest("two", memberOf(), "echo", body, minute, (exit) =>
      resume(Effect.succeed(Exit.isSuccess(exit) && exit.value.length === 1 ? exit.value[0] : undefined))
    )
  })

/** Collects the log as one text. */
const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${JSON.stringify(message)}`))
  return Effect.as(Effect.provide(effect, Logger.layer([logger])), lines)
}

describe.skipIf(withoutRedis)("RedisNodeLink", () => {
  live("ends every request when Redis stops under load, and recovers when Redis restarts", function* (nodes) {
    const { one, two, redis } = nodes
    const [there, back] = [load(one, "two"), load(two, "one")]
    yield* until(() => there.count("answered") > 200 && back.count("answered") > 200)
    yield* redis.kill
    yield* until(() => there.count("NodeUnreachable") > 100 && back.count("NodeUnreachable") > 100)
    const before = there.count("answered")
    yield* redis.restart
    yield* until(() => there.count("answered") > before + 200)
    yield* there.stop
    yield* back.stop
    yield* until(() => idle(one) && idle(two))
  })

  live("detects a stalled Redis before the timeout of its requests, and recovers when it continues", function* (nodes) {
    const { echo, one, redis } = nodes
    const waiting = yield* begin(one, "two")
    yield* until(() => echo.reached() === 1)
    yield* redis.pause
    const early = yield* begin(one, "two", "echo")
    assert.strictEqual(yield* Fiber.join(waiting), "NodeUnreachable")
    assert.strictEqual(yield* Fiber.join(early), "NodeUnreachable")
    assert.strictEqual(yield* request(one, "two", "echo", 1), "NodeUnreachable")
    yield* redis.resume
    yield* works(one, "two")
    assert.isTrue(idle(one))
  })

  live("ends requests from and to a node that loses its connection, and sends the next ones", function* (nodes) {
    const { echo, one, two, redis } = nodes
    const third = yield* join(redis.url, "three")
    yield* third.serve(echo)
    const from = yield* begin(one, "two")
    const to = yield* begin(two, "one")
    const other = yield* begin(two, "three")
    yield* until(() => echo.reached() === 3)
    const client = yield* clientOf(redis.url)
    const list = yield* Effect.promise(() => client.sendCommand<string>(["CLIENT", "LIST"]))
    // The first client belongs to the first node.
    const [first] = list.split("\n").map((line) => /^id=(\d+)/.exec(line)?.[1] ?? "")
    yield* Effect.promise(() => client.sendCommand(["CLIENT", "KILL", "ID", first ?? ""]))
    assert.strictEqual(yield* Fiber.join(from), "NodeUnreachable")
    assert.strictEqual(yield* Fiber.join(to), "NodeUnreachable")
    assert.strictEqual(third.load().inboundRequests, 1)
    yield* Fiber.interrupt(other)
    yield* works(one, "two")
    yield* works(two, "one")
    yield* until(() => idle(one) && idle(two) && idle(third))
  })

  live("isolates a stalled node within the limits of Redis and of the other nodes", function* ({ one, redis }) {
    const child = yield* peer(redis.url, "child")
    const client = yield* clientOf(redis.url)
    // Stricter than the default: Redis disconnects a subscriber with 4 MiB of output.
    yield* Effect.promise(() => client.configSet("client-output-buffer-limit", "pubsub 4mb 4mb 1"))
    yield* works(one, "child")
    child.kill("SIGSTOP")
    const ends: Array<unknown> = []
    const body = jsonBody("x".repeat(8 * mib))
    for (let count = 0; count < 10; count++) {
      one.startRequest("child", memberOf(`sid${count}`), "echo", body, minute, (exit) => {
        ends.push(Exit.isSuccess(exit) ? "answered" : outcomeOf(exit))
      })
    }
    yield* works(one, "two")
    yield* until(() => ends.length > 0)
    assert.strictEqual(ends[0], "SendFailed 503")
    assert.isBelow(one.load().queuedBytes, 64 * mib + 1)
    const memory = yield* Effect.promise(() => client.sendCommand<string>(["CLIENT", "LIST"]))
    const held = [...memory.matchAll(/omem=(\d+)/g)].map(([, bytes]) => Number(bytes))
    assert.isBelow(Math.max(...held), 3 * mib)
    child.kill("SIGCONT")
    yield* until(() => ends.length === 10)
    assert.isAbove(ends.filter((end) => end === "answered").length, 6)
    assert.notInclude(ends, "NodeUnreachable")
    yield* until(() => idle(one))
  })

  live("reports a killed node as unreachable at the next request, or when the cluster removes it", function* (nodes) {
    const { one, redis } = nodes
    const child = yield* peer(redis.url, "child")
    yield* works(one, "child")
    const waiting = yield* begin(one, "child")
    yield* works(one, "child")
    child.kill("SIGKILL")
    yield* until(() => child.signalCode !== null)
    one.onNodeLost("child")
    assert.strictEqual(yield* Fiber.join(waiting), "NodeUnreachable")
    assert.strictEqual(yield* request(one, "child", "echo", 1), "NodeUnreachable")
    assert.isTrue(idle(one))
  })

  live("sends short requests before long ones of other members", function* ({ one }) {
    const order: Array<string> = []
    const long = jsonBody("x".repeat(8 * mib))
    for (let count = 0; count < 4; count++) {
      one.startRequest("two", memberOf(`sid${count}`), "echo", long, minute, () => order.push("long"))
    }
    one.startRequest("two", memberOf("other"), "echo", jsonBody(1), minute, () => order.push("short"))
    yield* until(() => order.length === 5)
    assert.strictEqual(order[0], "short")
  })

  live("preserves the bytes of bodies of every length", function* ({ one }) {
    const lengths = [2, 1024, 16, 17, 119, 120, 121, 240, 361, 3000].map((kib) => kib * 1024)
    for (const length of lengths) {
      for (const odd of [0, 1]) {
        const json = `{"é":"${"€".repeat(length / 3)}${"x".repeat(odd)}"}`
        const body = RawBody.unparsed(Buffer.from(`${json}]`))
        assert.isTrue(textOf(yield* echoed(one, body)) === json, `${length + odd} bytes`)
      }
    }
  })

  live("relays a long body of another node unparsed", function* ({ one }) {
    for (const length of [20_000, mib]) {
      const body = yield* echoed(one, jsonBody({ text: "x".repeat(length) }))
      assert.deepStrictEqual([body?.isObject, body?.isHeadParsed, body?.byteLength()], [true, false, length + 11])
      assert.isTrue(body instanceof RawBody && body.tail.at(-1) === 0x5d)
    }
  })

  live("separates the values of an acknowledgement, long and invalid ones included", function* ({ one, two }) {
    const long = "ü€".repeat(100_000)
    const answers: Array<ReadonlyArray<Body>> = [
      [],
      [jsonBody("ü"), invalidBody(badRequest("ö")), jsonBody(2)],
      [jsonBody(long), invalidBody(badRequest("ö")), jsonBody({ long })]
    ]
    yield* two.serve({
      startRequest: (_, event, __, ___, onReply) => {
        queueMicrotask(() => onReply(Exit.succeed(answers[Number(event)] ?? [])))
        return () => {}
      },
      notify: () => {}
    })
    assert.deepStrictEqual(yield* request(one, "two", "0", 1), [])
    assert.deepStrictEqual(yield* request(one, "two", "1", 1), ["ü", "fault 400", 2])
    assert.deepStrictEqual(yield* request(one, "two", "2", 1), [long, "fault 400", { long }])
  })

  it.live("ignores invalid messages with one warning", () =>
    Effect.gen(function* () {
      const sending = Effect.gen(function* () {
        const { one, redis, two } = yield* pair
        const client = yield* clientOf(redis.url)
        const frame = Buffer.from("a2c100000001000000000000000003627567ffffffff01", "hex")
        for (const junk of [Buffer.from("hello"), Buffer.alloc(0), frame, Buffer.alloc(100_000, 0xa2)]) {
          yield* Effect.promise(() => client.publish("{a2c}:to:two", junk))
          yield* Effect.promise(() => client.publish("{a2c}:all", junk))
        }
        yield* works(one, "two")
        assert.isAbove(two.load().ignored, 3)
      })
      const lines = yield* logged(Effect.scoped(sending))
      assert.lengthOf(
        lines.filter((line) => line.includes("invalid node message") && line.includes('"two"')),
        1
      )
    })
  )

  it.live("starts when Redis rejects the password, and never logs it", () =>
    Effect.gen(function* () {
      const redis = yield* startRedis
      const url = redis.url.replace("redis://", "redis://someone:s3cret@")
      const requesting = Effect.flatMap(join(url, "one"), (link) => request(link, "two", "echo", 1))
      const lines = yield* logged(
        Effect.map(Effect.scoped(requesting), (outcome) => assert.strictEqual(outcome, "NodeUnreachable"))
      )
      assert.lengthOf(
        lines.filter((line) => line.includes("Redis connection lost")),
        1
      )
      assert.notInclude(lines.join("\n"), "s3cret")
    })
  )

  it.live("rejects an invalid URL without quoting it", () =>
    Effect.gen(function* () {
      const url = Redacted.make("http://someone:s3cret@host")
      const failed = yield* Effect.flip(Layer.build(RedisNodeLink.layer({ url, prefix: "{a2c}", node: "one" })))
      assert.include(failed.message, "redis://user:password@host:6379")
      assert.notInclude(String(failed), "s3cret")
    })
  )
})
