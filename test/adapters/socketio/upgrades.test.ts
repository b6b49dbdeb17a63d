import {
  Agent,
  type ClientRequest,
  createServer,
  type OutgoingHttpHeaders,
  request,
  type Server as HttpServer
} from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric } from "effect"
import { makeHttpServer } from "../../../src/adapters/http/httpServer.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { serverLayer, type ServerLayerOptions } from "../../../src/main/layers/serverLayer.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

interface Reply {
  readonly status: number
  readonly text: string
  /** The connection of the last request was kept. */
  readonly isReused: boolean
}

type Headers = Readonly<Record<string, string | ReadonlyArray<string>>>

/** Opens a connection for requests one after the other: method, path and body, with any headers. */
const open = (url: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Agent({ keepAlive: true, maxSockets: 1 })),
      (agent) => Effect.sync(() => agent.destroy())
    ),
    (agent) => {
      let socket: unknown
      /** Whether the request took the connection of the last one. */
      const isReused = ({ socket: current }: ClientRequest) => {
        const isSame = current === socket
        socket = current
        return isSame
      }
      return (method: string, path: string, headers: Headers, body?: string): Effect.Effect<Reply, Error> =>
        Effect.callback((resume) => {
          const sent = request(new URL(path, url), { method, headers: headers as OutgoingHttpHeaders, agent })
          sent.on("error", (error) => resume(Effect.fail(error)))
          sent.on("upgrade", (_, upgraded) => {
            upgraded.destroy()
            resume(Effect.succeed({ status: 101, text: "", isReused: isReused(sent) }))
          })
          sent.on("response", (response) => {
            let text = ""
            response.setEncoding("utf8")
            response.on("data", (chunk: string) => (text += chunk))
            response.on("end", () =>
              resume(Effect.succeed({ status: response.statusCode ?? 0, text, isReused: isReused(sent) }))
            )
          })
          sent.end(body)
        })
    }
  )

const webSocket: Headers = {
  Connection: "Upgrade",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="
}

/** Offers of other protocols, as they stand in a request. */
const offers: ReadonlyArray<readonly [offer: string, headers: Headers]> = [
  [
    "h2c of Java",
    { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c", "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABk" }
  ],
  ["TLS", { Connection: "upgrade", Upgrade: "TLS/1.0" }],
  ["several protocols", { Connection: "Upgrade", Upgrade: "h2c, IRC/6.9, HTTP/3.0" }],
  ["several headers", { Connection: "Upgrade", Upgrade: ["h2c", "foo/2"] }],
  ["an unknown protocol", { Connection: "keep-alive, Upgrade", Upgrade: "x" }],
  ["a header that no connection names", { Upgrade: "websocket" }],
  ["a WebSocket", { ...webSocket, Upgrade: "websocket" }]
]

const start = Effect.fnUntraced(function* (options: ServerLayerOptions) {
  const context = yield* serverLayer(options).pipe(
    Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone, Layer.succeed(Metric.MetricRegistry, new Map())]),
    Layer.fresh,
    Layer.build
  )
  return Context.get(context, Server).url.replace("/smcp", "")
})

const hostServer = Effect.acquireRelease(
  Effect.callback<HttpServer>((resume) => {
    const http = createServer((incoming, response) => {
      let length = 0
      incoming.on("data", (chunk: Buffer) => (length += chunk.length))
      incoming.on("end", () => void response.end(`host ${incoming.method} ${length}`))
    })
    http.listen(0, "127.0.0.1", () => resume(Effect.succeed(http)))
  }),
  (http) =>
    Effect.callback<void>((resume) => {
      http.closeAllConnections()
      http.close(() => resume(Effect.void))
    })
)

const polling = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0"

describe.each(["relay", "socket.io"] as const)("requests that offer another protocol to a Server with %s", (engine) => {
  it.live.each(offers)("are answered as others at all paths: %s", ([, headers]) =>
    Effect.gen(function* () {
      const send = yield* open(yield* start({ engine }))
      for (const [method, path, status] of [
        ["GET", "/healthz", 200],
        ["HEAD", "/readyz", 200],
        ["GET", "/metrics", 200],
        ["GET", "/status?offices=1", 200],
        ["POST", "/healthz", 405],
        ["GET", "/unknown", 404],
        ["GET", "/smcp/?EIO=4&transport=polling", 400],
        ["GET", polling, 200]
      ] as const) {
        const reply = yield* send(method, path, headers, method === "POST" ? "hello" : undefined)
        assert.strictEqual(reply.status, status, path)
        const next = yield* send("GET", "/healthz", {})
        assert.deepStrictEqual([next.status, next.isReused], [200, true], path)
      }
    })
  )

  it.live.each(offers)("keep a session that polls: %s", ([, headers]) =>
    Effect.gen(function* () {
      const send = yield* open(yield* start({ engine }))
      const { text } = yield* send("GET", polling, headers)
      const session = `${polling}&sid=${/"sid":"([^"]+)"/.exec(text)?.[1] ?? ""}`
      assert.strictEqual((yield* send("POST", session, headers, '40/smcp,{"a":1}')).text, "ok")
      assert.include((yield* send("GET", session, headers)).text, "40/smcp,")
    })
  )

  it.live.each(["websocket", "WebSocket", "h2c, websocket", "websocket,h2c"])("open a WebSocket by %s", (Upgrade) =>
    Effect.gen(function* () {
      const send = yield* open(yield* start({ engine }))
      const path = polling.replace("polling", "websocket")
      assert.strictEqual((yield* send("GET", path, { ...webSocket, Upgrade })).status, 101)
    })
  )
})

describe("requests that offer another protocol to the server of a host", () => {
  it.live.each(offers)("reach the host and the office on it: %s", ([, headers]) =>
    Effect.gen(function* () {
      const httpServer = yield* hostServer
      const send = yield* open(yield* start({ httpServer }))
      assert.strictEqual((yield* send("POST", "/host", headers, "hello")).text, "host POST 5")
      assert.strictEqual((yield* send("GET", polling, headers)).status, 200)
      assert.deepInclude(yield* send("GET", "/host", {}), { text: "host GET 0", isReused: true })
    })
  )
})

describe("requests that offer another protocol to the other servers of this package", () => {
  it.live.each(offers)("are answered as others: %s", ([, headers]) =>
    Effect.gen(function* () {
      const http = yield* makeHttpServer({ maxConnections: 10 })
      http.on("request", (incoming, response) => {
        incoming.resume()
        incoming.on("end", () => void response.end("ok"))
      })
      yield* Effect.callback<void>((resume) => void http.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const send = yield* open(`http://127.0.0.1:${(http.address() as AddressInfo).port}`)
      assert.strictEqual((yield* send("POST", "/mcp", headers, "{}")).text, "ok")
      assert.deepInclude(yield* send("GET", "/", {}), { status: 200, isReused: true })
    })
  )
})
