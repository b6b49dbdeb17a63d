import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Result } from "effect"
import { Server as SocketIo } from "socket.io"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { agentLayer } from "../../../src/main/layers/agentLayer.ts"
import { serverLayer, type ServerLayerOptions } from "../../../src/main/layers/serverLayer.ts"
import { fetchText } from "../../fetchText.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

/** Starts a Server; gives its URL and its warnings. */
const start = Effect.fnUntraced(function* (options: ServerLayerOptions) {
  const warnings: Array<unknown> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel === "Warn") warnings.push(message)
  })
  const layer = serverLayer(options).pipe(
    Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone, Logger.layer([logger])])
  )
  const { url } = Context.get(yield* Layer.build(layer), Server)
  return { url, warnings }
})

/** A listening HTTP server. */
const hostServer = (host: string) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const http = createServer((_, response) => void response.end("host"))
      http.listen(0, host, () => resume(Effect.succeed(http)))
    }),
    (http) =>
      Effect.callback<void>((resume) => {
        http.closeAllConnections()
        http.close(() => resume(Effect.void))
      })
  )

const canJoin = (url: string) =>
  Layer.build(agentLayer({ url, office: "o", name: "a" })).pipe(
    Effect.flatMap((context) => Context.get(context, Agent).view),
    Effect.result,
    Effect.map(Result.isSuccess)
  )

describe("serverLayer", () => {
  it.live("serves members and its pages with the stock server", () =>
    Effect.gen(function* () {
      const { url } = yield* start({ engine: "socket.io" })
      assert.isTrue(yield* canJoin(url))
      assert.include(yield* fetchText(`${url}/healthz`), "ok")
      assert.include(yield* fetchText(`${url}/smcp/?EIO=4&transport=polling`), "400")
    })
  )

  it.live("mounts an office on an HTTP server of the host, without its pages", () =>
    Effect.gen(function* () {
      const { url, warnings } = yield* start({ httpServer: yield* hostServer("127.0.0.1") })
      assert.isTrue(yield* canJoin(url))
      assert.strictEqual(yield* fetchText(`${url}/healthz`), "host")
      assert.deepStrictEqual(warnings, [])
    })
  )

  it.live("warns when an office without authentication is mounted on an address that other machines reach", () =>
    Effect.gen(function* () {
      const io = new SocketIo(yield* hostServer("0.0.0.0"))
      const { warnings } = yield* start({ io })
      assert.deepStrictEqual(warnings, [["no authentication: every client has all rights", { host: "0.0.0.0" }]])
    })
  )
})
