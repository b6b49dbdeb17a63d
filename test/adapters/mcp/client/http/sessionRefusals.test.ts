import type { ServerResponse } from "node:http"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { detectSessionRefusals } from "../../../../../src/adapters/mcp/client/http/sessionRefusals.ts"
import { type Requested, json, makeHttpPeer, open, openSse, stream } from "./HttpPeer.ts"

type Answer = (requests: Requested, response: ServerResponse) => unknown

const done = { result: { content: [] } }

const initialize: Answer = ({ id }, response) =>
  json(
    response,
    id,
    {
      result: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "forgetful", version: "1" }
      }
    },
    200,
    { "Mcp-Session-Id": "s" }
  )

/** A server that answers requests of its session, and others with `refuse` after it has forgotten it. */
const makeForgetfulServer = Effect.fnUntraced(function* (refuse: Answer, answer: Answer = () => undefined) {
  let isForgotten = false
  const peer = yield* makeHttpPeer((requests, response) => {
    const { id, method, verb } = requests
    if (method === "initialize") {
      isForgotten = false
      return initialize(requests, response)
    }
    if (isForgotten) return refuse(requests, response)
    if (verb === "GET") return response.writeHead(405).end()
    if (verb === "DELETE") return response.writeHead(200).end()
    if (id === undefined) return response.writeHead(202).end()
    answer(requests, response)
    return response.headersSent ? undefined : json(response, id, method === "ping" ? { result: {} } : done)
  })
  return { ...peer, forget: () => void (isForgotten = true) }
})

const text =
  (status: number, body: string): Answer =>
  (_, response) =>
    response.writeHead(status).end(body)

/** A JSON-RPC error without an id, as the SDKs of servers send it. */
const rpc =
  (status: number, code: number, message: string): Answer =>
  (_, response) =>
    json(response, null, { error: { code, message } }, status)

const rpcWithId =
  (status: number, code: number, message: string): Answer =>
  ({ id }, response) =>
    json(response, id, { error: { code, message } }, status)

const refusals: ReadonlyArray<readonly [string, Answer]> = [
  ["400 without a valid id", rpc(400, -32000, "Bad Request: No valid session ID provided")],
  ["400 before initialization", rpc(400, -32000, "Bad Request: Server not initialized")],
  ["400 with an unspecific error", rpc(400, -32600, "Invalid Request")],
  ["400 with an unspecific error and the id of the request", rpcWithId(400, -32600, "Invalid Request")],
  ["400 with the id of the request", rpcWithId(400, -32001, "Unknown session")],
  ["400 with a text", text(400, "Invalid session ID")],
  ["400 without a body", text(400, "")],
  [
    "400 with an event",
    text(400, 'event: message\ndata: {"error":{"code":-32000,"message":"Server not initialized"}}\n\n')
  ],
  ["401 with a text", text(401, "Unauthorized: Session not found")],
  ["403 with a text", text(403, "Session terminated")],
  ["404", text(404, "")],
  ["404 with a text", text(404, "Session not found")],
  ["404 with an error", rpc(404, -32001, "Session not found")],
  ["409 without a body", text(409, "")],
  ["410", text(410, "Gone")],
  ["500 with a nested error", text(500, '{"error":"Error POSTing (HTTP 400): No valid session ID provided"}')],
  ["503 with an error", rpc(503, -32000, "Unknown Mcp-Session-Id header")],
  ["200 with an error", rpcWithId(200, -32001, "Session not found")],
  ["200 with the error of the Python SDK", rpcWithId(200, -32602, "Invalid request parameters")],
  ["202 without a body", text(202, "")],
  ["200 with an error without an id", rpc(200, -32000, "Server not initialized")],
  [
    "200 with an event that is no JSON-RPC message",
    (_, response) => stream(response, 'event: message\ndata: {"error":"Session not found"}\n\n').end()
  ]
]

describe("forgotten HTTP session", () => {
  it.live.each(refusals)("closes after a call that the server refuses with %s", ([, refuse]) =>
    Effect.gen(function* () {
      const peer = yield* makeForgetfulServer(refuse)
      const session = yield* open(peer)
      yield* session.callTool("x", {})
      peer.forget()
      assert.strictEqual((yield* Effect.flip(session.callTool("x", {}))).reason, "closed")
      assert.include((yield* session.closed).message, "MCP session expired")
      // The supervisor opens the next one, with backoff.
      assert.lengthOf(
        peer.requests.filter((request) => request === "initialize"),
        1
      )
      yield* (yield* open(peer)).callTool("x", {})
    })
  )

  it.live.each(refusals.filter(([title]) => !/unspecific|without a body/.test(title)))(
    "closes after a ping that the server refuses with %s",
    ([, refuse]) =>
      Effect.gen(function* () {
        const peer = yield* makeForgetfulServer(refuse)
        const session = yield* open(peer)
        peer.forget()
        yield* Effect.flip(session.ping)
        yield* session.closed
      })
  )

  it.live.each([
    ["400 with a text", text(400, "No transport found for sessionId")],
    ["404 with a text", text(404, "Could not find session")],
    ["400 without a body", text(400, "")]
  ] as ReadonlyArray<readonly [string, Answer]>)("closes over SSE after a refusal with %s", ([, refuse]) =>
    Effect.gen(function* () {
      let events: ServerResponse | undefined
      let isForgotten = false
      const peer = yield* makeHttpPeer(({ id, method, path, verb }, response) => {
        if (verb === "GET") return (events = stream(response, "event: endpoint\ndata: /messages?sessionId=1\n\n"))
        if (isForgotten) return refuse({ headers: {}, id, method, params: {}, path, verb }, response)
        response.writeHead(202).end()
        const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "x", version: "1" } }
        return method === "initialize" && events?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`)
      })
      const session = yield* openSse(peer)
      isForgotten = true
      assert.strictEqual((yield* Effect.flip(session.callTool("x", {}))).reason, "closed")
    })
  )
})

/** Answers requests with this method only. */
const only =
  (method: string, answer: Answer): Answer =>
  (requests, response) =>
    requests.method === method ? answer(requests, response) : undefined

describe("known HTTP session", () => {
  it.live.each([
    [
      "a call with an error that names a session",
      only("tools/call", rpcWithId(200, -32000, "Browser session 5 not found"))
    ],
    ["a call with 400 and an error", only("tools/call", rpcWithId(400, -32602, "Unknown tool"))],
    ["a call with 400 and no id", only("tools/call", rpc(400, -32602, "the argument session is missing"))],
    ["a call with 422", only("tools/call", text(422, "unprocessable"))],
    ["a call with 401", only("tools/call", text(401, "no"))],
    ["a call with 403", only("tools/call", text(403, "blocked by the firewall"))],
    ["a call with 429", only("tools/call", text(429, "slow down"))],
    ["a call with 500", only("tools/call", text(500, "oops"))],
    ["a ping with 202", only("ping", text(202, ""))],
    ["a ping with 404 and an unknown method", only("ping", rpcWithId(404, -32601, "Method not found"))],
    ["a ping with 400 and an unknown method", only("ping", rpc(400, -32601, "Method not found"))],
    ["a ping with 400", only("ping", rpc(400, -32600, "Invalid Request"))],
    ["a ping with 404 and an error with its id", only("ping", rpcWithId(404, -32000, "no ping here"))]
  ] as ReadonlyArray<readonly [string, Answer]>)("stays open after %s", ([, answer]) =>
    Effect.gen(function* () {
      const session = yield* open(yield* makeForgetfulServer(text(500, ""), answer))
      yield* Effect.exit(session.callTool("x", {}))
      yield* Effect.exit(session.ping)
      assert.notStrictEqual(yield* Effect.map(Effect.exit(session.listTools()), ({ _tag }) => _tag), "Failure")
    })
  )

  it.live("waits for a response on the notification stream when the server answers the check", () =>
    Effect.gen(function* () {
      let events: ServerResponse | undefined
      let accepted: unknown
      const peer = yield* makeHttpPeer((requests, response) => {
        const { id, method, params, verb } = requests
        if (method === "initialize") return initialize(requests, response)
        if (verb === "GET") return (events = stream(response, ": ready\n\n"))
        if (params.name === "late") accepted = id
        if (params.name === "late" || id === undefined) return response.writeHead(202).end()
        json(response, id, done)
        return (
          method === "ping" && events?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: accepted, ...done })}\n\n`)
        )
      })
      const session = yield* open(peer)
      yield* peer.until("GET")
      yield* session.callTool("quick", {})
      assert.property(yield* session.callTool("late", {}), "content")
    })
  )

  it.live("counts an unknown ping over HTTP as a response", () =>
    Effect.gen(function* () {
      const answer = only("ping", rpcWithId(404, -32601, "Method not found"))
      const session = yield* open(yield* makeForgetfulServer(text(500, ""), answer))
      assert.strictEqual((yield* Effect.flip(session.ping)).reason, "protocol")
    })
  )
})

describe("the check of a session", () => {
  /** Sends this many requests at once to a server that knows no session, and counts the pings that check it. */
  const sendAtOnce = async (count: number, isKnown: boolean) => {
    let pings = 0
    const refused: Array<number> = []
    const { check, fetch } = detectSessionRefusals(
      async (_, init = {}) => {
        await setImmediate()
        const isPing = typeof init.body === "string" && init.body.includes('"ping"')
        if (isPing) pings++
        return isPing && isKnown
          ? Response.json({ jsonrpc: "2.0", id: 1, result: {} })
          : new Response("", { status: 400 })
      },
      () => true,
      (status) => void refused.push(status)
    )
    const send = async () => {
      const headers = { "mcp-protocol-version": "2025-06-18" }
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
      return (await fetch("http://a.example/mcp", { method: "POST", headers, body })).status
    }
    const statuses = await Promise.all(Array.from({ length: count }, send))
    return { check, send, pings: () => pings, refused, statuses }
  }

  it("runs once for requests that fail at once", async () => {
    const { pings, refused, statuses } = await sendAtOnce(5, false)
    assert.deepStrictEqual(
      [statuses, pings(), refused],
      [Array.from({ length: 5 }, () => 404), 1, Array.from({ length: 5 }, () => 400)]
    )
  })

  it("runs again for a later request", async () => {
    const { check, pings, refused, send, statuses } = await sendAtOnce(2, true)
    assert.deepStrictEqual([statuses, pings(), refused], [[400, 400], 1, []])
    assert.deepStrictEqual([await send(), pings()], [400, 2])
    assert.deepStrictEqual([await check(), pings()], [false, 3])
  })
})
