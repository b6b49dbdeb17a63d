import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeHttpClient, type StartRequest } from "../../../src/adapters/http/nodeHttp.ts"

/** Starts a server whose responses have the number of their connection as the body. */
const makeServer = (
  respond: (response: ServerResponse, connection: string) => unknown
): Effect.Effect<URL, never, Scope.Scope> => {
  const sockets = new Map<Socket, string>()
  const http = createServer({ keepAliveTimeout: 0 }, ({ socket }, response) => {
    const connection = sockets.get(socket) ?? String(sockets.size + 1)
    sockets.set(socket, connection)
    respond(response, connection)
  })
  return Effect.acquireRelease(
    Effect.promise(async () => {
      await once(http.listen(0, "127.0.0.1"), "listening")
      return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`)
    }),
    () =>
      Effect.promise(async () => {
        const closed = once(http, "close")
        http.close()
        http.closeAllConnections()
        await closed
      })
  )
}

/** The connection of a request, once the client may use it again. */
const send = (start: StartRequest, url: URL) =>
  Effect.promise(async () => {
    const request = start(url, { headers: {} })
    request.end()
    const [response] = (await once(request, "response")) as [IncomingMessage]
    const closed = once(request, "close")
    const connection = (await response.toArray()).join("")
    await closed
    return connection
  })

describe("connection of an HTTP client", () => {
  it.effect.each<readonly [string, idleMillis: number, "reused" | "new"]>([
    ["", 3999, "reused"],
    ["", 4000, "new"],
    ["", 86_400_000, "new"],
    ["max=100", 4000, "new"],
    ["timeout=5", 3999, "reused"],
    ["timeout=5", 4000, "new"],
    ["timeout=2", 999, "reused"],
    ["timeout=2", 1000, "new"],
    ["timeout=1", 0, "new"],
    ["timeout=0", 0, "new"],
    ["timeout=60", 58_999, "reused"],
    ["timeout=60", 59_000, "new"],
    ["max=100, Timeout = 60", 58_999, "reused"],
    ["max=100, timeout=2", 1000, "new"]
  ])("with 'Keep-Alive: %s', after %i ms of idleness, is %s", ([header, idleMillis, expected]) =>
    Effect.gen(function* () {
      const url = yield* makeServer((response, connection) =>
        response.writeHead(200, header === "" ? {} : { "Keep-Alive": header }).end(connection)
      )
      const start = yield* makeHttpClient
      assert.strictEqual(yield* send(start, url), "1")
      yield* TestClock.adjust(idleMillis)
      assert.strictEqual(yield* send(start, url), expected === "reused" ? "1" : "2")
    })
  )

  it.effect("is the fresh one of two idle connections", () =>
    Effect.gen(function* () {
      const waiting: Array<() => unknown> = []
      const url = yield* makeServer((response, connection) => {
        const end = () =>
          response.writeHead(200, { "Keep-Alive": connection === "1" ? "timeout=60" : "timeout=2" }).end(connection)
        if (waiting.push(end) === 2) for (const respond of waiting) respond()
        if (waiting.length > 2) end()
      })
      const start = yield* makeHttpClient
      yield* Effect.all([send(start, url), send(start, url)], { concurrency: "unbounded" })
      yield* TestClock.adjust(2000)
      assert.strictEqual(yield* send(start, url), "1")
    })
  )
})
