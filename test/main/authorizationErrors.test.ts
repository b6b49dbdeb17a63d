import { readFileSync } from "node:fs"
import { type ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runComputer, runServer } from "../../src/main/entrypoints/promise.ts"
import { connectAgent } from "../../src/main/promise/connectAgent.ts"
import { type Requested, json, makeHttpPeer, stream } from "../adapters/mcp/client/http/HttpPeer.ts"

interface Vector {
  readonly desc: string
  readonly transport: "streamable_http" | "sse_handwritten"
  readonly upstream: { readonly status: number; readonly www_authenticate?: string | null }
  readonly expected: { readonly error_code: number; readonly isError: boolean; readonly hangs: boolean }
}

const { vectors } = JSON.parse(
  readFileSync(new URL("../fixtures/protocol/auth_error_conformance_vectors.json", import.meta.url), "utf8")
) as { readonly vectors: ReadonlyArray<Vector> }

const initialized = {
  result: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "guarded", version: "1" }
  }
}
const tools = { result: { tools: [{ name: "secret", inputSchema: { type: "object" } }] } }

/** A server that lets everything pass except calls, over the transport of a vector. */
const makeGuarded = ({ transport, upstream }: Vector) => {
  const reject = (response: ServerResponse) => {
    const { status, www_authenticate: challenge } = upstream
    response.writeHead(status, challenge == null ? {} : { "WWW-Authenticate": challenge }).end()
  }
  if (transport === "streamable_http") {
    return makeHttpPeer(({ id, method, verb }, response) => {
      if (verb !== "POST") return response.writeHead(405).end()
      if (method === "initialize") return json(response, id, initialized)
      if (id === undefined) return response.writeHead(202).end()
      if (method === "tools/call") return reject(response)
      return json(response, id, method === "tools/list" ? tools : { result: {} })
    })
  }
  let events: ServerResponse | undefined
  const send = ({ id }: Requested, answer: object) =>
    events?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n\n`)
  return makeHttpPeer((requests, response) => {
    const { id, method, verb } = requests
    if (verb === "GET") {
      events = stream(response, "event: endpoint\ndata: /messages\n\n")
      return
    }
    if (method === "tools/call") return reject(response)
    response.writeHead(202).end()
    if (method === "initialize") send(requests, initialized)
    else if (id !== undefined) send(requests, method === "tools/list" ? tools : { result: {} })
  })
}

describe("an MCP server that rejects a call for lack of authorization", () => {
  it("has all vectors of the protocol", () => assert.strictEqual(vectors.length, 4))

  for (const vector of vectors) {
    const { error_code, isError } = vector.expected
    const { status, www_authenticate: challenge } = vector.upstream
    const cause = `${status}${challenge == null ? "" : " with a challenge"} over ${vector.transport}`
    it.live(`gives the Agent the code ${error_code} for ${cause}, without a delay`, () =>
      Effect.gen(function* () {
        const { url } = yield* makeGuarded(vector)
        yield* Effect.promise(async () => {
          await using server = await runServer({ authenticate: "allowAll" })
          const place = { url: server.url, office: "team", protocol: "0.4" } as const
          await using _ = await runComputer({
            ...place,
            name: "desk",
            config: {
              servers: {
                guarded: {
                  name: "Guarded server",
                  type: vector.transport === "streamable_http" ? "streamable" : "sse",
                  server_parameters: { url }
                }
              }
            },
            confirm: () => true
          })
          await using agent = await connectAgent({ ...place, name: "brain" })
          const begun = performance.now()
          const result = await agent.callTool({ tool: "Guarded_server__secret", computer: "desk", timeout: 60 })
          assert.isBelow(performance.now() - begun, 30_000)
          assert.strictEqual(result.isError, isError)
          assert.deepInclude(result.meta, { error_code, mcp_server: "Guarded_server" })
        })
      })
    )
  }
})
