import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { json, makeHttpPeer, open } from "./http/HttpPeer.ts"

/** An HTTP server that responds to tool calls with this status. */
const makeRefusing = (status: number, headers: Record<string, string>) =>
  makeHttpPeer(({ id, method, verb }, response) => {
    if (verb !== "POST") return response.writeHead(405).end()
    if (method === "tools/call") return response.writeHead(status, headers).end("secret page")
    if (id === undefined) return response.writeHead(202).end()
    const serverInfo = { name: "guarded", version: "0" }
    return json(response, id, { result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } })
  })

describe("upstream HTTP server", () => {
  it.live.each([
    ["cases 147, 148: 401", 401, {}, "unauthorized"],
    ["case 148: 401 with a challenge", 401, { "WWW-Authenticate": 'Bearer realm="mcp"' }, "unauthorized"],
    ["case 149: 403", 403, {}, "forbidden"],
    ["case 150: 503", 503, {}, "unavailable"]
  ] as const)("%s", ([, status, headers, reason]) =>
    Effect.gen(function* () {
      const session = yield* open(yield* makeRefusing(status, headers))
      const failure = yield* Effect.flip(session.callTool("t", {}))
      assert.strictEqual(failure.reason, reason)
      assert.notInclude(failure.message, "secret")
    })
  )

  it.live.each(["http://127.0.0.1:9/mcp", "nonsense"])("is reported as unavailable at %s", (url) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(open({ url }))).reason, "unavailable")
    })
  )
})
