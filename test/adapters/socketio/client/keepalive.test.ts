import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect } from "effect"
import * as RelayServer from "../../../../src/adapters/socketio/RelayServer.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { type Link } from "../../../../src/application/ports/Transport.ts"
import { openProxy } from "../../../chaos/Proxy.ts"
import { connectLink, openMemberSocket, serveLinks } from "../links.ts"

const mebibyte = 1024 * 1024
const minute = Duration.minutes(1)
const pem = (name: string) => readFileSync(new URL(`../../../fixtures/tls/${name}.pem`, import.meta.url), "utf8")
const cert = pem("first.cert")
const key = pem("first.key")

/** Sizes of a request and its reply in MiB. */
interface Transfer {
  readonly up: number
  readonly down: number
  readonly tls?: boolean
}

/**
 * Other clients close a connection without a ping for interval and timeout together. During a message the Server sends
 * pings a timeout apart, so the interval is what a pause of a busy machine may take.
 */
const pingInterval = 5000
const pingTimeout = 5000

/** A Server behind a proxy that can throttle. It replies to every request with `down` MiB. */
const site = Effect.fnUntraced(function* ({ down, tls = false }: Transfer) {
  const accepted = yield* Deferred.make<Link>()
  const answer = jsonBody("x".repeat(down * mebibyte))
  const layer = RelayServer.layer({ pingInterval, pingTimeout, ...(tls && { tls: { cert, key } }) })
  const { url } = yield* serveLinks(layer, (link) =>
    Effect.as(Deferred.succeed(accepted, link), () => Effect.succeed([down === 0 ? jsonBody("") : answer]))
  )
  const proxy = yield* openProxy({ target: () => Number(new URL(url).port) })
  const address = `${tls ? "https" : "http"}://localhost:${proxy.port}`
  return { proxy, url: address, far: Deferred.await(accepted) }
})

const connect = (url: string, transport: "websocket" | "polling") =>
  connectLink({ url, transports: [transport], ca: cert })

/** Transfers that take 16 seconds, with more bytes than network buffers hold. */
const upload: Transfer = { up: 4, down: 0 }
const uploadRate = mebibyte / 4
const download: Transfer = { up: 0, down: 24 }
const downloadRate = 1.5 * mebibyte

/** The longest time without a sign of the peer, in seconds. */
const longest = (pingInterval + pingTimeout) / 1000

/** Half of the rate that counts as alive, in bytes per second. */
const trickle = 512

const seconds = (began: number) => (performance.now() - began) / 1000

describe("a message that takes longer than the keepalive timeout", { concurrent: true }, () => {
  for (const [title, transport, tls] of [
    ["WebSocket", "websocket", false],
    ["WebSocket and TLS", "websocket", true],
    ["polling", "polling", false]
  ] as const) {
    it.live(`arrives at the Server over ${title}`, () =>
      Effect.gen(function* () {
        const { proxy, url } = yield* site({ ...upload, tls })
        const link = yield* connect(url, transport)
        yield* proxy.narrow(uploadRate)
        const began = performance.now()
        yield* link.request("take", jsonBody("x".repeat(upload.up * mebibyte)), minute)
        assert.isAbove(seconds(began), longest)
      })
    )
  }

  for (const [title, tls] of [
    ["WebSocket", false],
    ["WebSocket and TLS", true]
  ] as const) {
    it.live(`arrives at the member over ${title}`, () =>
      Effect.gen(function* () {
        const { proxy, url } = yield* site({ ...download, tls })
        const link = yield* connect(url, "websocket")
        yield* proxy.narrow(downloadRate)
        const began = performance.now()
        const [answer] = yield* link.request("give", jsonBody(""), minute)
        assert.isAbove(answer?.byteLength() ?? 0, download.down * mebibyte)
        assert.isAbove(seconds(began), longest)
      })
    )
  }

  it.live("arrives from other clients", () =>
    Effect.gen(function* () {
      const { proxy, url } = yield* site(upload)
      const socket = yield* openMemberSocket(url, "websocket")
      yield* Effect.callback<void>((resume) => void socket.once("connect", () => resume(Effect.void)))
      yield* proxy.narrow(uploadRate)
      const outcome = yield* Effect.callback<string>((resume) => {
        socket.once("disconnect", (why) => resume(Effect.succeed(why)))
        socket.emit("take", "x".repeat(upload.up * mebibyte), () => resume(Effect.succeed("taken")))
      })
      assert.strictEqual(outcome, "taken")
    })
  )

  it.live("closes the connection below the minimum rate", () =>
    Effect.gen(function* () {
      const { far, proxy, url } = yield* site(upload)
      const link = yield* connect(url, "websocket")
      const server = yield* far
      yield* proxy.narrow(trickle)
      yield* Effect.forkChild(link.request("take", jsonBody("x".repeat(upload.up * mebibyte)), minute), {
        startImmediately: true
      })
      assert.strictEqual(yield* server.closed, "keepalive_timeout")
    })
  )

  for (const [title, passage, rate] of [
    ["sent", upload, uploadRate],
    ["received", download, downloadRate]
  ] as const) {
    it.live(`does not keep a dead connection open while it is ${title}`, () =>
      Effect.gen(function* () {
        const { far, proxy, url } = yield* site(passage)
        const link = yield* connect(url, "websocket")
        const server = yield* far
        yield* proxy.narrow(rate)
        yield* Effect.forkChild(link.request("pass", jsonBody("x".repeat(passage.up * mebibyte)), minute), {
          startImmediately: true
        })
        yield* Effect.sleep("1 second")
        yield* proxy.silence
        assert.deepStrictEqual(yield* Effect.all([server.closed, link.closed], { concurrency: 2 }), [
          "keepalive_timeout",
          "keepalive_timeout"
        ])
      })
    )
  }
})
