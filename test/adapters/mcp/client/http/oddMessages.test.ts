import type { ServerResponse } from "node:http"
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result, Stream } from "effect"
import { makeSseTransport } from "../../../../../src/adapters/mcp/client/http/httpTransports.ts"
import { decodeEndpoint } from "../../../../../src/domain/config/endpointParameters.ts"
import { failedResponses, type OddResponse, repairedResponses, withId } from "../oddResponses.ts"
import { type Requested, json, makeHttpPeer, open, openSse, stream } from "./HttpPeer.ts"

const description = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "odd", version: "1" }
}
const textOf = (id: unknown) => JSON.stringify(id) ?? ""
const done = { content: [{ type: "text", text: "done" }] }

/** How a server sends the responses to calls. */
const carriers = {
  "a JSON document": (text: string, response: ServerResponse) =>
    response.writeHead(200, { "Content-Type": "application/json" }).end(text),
  "an event stream": (text: string, response: ServerResponse) => stream(response, `data: ${text}\n\n`),
  "an event stream with other line ends": (text: string, response: ServerResponse) => {
    const [first, second] = [text.slice(0, 20), text.slice(20)]
    stream(response, `: hello\r\n\r\nevent: message\r\nid: 5\r\ndata: ${first}`)
    setImmediate(() => response.write(`${second}\r\n\r\n`))
  }
}

/** A server that sends `answer` to every call, and has one stream for notifications. */
const makeOddServer = Effect.fnUntraced(function* (answer: (requests: Requested, response: ServerResponse) => unknown) {
  let notifications: ServerResponse | undefined
  const peer = yield* makeHttpPeer((requests, response) => {
    const { id, method, verb } = requests
    if (verb === "GET") return (notifications = stream(response, ": ready\n\n"))
    if (verb === "DELETE") return response.writeHead(200).end()
    if (method === "initialize") return json(response, id, { result: description }, 200, { "Mcp-Session-Id": "s" })
    if (id === undefined) return response.writeHead(202).end()
    return answer(requests, response)
  })
  return { ...peer, notify: (text: string) => void notifications?.write(`data: ${text}\n\n`) }
})

/** A server of HTTP with SSE whose stream has messages in this form. */
const makeOlderServer = (endpoint: string, format: (id: unknown, result: object) => string) => {
  let events: ServerResponse | undefined
  return makeHttpPeer(({ id, method, path, verb }, response) => {
    if (verb === "GET") return (events = stream(response, `event: endpoint\ndata: ${endpoint}\n\n`))
    response.writeHead(path.startsWith("/messages") ? 202 : 404).end()
    return id === undefined ? undefined : events?.write(format(id, method === "initialize" ? description : done))
  })
}

const callOnce = (answer: (requests: Requested, response: ServerResponse) => unknown) =>
  Effect.scoped(
    Effect.gen(function* () {
      const session = yield* open(yield* makeOddServer(answer))
      return yield* session.callTool("x", {})
    })
  )

/** Fails a call that gets this response, for this reason, while another call waits for its result. */
const failsAlone = Effect.fnUntraced(function* (respond: (response: ServerResponse) => unknown, reason: string) {
  const waiting = Promise.withResolvers<void>()
  const peer = yield* makeOddServer(({ id, method, params }, response) => {
    if (params.name === "odd") return respond(response)
    const isReady = method === "ping" ? Promise.resolve() : waiting.promise
    return isReady.then(() => json(response, id, { result: done }))
  })
  const session = yield* open(peer)
  const other = yield* Effect.forkChild(session.callTool("wait", {}))
  yield* peer.until("wait")
  assert.include((yield* Effect.flip(session.callTool("odd", {}))).message, reason)
  waiting.resolve()
  assert.deepStrictEqual((yield* Fiber.join(other))["content"], done.content)
})

for (const [carrier, send] of Object.entries(carriers)) {
  const answer =
    ({ text }: OddResponse) =>
    ({ id }: Requested, response: ServerResponse) =>
      send(withId(text, id), response)
  describe(`odd response in ${carrier}`, () => {
    it.live.each(repairedResponses)("gives the result of a response with $title", (odd) =>
      Effect.map(callOnce(answer(odd)), ({ content }) => assert.deepStrictEqual(content, done.content))
    )

    it.live.each(failedResponses)("fails the call at once after $title", (odd) =>
      Effect.map(Effect.flip(callOnce(answer(odd))), ({ message, reason }) => {
        assert.strictEqual(reason, "protocol")
        assert.include(message, odd.reason)
      })
    )
  })
}

describe("response of an odd HTTP form", () => {
  const documentOf = (id: unknown) => JSON.stringify({ jsonrpc: "2.0", id, result: done })
  const eventOf = (id: unknown) => `event: message\ndata: ${documentOf(id)}\n\n`
  const log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
  const type = (value: string) => ({ "Content-Type": value })
  const document = type("application/json")
  const events = type("text/event-stream")
  const encoded = (headers: object, encoding: string) => ({ ...headers, "Content-Encoding": encoding })

  it.live.each<readonly [string, (id: unknown, response: ServerResponse) => unknown]>([
    ["gzip", (id, to) => to.writeHead(200, encoded(document, "gzip")).end(gzipSync(documentOf(id)))],
    ["deflate", (id, to) => to.writeHead(200, encoded(document, "deflate")).end(deflateSync(documentOf(id)))],
    ["brotli", (id, to) => to.writeHead(200, encoded(document, "br")).end(brotliCompressSync(documentOf(id)))],
    ["gzip of events", (id, to) => to.writeHead(200, encoded(events, "GZIP")).end(gzipSync(eventOf(id)))],
    ["no type", (id, to) => to.writeHead(200).end(documentOf(id))],
    ["the type of texts", (id, to) => to.writeHead(200, type("text/plain")).end(documentOf(id))],
    ["the type of pages", (id, to) => to.writeHead(200, type("text/html; charset=utf-8")).end(documentOf(id))],
    ["events with the type of texts", (id, to) => to.writeHead(200, type("text/plain")).end(eventOf(id))],
    ["events with the type of documents", (id, to) => to.writeHead(200, document).end(eventOf(id))],
    ["a document with the type of events", (id, to) => to.writeHead(200, events).end(documentOf(id))],
    [
      "lines of documents",
      (id, to) => to.writeHead(200, type("application/x-ndjson")).end(`${log}\n${documentOf(id)}\n`)
    ],
    ["the status 500", (id, to) => to.writeHead(500, document).end(documentOf(id))],
    ["the status 503 and events", (id, to) => to.writeHead(503, events).end(eventOf(id))],
    ["the status 400 and no type", (id, to) => to.writeHead(400).end(documentOf(id))],
    ["the status 404 and its id as a text", (id, to) => to.writeHead(404, document).end(documentOf(textOf(id)))],
    ["the status 202 and a body", (id, to) => to.writeHead(202, document).end(documentOf(id))]
  ])("gives the result after %s", ([, respond]) =>
    Effect.map(
      callOnce(({ id }, response) => respond(id, response)),
      ({ content }) => assert.deepStrictEqual(content, done.content)
    )
  )

  it.live.each<readonly [string, (response: ServerResponse) => unknown, string]>([
    ["an empty stream", (to) => to.writeHead(200, events).end(), "the response ended"],
    ["a stream of comments", (to) => to.writeHead(200, events).end(": ping\n\n"), "the response ended"],
    ["the status 204", (to) => to.writeHead(204).end(), "HTTP 204"],
    ["the status 205", (to) => to.writeHead(205).end(), "HTTP 205"],
    ["an empty body", (to) => to.writeHead(200).end(), "it is empty"],
    ["the status 500 and another result", (to) => to.writeHead(500, document).end(documentOf(424_242)), "HTTP 500"],
    [
      "the status 500 and an error",
      (to) => to.writeHead(500, document).end('{"jsonrpc":"2.0","error":"no disk"}'),
      "no disk"
    ],
    ["a page", (to) => to.writeHead(200, type("text/html")).end("<html>"), "content type text/html"],
    [
      "an error that is a text",
      (to) => to.writeHead(400, document).end('{"jsonrpc":"2.0","error":"no disk"}'),
      "no disk"
    ],
    ["a redirect", (to) => to.writeHead(301, { Location: "/other/" }).end(), "/other/ not followed"]
  ])("fails its call and no other after %s", ([, respond, reason]) => failsAlone(respond, reason))

  it.live.each([200, 400, 500])("fails its call with the code and the data of an error with the status %i", (status) =>
    Effect.gen(function* () {
      const error = { code: -32_010, message: "no disk", data: { free: 0 } }
      const peer = yield* makeOddServer(({ id, params }, response) =>
        params.name === "odd"
          ? response
              .writeHead(status, document)
              .end(JSON.stringify({ jsonrpc: "2.0", id: status === 200 ? id : null, error }))
          : response.writeHead(200, document).end(documentOf(id))
      )
      const failure = yield* Effect.flip((yield* open(peer)).callTool("odd", {}))
      assert.deepInclude(failure, { reason: "protocol", ...error })
    })
  )

  it.live.each([202, 204])("fails a handshake at once when it is answered with %i", (status) =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer((_, response) => response.writeHead(status).end())
      assert.include((yield* Effect.flip(open(peer))).message, `HTTP ${status}`)
    })
  )

  it.live.each([202, 204])("takes the status %i for an answer to a ping", (status) =>
    Effect.gen(function* () {
      const session = yield* open(yield* makeOddServer((_, response) => response.writeHead(status).end()))
      assert.strictEqual((yield* Effect.flip(session.ping)).reason, "protocol")
    })
  )

  it.live("fails a call that is accepted with 202 when the server has no stream for its response", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer(({ id, method, verb }, response) => {
        if (method === "initialize") return json(response, id, { result: description })
        return response.writeHead(verb === "GET" ? 405 : 202).end()
      })
      const session = yield* open(peer)
      const changes = yield* session.watch({ tools: true, resources: false, uris: [] })
      yield* Effect.forkScoped(Stream.runDrain(changes))
      assert.include((yield* Effect.flip(session.callTool("x", {}))).message, "HTTP 202")
    })
  )
})

describe("refused notification", () => {
  it.live.each([200, 204, 400, 404, 405, 500, 501])("does not end the session, with the status %i", (status) =>
    Effect.gen(function* () {
      let notify: (text: string) => unknown = () => undefined
      const peer = yield* makeHttpPeer(({ id, method, verb }, response) => {
        if (verb === "GET") {
          const opened = stream(response, ": ready\n\n")
          notify = (text) => opened.write(text)
          return opened
        }
        if (method === "initialize") return json(response, id, { result: description })
        return id === undefined ? response.writeHead(status).end() : json(response, id, { result: done })
      })
      const session = yield* open(peer)
      const changes = yield* session.watch({ tools: true, resources: false, uris: [] })
      assert.property(yield* session.callTool("x", {}), "content")
      notify('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
      assert.lengthOf(yield* Stream.runCollect(Stream.take(changes, 1)), 1)
    })
  )
})

describe("response to one HTTP request", () => {
  it.live.each([
    ["null", '"id":null,'],
    ["another text", '"id":"server-error",'],
    ["none", ""]
  ])("belongs to it when its id is %s", ([, member]) =>
    Effect.map(
      Effect.flip(
        callOnce((_, response) => {
          const text = `{"jsonrpc":"2.0",${member}"error":{"code":-32600,"message":"bad request"}}`
          return carriers["a JSON document"](text, response)
        })
      ),
      ({ code, message }) => assert.deepStrictEqual([code, message], [-32600, "bad request"])
    )
  )

  it.live.each(["[]", "7", '{"jsonrpc":"2.0","method":"notifications/x"}', "", "<html>"])(
    "is missing in the JSON document '%s', which fails the call at once",
    (text) =>
      Effect.map(
        Effect.flip(callOnce((_, response) => carriers["a JSON document"](text, response))),
        ({ message, reason }) => {
          assert.strictEqual(reason, "protocol")
          assert.match(message, /does not answer|cannot be decoded/)
        }
      )
  )
})

describe("event stream that answers one request", () => {
  it.live.each([
    ["an error with another id", '{"jsonrpc":"2.0","id":"server-error","error":{"code":1,"message":"bad"}}', "bad"],
    ["an error with a null id", '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"bad"}}', "bad"],
    ["an error without JSON-RPC", '{"error":"bad"}', "bad"],
    ["a text", "it did not work", "cannot be decoded"],
    ["an empty object", "{}", "cannot be decoded"]
  ] as const)("fails its call and no other after %s", ([, data, reason]) =>
    failsAlone((response) => stream(response, `data: ${data}\n\n`).end(), reason)
  )
})

describe("event stream with other data", () => {
  it.live.each(["{}", "ping", '{"type":"heartbeat"}', "null", "[]"])("gives the result after the event %s", (data) =>
    Effect.map(
      callOnce(({ id }, response) =>
        stream(response, `data: ${data}\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: done })}\n\n`).end()
      ),
      ({ content }) => assert.deepStrictEqual(content, done.content)
    )
  )
})

describe("server with text ids", () => {
  it.live("completes the handshake, in documents and streams", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer(({ id, method, verb }, response) => {
        if (verb !== "POST") return response.writeHead(405).end()
        if (id === undefined) return response.writeHead(202).end()
        const text = JSON.stringify({ jsonrpc: "2.0", id: textOf(id), result: { ...description, ...done } })
        return method === "initialize"
          ? stream(response, `data: ${text}\n\n`)
          : response.writeHead(200, { "Content-Type": "application/json" }).end(text)
      })
      const session = yield* open(peer)
      assert.property(yield* session.callTool("x", {}), "content")
    })
  )

  it.live("answers a call on the notification stream", () =>
    Effect.gen(function* () {
      const peer = yield* makeOddServer(({ id }, response) => {
        response.writeHead(202).end()
        peer.notify(JSON.stringify({ jsonrpc: "2.0", id: textOf(id), result: done }))
      })
      const session = yield* open(peer)
      yield* peer.until("GET")
      assert.property(yield* session.callTool("x", {}), "content")
    })
  )
})

describe("content type of a response", () => {
  it.live.each([
    ["Text/Event-Stream", "data: "],
    ["text/event-stream;charset=UTF-8", "data: "],
    ["text/event-stream, text/event-stream", "data: "],
    ["Application/JSON", ""],
    ["application/json; charset", ""],
    ["text/json", ""],
    ["application/vnd.mcp+json", ""]
  ])("may be spelled %s", ([type = "", prefix = ""]) =>
    Effect.map(
      callOnce(({ id }, response) =>
        response
          .writeHead(200, { "Content-Type": type })
          .end(`${prefix}${JSON.stringify({ jsonrpc: "2.0", id, result: done })}\n\n`)
      ),
      ({ content }) => assert.deepStrictEqual(content, done.content)
    )
  )

  it.live.each(["text/event-Stream", "TEXT/EVENT-STREAM; x"])(
    "is that of an event stream, whose end fails the call at once, when spelled %s",
    (type) =>
      Effect.map(
        Effect.flip(callOnce((_, response) => response.writeHead(200, { "Content-Type": type }).end(": none\n\n"))),
        ({ reason }) => assert.strictEqual(reason, "protocol")
      )
  )
})

describe("event stream that ends without a response", () => {
  it.live.each([
    ["an id without data", "id: 1\n\n"],
    ["an empty id", "id:\ndata:\n\n"],
    ["an id with a null character", "id: a\u0000\ndata:\n\n"],
    ["an event that is cut", "id: 1\ndata: {"]
  ])("is not resumed after %s, so the call fails at once", ([, text = ""]) =>
    Effect.map(Effect.flip(callOnce((_, response) => stream(response, text).end())), ({ reason }) =>
      assert.strictEqual(reason, "protocol")
    )
  )
})

describe("server description", () => {
  it.live("opens a session when members are null", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer(({ id, method }, response) => {
        if (method !== "initialize") return response.writeHead(202).end()
        const capabilities = { tools: { listChanged: null }, logging: null }
        const serverInfo = { ...description.serverInfo, title: null }
        const result = { ...description, capabilities, serverInfo, instructions: null, _meta: null }
        return json(response, id, { result })
      })
      const { info } = yield* open(peer)
      assert.deepStrictEqual([info.name, info.instructions], ["odd", undefined])
    })
  )
})

describe("odd message between good ones", () => {
  it.live("ends its own call and no other, over HTTP with SSE", () =>
    Effect.gen(function* () {
      let events: ServerResponse | undefined
      const print = (text: string) => void events?.write(`data: ${text}\n\n`)
      const waiting: Array<unknown> = []
      const peer = yield* makeHttpPeer(({ id, method, params, verb }, response) => {
        if (verb === "GET") return (events = stream(response, "event: endpoint\ndata: /messages\n\n"))
        response.writeHead(202).end()
        if (method === "initialize") return print(JSON.stringify({ jsonrpc: "2.0", id, result: description }))
        if (params.name === "wait") return waiting.push(id)
        if (params.name !== "odd") return undefined
        print("not JSON")
        print(`{"jsonrpc":"2.0","id":"${textOf(id)}","result":[],"_meta":null}`)
        return print(JSON.stringify({ jsonrpc: "2.0", id: waiting[0], result: { ...done, _meta: null } }))
      })
      const session = yield* openSse(peer)
      const other = yield* Effect.forkChild(session.callTool("wait", {}))
      yield* peer.until("wait")
      assert.include((yield* Effect.flip(session.callTool("odd", {}))).message, "not an MCP result")
      assert.deepStrictEqual((yield* Fiber.join(other))["content"], done.content)
    })
  )

  it.live.each<readonly [string, (text: string) => string]>([
    ["response", (text) => `event: response\ndata: ${text}\n\n`],
    ["json", (text) => `event: json\ndata: ${text}\n\n`],
    ["data, with an id", (text) => `id: 7\nevent: data\ndata: ${text}\n\n`],
    ["result, with a batch", (text) => `data: [${text}]\nevent: result\n\n`],
    ["Message, after one with other data", (text) => `event: ping\ndata: {}\n\nevent: Message\ndata: ${text}\n\n`]
  ])("reads a message in an event of the type %s", ([, format]) =>
    Effect.gen(function* () {
      const messages = (id: unknown, result: object) => format(JSON.stringify({ jsonrpc: "2.0", id, result }))
      const older = yield* makeOlderServer("/messages", messages)
      const session = yield* openSse(older)
      assert.deepStrictEqual((yield* session.callTool("x", {}))["content"], done.content)
      const streamable = yield* open(
        yield* makeOddServer(({ id }, response) => stream(response, messages(id, done)).end())
      )
      assert.deepStrictEqual((yield* streamable.callTool("x", {}))["content"], done.content)
    })
  )

  it.live.each([
    '"/messages?s=1"',
    '{"uri":"/messages?s=1"}',
    '{ "url": "/messages?s=1", "timeout": 5 }',
    '{"endpoint":"\\/messages?s=1"}',
    " /messages?s=1 "
  ])("reads the endpoint %s", (endpoint) =>
    Effect.gen(function* () {
      const peer = yield* makeOlderServer(
        endpoint,
        (id, result) => `data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`
      )
      const session = yield* openSse(peer)
      assert.deepStrictEqual((yield* session.callTool("x", {}))["content"], done.content)
    })
  )

  it.live.each(["", ": hello\n\n", 'data: {"jsonrpc":"2.0","method":"x"}\n\n', "event: endpoint\n\n"])(
    "names the missing endpoint when the stream ends after '%s'",
    (text) =>
      Effect.gen(function* () {
        const peer = yield* makeHttpPeer((_, response) => stream(response, text).end())
        const failure = yield* Effect.flip(openSse(peer))
        assert.include(failure.message, "named no endpoint for messages (HTTP with SSE): the response ended")
      })
  )

  it.live("names the missing endpoint after the timeout", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer((_, response) => stream(response, ": hello\n\n"))
      const parameters = Result.getOrThrow(
        decodeEndpoint("sse", { url: peer.url, headers: null, timeout: 5, sse_read_timeout: 300 })
      )
      assert.isTrue(parameters.type === "sse")
      if (parameters.type !== "sse") return
      const { transport } = yield* makeSseTransport(new URL(peer.url), parameters, (fetch) => fetch, 1)
      const failure = yield* Effect.flip(Effect.tryPromise(() => transport.start()))
      assert.include(String(failure.cause), "named no endpoint for messages (HTTP with SSE) within 0.001 seconds")
    })
  )

  it.live.each([
    ["null parameters", '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":null}'],
    ["a list of parameters", '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[]}'],
    ["null metadata", '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":null}}'],
    ["a null id", '{"jsonrpc":"2.0","id":null,"method":"notifications/tools/list_changed"}'],
    ["a result", '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","result":{"content":[]}}'],
    ["an error", '{"method":"notifications/tools/list_changed","id":null,"error":{"code":1,"message":"no"}}'],
    ["null response members", '{"method":"notifications/tools/list_changed","result":null,"error":null}']
  ])("keeps a notification with %s", ([, text = ""]) =>
    Effect.gen(function* () {
      const peer = yield* makeOddServer(() => undefined)
      const session = yield* open(peer)
      const changes = yield* session.watch({ tools: true, resources: false, uris: [] })
      const change = yield* Effect.forkChild(Stream.runHead(changes))
      peer.notify(text)
      assert.strictEqual((yield* Fiber.join(change))._tag, "Some")
    })
  )
})
