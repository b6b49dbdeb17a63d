import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Result } from "effect"
import { type Requested, json, makeHttpPeer, open, stream } from "./HttpPeer.ts"

type Answer = (requests: Requested, response: ServerResponse) => unknown

const info = { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "older", version: "1" } }

const reply =
  (status: number, body = "", headers = {}): Answer =>
  (_, response) =>
    response.writeHead(status, headers).end(body)

const rpc =
  (status: number, code: number): Answer =>
  ({ id }, response) =>
    json(response, id, { error: { code, message: "refused" } }, status)

const html = { "Content-Type": "text/html" }

/** A server that answers the first POST in one way, and GET in another. Later messages reach the older transport. */
const makeServer = Effect.fnUntraced(function* (rejectPost: Answer, answerGet?: Answer) {
  let events: ServerResponse | undefined
  let posts = 0
  const peer = yield* makeHttpPeer((requests, response) => {
    if (requests.verb === "GET" && answerGet !== undefined) return answerGet(requests, response)
    if (requests.verb === "GET") return void (events = stream(response, "event: endpoint\ndata: /messages\n\n"))
    posts++
    if (events === undefined) return rejectPost(requests, response)
    const { id, method } = requests
    response.writeHead(202).end()
    if (id === undefined) return undefined
    const result = method === "initialize" ? info : { tools: [{ name: "t", inputSchema: { type: "object" } }] }
    return events.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`)
  })
  return { ...peer, postCount: () => posts }
})

/** Collects the log messages of an effect. */
const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const messages: Array<unknown> = []
  const logger = Logger.make(({ message }) => void messages.push([message].flat()[0]))
  return Effect.map(Effect.provide(effect, Logger.layer([logger])), (value) => ({ messages, value }))
}

describe("a server that offers only HTTP with SSE", () => {
  it.live.each<[string, Answer]>([
    ["404", reply(404)],
    ["404 with an HTML page", reply(404, "<!doctype html><title>Not found</title>", html)],
    ["404 with a JSON-RPC error", rpc(404, -32601)],
    ["405", reply(405, "Method Not Allowed", { Allow: "GET" })],
    ["400", reply(400, "Bad Request")],
    ["400 with a JSON-RPC error", rpc(400, -32000)],
    ["410", reply(410)],
    ["415", reply(415)],
    ["422 with a JSON body", reply(422, '{"detail":[]}', { "Content-Type": "application/json" })],
    ["501", reply(501)]
  ])("is opened by GET after its answer %s to the first POST", ([, rejectPost]) =>
    Effect.gen(function* () {
      const peer = yield* makeServer(rejectPost)
      const { messages, value: session } = yield* logged(open(peer))
      const { items } = yield* session.listTools(undefined)
      assert.deepStrictEqual(
        items.map(({ name }) => name),
        ["t"]
      )
      assert.include(messages, "MCP server offers only the older transport: set its type to sse")
    })
  )

  it.live.each<[string, Answer]>([
    ["404", reply(404)],
    ["405", reply(405)],
    ["an HTML page", reply(200, "<!doctype html>", html)],
    ["a stream that ends without an endpoint", reply(200, ": hello\n\n", { "Content-Type": "text/event-stream" })],
    ["an endpoint of another origin", (_, response) => stream(response, "event: endpoint\ndata: http://x.test/\n\n")],
    ["a stream without an endpoint", (_, response) => stream(response, ": hello\n\n")],
    ["no response", () => undefined]
  ])("fails with the first failure when GET is answered with %s", ([, answerGet]) =>
    Effect.gen(function* () {
      const peer = yield* makeServer(reply(404, "no such page"), answerGet)
      const { messages, value } = yield* logged(Effect.result(Effect.timeout(open(peer), "20 seconds")))
      const { message } = Result.getOrThrow(Result.flip(value))
      assert.match(message, /404/)
      assert.notInclude(messages, "MCP server offers only the older transport: set its type to sse")
    })
  )
})

describe("a server that rejects the first POST for another reason", () => {
  it.live.each([401, 403, 408, 429, 500, 502, 503])("is not asked by GET after %i", (status) =>
    Effect.gen(function* () {
      const peer = yield* makeServer(reply(status))
      assert.isTrue(Result.isFailure(yield* Effect.result(open(peer))))
      assert.notInclude(peer.requests, "GET")
    })
  )

  it.live("reports that the older transport requires authorization", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer(reply(405), reply(401))
      const failure = yield* Effect.flip(open(peer))
      assert.strictEqual(failure.reason, "unauthorized")
    })
  )
})
