import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Attack } from "../Attack.ts"
import { bare, admitted, polling, unauthenticated } from "../raw.ts"
import { SlowHeads } from "../SlowHeads.ts"

const upgrade =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

/** The status of the response. */
const status = Effect.fnUntraced(function* (method: string, path: string, headers = "") {
  const { closed } = yield* bare(
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${headers || "Connection: close\r\n"}Content-Length: 0\r\n\r\n`
  )
  return Number(/^HTTP\/1\.1 (\d+)/.exec(yield* closed)?.[1])
})

const base = "/smcp/?EIO=4&a2c_version=0.2.0"

/** Attacks before a session of Socket.IO. */
export const handshakes: ReadonlyArray<Attack> = [
  {
    attack: "invalid handshakes",
    answer: "400, 403 or 404",
    run: Effect.gen(function* () {
      const rows = [
        ["GET", "/smcp/?EIO=3&transport=polling&a2c_version=0.2.0", "", 400],
        ["GET", "/smcp/?transport=polling&a2c_version=0.2.0", "", 400],
        ["GET", `${base}&transport=carrier-pigeon`, "", 400],
        ["GET", `${base}&transport=__proto__`, "", 400],
        ["GET", `${base}&transport=webtransport`, "", 400],
        ["GET", base, "", 400],
        ["GET", `${base}&transport=websocket`, "", 400],
        ["POST", `${base}&transport=polling`, "", 400],
        ["GET", `${base}&transport=polling&sid=__proto__`, "", 400],
        ["GET", `${base}&transport=polling&sid=nobody`, "", 400],
        ["GET", "/smcp/?EIO=4&transport=polling", "", 400],
        ["GET", "/smcp/?EIO=4&transport=polling&a2c_version=9.9.9", "", 400],
        ["GET", "/smcp/?EIO=4&transport=polling&a2c_version=%00", "", 400],
        ["GET", "/smcp/../../etc/passwd", "", 404],
        ["GET", "/smcp/%2e%2e/%2e%2e/etc/passwd", "", 404],
        ["GET", "//smcp", "", 404],
        ["GET", `${base}&transport=polling`, "Connection: close\r\nOrigin: http://evil.test\r\n", 403],
        ["GET", `${base}&transport=websocket`, `${upgrade}Origin: http://evil.test\r\n`, 403],
        ["GET", `${base}&transport=websocket&sid=nobody`, upgrade, 400],
        ["GET", `${base}&transport=carrier-pigeon`, upgrade, 400],
        ["GET", "/elsewhere", upgrade, 404]
      ] as const
      for (const [method, path, headers, expected] of rows) {
        assert.strictEqual(yield* status(method, path, headers), expected, `${method} ${path}`)
      }
      assert.strictEqual(/^HTTP\/1\.1 (\d+)/.exec(yield* (yield* bare("nonsense\r\n\r\n")).closed)?.[1], "400")
    })
  },
  {
    attack: "the session of another connection",
    answer: "400 and closed; the other connection stays open",
    run: Effect.gen(function* () {
      const victim = yield* polling
      const foreign = victim.path.replace("transport=polling", "transport=websocket")
      // An unfinished upgrade leaves the session on its transport.
      const { socket } = yield* bare(`GET ${foreign} HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`)
      yield* Effect.callback<void>((resume) => void socket.once("data", () => resume(Effect.void)))
      const second = yield* bare(`GET ${foreign} HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`)
      // A close frame, or the end of the connection.
      assert.match(yield* second.closed, /^HTTP\/1\.1 (101|400)/)
      assert.strictEqual(yield* status("GET", victim.path.replace("polling", "carrier-pigeon")), 400)
      assert.strictEqual(yield* victim.post("40/smcp,"), 200)
      assert.include((yield* victim.get).text, "missing_credentials")
      yield* victim.post("1")
    })
  },
  {
    attack: "requests with endless headers, and with an endless body",
    answer: "408 after 15 s; closed with the session",
    run: Effect.gen(function* () {
      const bodies = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.flatMap(polling, ({ path }) =>
          bare(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n4`)
        )
      )
      for (const { closed } of bodies) yield* closed
      for (const { closed } of yield* SlowHeads) assert.match(yield* closed, /^HTTP\/1\.1 408/)
    })
  },
  {
    attack: "500 short connections",
    answer: "no resources remain",
    run: Effect.forEach(
      Array.from({ length: 500 }, (_, index) => index),
      (index) => Effect.scoped(index % 2 === 0 ? Effect.asVoid(unauthenticated) : Effect.asVoid(admitted("agent"))),
      { concurrency: 20, discard: true }
    )
  }
]
