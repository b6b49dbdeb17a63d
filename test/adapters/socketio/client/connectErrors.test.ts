import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeHttpAgent } from "../../../../src/adapters/socketio/client/browserAgent.ts"
import { type ConnectAttempt, toConnectError } from "../../../../src/adapters/socketio/client/connectErrors.ts"
import { connectLink } from "../links.ts"

const attempt: ConnectAttempt = {
  origin: "http://localhost",
  path: "/smcp",
  query: {},
  url: "http://localhost",
  version: "0.2.0",
  token: undefined,
  isTokenRenewable: false,
  headers: undefined,
  agent: makeHttpAgent()
}

describe("a rejection of the Server", () => {
  it.effect.each([
    [503, undefined, false, true],
    [500, undefined, false, true],
    [401, "expired_credentials", true, true],
    [401, "expired_credentials", false, false],
    [401, "invalid_credentials", true, false],
    [403, "role_not_granted", true, false],
    [400, undefined, true, false]
  ] as const)(
    "with code %d and reason %s, and a renewable token: %s, is retryable: %s",
    ([code, reason, isTokenRenewable, retryable]) =>
      Effect.gen(function* () {
        const raw = Object.assign(new Error("connect error"), { data: { code, message: "no", reason } })
        const error = yield* toConnectError({ ...attempt, isTokenRenewable }, raw)
        const expected = { code, message: "no", ...(reason !== undefined && { reason }), retryable }
        assert.deepInclude<object>(error, { _tag: "AdmissionRejected", ...expected })
      })
  )
})

describe("a WebSocket that is rejected", () => {
  it.live("is followed by a plain request for the reason, with the credentials of the client", () =>
    Effect.gen(function* () {
      const requests: Array<unknown> = []
      const http = yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const server = createServer(({ headers, url = "" }, response) => {
            const { pathname, searchParams } = new URL(url, "http://localhost")
            requests.push([
              pathname,
              searchParams.get("a2c_version"),
              searchParams.get("transport"),
              searchParams.get("tenant"),
              headers.authorization,
              headers["x-key"]
            ])
            response.writeHead(403).end('{"code":403,"message":"Origin not allowed"}')
          })
          server.on("upgrade", (_request, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"))
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => void server.close())
      )
      const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/office?tenant=7`
      const options = { url, transports: ["websocket"], token: "secret", headers: { "x-key": "mine" } } as const
      yield* Effect.flip(connectLink(options, { version: "0.4.0", auth: {} }))
      assert.deepStrictEqual(requests, [["/office/", "0.4.0", "polling", "7", "Bearer secret", "mine"]])
    })
  )
})
