import { createServer } from "node:http"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as McpClient from "../../../../src/adapters/mcp/client/McpClient.ts"
import { McpConnector } from "../../../../src/application/ports/McpSession.ts"
import { decodeEndpoint } from "../../../../src/domain/config/endpointParameters.ts"

const Live = McpClient.layer.pipe(Layer.provide(NodeServices.layer))

/** An HTTP server that responds to tool calls with this status. */
const refusing = (status: number, headers: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const seen: Array<string | undefined> = []
    const http = yield* Effect.acquireRelease(
      Effect.sync(() =>
        createServer((request, response) => {
          let body = ""
          request.on("data", (chunk: Buffer) => {
            body += chunk.toString()
          })
          request.on("end", () => {
            seen.push(request.headers["x-key"]?.toString())
            if (request.method !== "POST") return response.writeHead(405).end()
            const { id, method } = JSON.parse(body) as { readonly id?: number; readonly method: string }
            if (method === "tools/call") return response.writeHead(status, headers).end("secret page")
            if (id === undefined) return response.writeHead(202).end()
            const result = {
              protocolVersion: "2025-06-18",
              capabilities: { tools: {} },
              serverInfo: { name: "guarded", version: "0" }
            }
            return response
              .writeHead(200, { "Content-Type": "application/json" })
              .end(JSON.stringify({ jsonrpc: "2.0", id, result }))
          })
        })
      ),
      (server) =>
        Effect.callback<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    )
    yield* Effect.callback<void>((resume) => {
      http.listen(0, "127.0.0.1", () => resume(Effect.void))
    })
    const address = http.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return { url: `http://127.0.0.1:${port}/mcp`, seen }
  })

const parameters = (url: string, headers: object | null = null) => ({
  url,
  headers,
  timeout: "PT30S",
  sse_read_timeout: "PT300S",
  terminate_on_close: true
})

const connect = (given: object) =>
  McpConnector.use(({ connect: open }) => open("guarded", Result.getOrThrow(decodeEndpoint("streamable", given))))

describe("upstream HTTP server", () => {
  it.live.each([
    ["cases 147, 148: 401", 401, {}, "unauthorized"],
    ["case 148: 401 with a challenge", 401, { "WWW-Authenticate": 'Bearer realm="mcp"' }, "unauthorized"],
    ["case 149: 403", 403, {}, "forbidden"],
    ["case 150: 503", 503, {}, "unavailable"]
  ] as const)("%s", ([, status, headers, reason]) =>
    Effect.gen(function* () {
      const { url } = yield* refusing(status, headers)
      const session = yield* connect(parameters(url))
      const failure = yield* Effect.flip(session.callTool("t", {}))
      assert.strictEqual(failure.reason, reason)
      assert.notInclude(failure.message, "secret")
    }).pipe(Effect.scoped, Effect.provide(Live))
  )

  it.live("receives the configured headers with every request", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* refusing(401)
      const session = yield* connect(parameters(url, { "X-Key": "k" }))
      yield* Effect.ignore(session.callTool("t", {}))
      assert.isTrue(seen.length >= 3 && seen.every((key) => key === "k"))
    }).pipe(Effect.scoped, Effect.provide(Live))
  )

  it.live("is reported as unavailable for a closed port and for an invalid URL", () =>
    Effect.gen(function* () {
      const closedPort = yield* Effect.flip(connect(parameters("http://127.0.0.1:9/mcp")))
      assert.strictEqual(closedPort.reason, "unavailable")
      assert.strictEqual((yield* Effect.flip(connect(parameters("nonsense")))).reason, "unavailable")
    }).pipe(Effect.scoped, Effect.provide(Live))
  )
})
