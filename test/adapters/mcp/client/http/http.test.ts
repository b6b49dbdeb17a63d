import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { McpChange, McpSession } from "../../../../../src/application/ports/McpSession.ts"
import { type Requested, json, makeHttpPeer, makeRawPeer, open, stream } from "./HttpPeer.ts"

const done = { result: { content: [{ type: "text", text: "done" }] } }

/** Larger than a message may be. */
const tooMuch = "x".repeat(64 * 1024 * 1024)

/** The retry delay of the server, in milliseconds. */
const soon = "retry: 10\n\n"

/** A legacy server with injected faults. */
const makeServer = Effect.fnUntraced(function* ({
  firstGet = 200,
  nextGet = 200,
  subscribes = true
}: {
  readonly firstGet?: number
  readonly nextGet?: number
  readonly subscribes?: boolean
} = {}) {
  const streams = new Set<ServerResponse>()
  let sessions = 0
  let current = ""
  let gets = 0
  let contents = "old"

  const initialize = ({ id }: Requested, response: ServerResponse) => {
    current = `session ${++sessions}`
    const result = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
      serverInfo: { name: "faulty", version: "0" }
    }
    json(response, id, { result }, 200, { "Mcp-Session-Id": current })
  }
  const get = ({ headers }: Requested, response: ServerResponse) => {
    if (headers["last-event-id"] === "mark") {
      return stream(response, `id: end\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: 1, ...done })}\n\n`)
    }
    const status = gets++ === 0 ? firstGet : nextGet
    if (status !== 200) return response.writeHead(status).end()
    return streams.add(stream(response, soon))
  }
  const call = ({ id, params }: Requested, response: ServerResponse) => {
    switch (params.name ?? "") {
      case "hang":
        return stream(response, ": patience\n\n")
      case "cut":
        stream(response, 'data: {"jsonrpc":"2.0","id":')
        return setImmediate(() => response.destroy())
      case "drop":
        return response.destroy()
      case "resume":
        return stream(response, `${soon}id: mark\ndata:\n\n`).end()
      case "huge event":
        return stream(response, `data: "${tooMuch}`).end('"\n\n')
      case "huge":
        return json(response, id, { result: { content: [{ type: "text", text: tooMuch }] } })
      case "change":
        contents = "new"
        return json(response, id, done)
      case "never":
        return undefined
      default:
        return json(response, id, done)
    }
  }
  const peer = yield* makeHttpPeer((peerRequest, response) => {
    const { headers, id, method, verb } = peerRequest
    if (method === "initialize") return initialize(peerRequest, response)
    if (headers["mcp-session-id"] !== current) return response.writeHead(404).end()
    if (verb === "GET") return get(peerRequest, response)
    if (verb === "DELETE") return response.writeHead(200).end()
    if (id === undefined) return response.writeHead(202).end()
    if (method === "tools/call") return call(peerRequest, response)
    if (method === "resources/read") return json(response, id, { result: { contents: [{ text: contents }] } })
    const refused = { error: { code: -32601, message: "Method not found" } }
    return json(response, id, method.startsWith("resources/") && !subscribes ? refused : { result: {} })
  })
  return {
    ...peer,
    /** Ends the notification streams. */
    endStreams: () => {
      for (const response of streams) response.end()
      streams.clear()
    },
    /** Drops every session. */
    dropSessions: () => void (current = "")
  }
})

const tools = { tools: true, resources: false, uris: [] }

/** Starts a call that hangs and waits until the peer has received it. */
const hanging = (session: McpSession, peer: { readonly until: (what: string) => Effect.Effect<void> }) =>
  Effect.tap(Effect.forkChild(Effect.flip(session.callTool("hang", {}))), () => peer.until("hang"))

/** Asserts that the session is closed with this reason. */
const assertClosed = (session: McpSession, why: string) =>
  Effect.map(session.closed, ({ reason, message }) => {
    assert.strictEqual(reason, "closed")
    assert.include(message, why)
  })

/**
 * Pings until the session is closed. A stopped server may reset the first request, on a connection whose end the client
 * has not seen yet: that fails the request and tells nothing about the session.
 */
const pingUntilClosed = (session: McpSession) =>
  Effect.raceFirst(
    Effect.forever(Effect.andThen(Effect.ignore(session.ping), Effect.sleep("20 millis"))),
    Effect.asVoid(session.closed)
  )

describe("failing Streamable HTTP server", () => {
  it.live("closes the session and in-flight calls when the server has dropped it", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      const waiting = yield* hanging(session, peer)
      peer.dropSessions()
      assert.strictEqual((yield* Effect.flip(session.callTool("ok", {}))).reason, "closed")
      assert.include((yield* Fiber.join(waiting)).message, "session expired")
      yield* assertClosed(session, "session expired")
    })
  )

  it.live("closes the session after a server restart and opens a new one", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer({ firstGet: 405 })
      const session = yield* open(peer)
      yield* peer.stop
      peer.dropSessions()
      yield* peer.start
      assert.strictEqual((yield* Effect.flip(session.ping)).reason, "closed")
      yield* pingUntilClosed(session)
      yield* assertClosed(session, "session expired")
      yield* (yield* open(peer)).ping
    })
  )

  it.live("closes the session at a request after the server has stopped", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer({ firstGet: 405 })
      const session = yield* open(peer)
      yield* peer.stop
      assert.strictEqual((yield* Effect.flip(session.ping)).reason, "closed")
      yield* pingUntilClosed(session)
      yield* assertClosed(session, "refused")
    })
  )

  for (const [nextGet, why] of [
    [503, "reconnect attempts exhausted"],
    [405, "does not resume"],
    [404, "session expired"]
  ] as const) {
    it.live(`closes the session and its calls when the notification stream is not restored (${nextGet})`, () =>
      Effect.gen(function* () {
        const peer = yield* makeServer({ nextGet })
        const session = yield* open(peer)
        yield* Effect.asVoid(session.watch(tools))
        const waiting = yield* hanging(session, peer)
        peer.endStreams()
        yield* assertClosed(session, why)
        assert.strictEqual((yield* Fiber.join(waiting)).reason, "closed")
      })
    )
  }

  it.live("reports everything as changed after the notification stream reconnects", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      const changes = yield* session.watch({ tools: true, resources: true, prompts: true, uris: ["test://one"] })
      peer.endStreams()
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(changes, 4)), [
        { _tag: "ToolsChanged" },
        { _tag: "PromptsChanged" },
        { _tag: "ResourcesChanged" },
        { _tag: "ResourceUpdated", uri: "test://one" }
      ])
      yield* session.ping
    })
  )

  it.live("closes the session and all calls when a call's stream is lost, without retries", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      const waiting = yield* hanging(session, peer)
      assert.strictEqual((yield* Effect.flip(session.callTool("cut", {}))).reason, "closed")
      assert.strictEqual((yield* Fiber.join(waiting)).reason, "closed")
      yield* assertClosed(session, "connection lost")
      yield* Effect.flip(session.callTool("ok", {}))
      assert.deepStrictEqual(
        peer.requests.filter((what) => ["hang", "cut", "ok"].includes(what)),
        ["hang", "cut"]
      )
    })
  )

  it.live("fails a call that is reset before a response, without a retry", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      assert.strictEqual((yield* Effect.flip(session.callTool("drop", {}))).reason, "closed")
      assert.strictEqual(peer.requests.filter((what) => what === "drop").length, 1)
    })
  )

  it.live("receives the response of a call on the resumed stream", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      assert.deepStrictEqual(yield* session.callTool("resume", {}), done.result)
      assert.strictEqual(peer.requests.filter((what) => what === "resume").length, 1)
    })
  )

  it.live("fails a call after sse_read_timeout and keeps the session", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer({ firstGet: 405 })
      const session = yield* open(peer, { sse_read_timeout: "PT0.1S" })
      for (const tool of ["hang", "never"]) {
        const failure = yield* Effect.flip(session.callTool(tool, {}))
        assert.deepStrictEqual([tool, failure.reason], [tool, "unavailable"])
        assert.include(failure.message, "0.1 seconds")
      }
      yield* session.ping
    })
  )

  it.live("fails a request after timeout", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer(() => undefined)
      for (const failure of [
        yield* Effect.flip(open(peer, { timeout: "PT0.1S" })),
        yield* Effect.flip(open(peer, { timeout: 0.1, sse_read_timeout: 300 }, "sse"))
      ]) {
        assert.strictEqual(failure.reason, "unavailable", failure.message)
        assert.include(failure.message, "0.1 seconds")
      }
    })
  )

  it.live("closes the request of a canceled call", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      const waiting = yield* hanging(session, peer)
      yield* Fiber.interrupt(waiting)
      yield* peer.until("notifications/cancelled")
      yield* peer.until("hang was given up")
      yield* session.ping
    })
  )

  for (const what of ["huge", "huge event"]) {
    it.live(`rejects an oversized message and keeps the session (${what})`, () =>
      Effect.gen(function* () {
        const session = yield* open(yield* makeServer())
        const failure = yield* Effect.flip(session.callTool(what, {}))
        assert.strictEqual(failure.reason, "unavailable", failure.message)
        assert.include(failure.message, "exceeds")
        assert.deepStrictEqual(yield* session.callTool("ok", {}), done.result)
      })
    )
  }

  it.live("sends DELETE on close if terminate_on_close is set", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      yield* Effect.scoped(open(peer, { terminate_on_close: false }))
      assert.notInclude(peer.requests, "DELETE")
      yield* Effect.scoped(open(peer))
      assert.include(peer.requests, "DELETE")
    })
  )
})

describe("peer with invalid HTTP", () => {
  const answers = [
    ["an invalid status", "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n"],
    ["an unrequested protocol switch", "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"]
  ] as const
  for (const [what, answer] of answers) {
    it.live(`reports ${what} as unavailable`, () =>
      Effect.gen(function* () {
        const url = yield* makeRawPeer(() => answer)
        assert.strictEqual((yield* Effect.flip(open({ url }))).reason, "unavailable")
      })
    )
  }
})

describe("Streamable HTTP server with missing notifications", () => {
  const cases = [
    ["offers no notification stream", { firstGet: 405 }, "no notification stream"],
    ["rejects subscriptions", { subscribes: false }, "rejects"]
  ] as const
  for (const [what, faults, reason] of cases) {
    it.effect(`polls a server that ${what}`, () =>
      Effect.gen(function* () {
        const peer = yield* makeServer(faults)
        const session = yield* open(peer)
        const seen = yield* Queue.unbounded<McpChange>()
        const changes = yield* session.watch({ tools: false, resources: false, uris: ["test://one"] })
        yield* Effect.forkChild(Stream.runForEach(changes, (change) => Queue.offer(seen, change)))
        assert.include(yield* session.degraded ?? Effect.succeed(""), reason)
        yield* session.callTool("change", {})
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(yield* Queue.take(seen), { _tag: "ResourceUpdated", uri: "test://one" })
      }).pipe(Effect.scoped)
    )
  }
})

describe("invalid configured header", () => {
  for (const type of ["streamable", "sse"] as const) {
    it.live(`omits the value from the error (${type})`, () =>
      Effect.gen(function* () {
        const peer = yield* makeHttpPeer((_, response) => response.writeHead(500).end())
        const times = type === "sse" ? { timeout: 5, sse_read_timeout: 300 } : {}
        const headers = { Authorization: "Bearer s3c\nret" }
        const { message } = yield* Effect.flip(open(peer, { ...times, headers }, type))
        assert.include(message, "Authorization")
        assert.notInclude(message, "s3c")
      })
    )
  }
})

describe("malicious HTTP server", () => {
  it.live("accepts an invalid status text without an uncaught exception", () =>
    Effect.gen(function* () {
      for (const words of ["\u0001", "O\u007fK"]) {
        const url = yield* makeRawPeer(() => `HTTP/1.1 500 ${words}\r\nContent-Length: 0\r\n\r\n`)
        const failure = yield* Effect.flip(open({ url }))
        assert.strictEqual(failure.message, "HTTP 500")
      }
    })
  )

  it.live("throttles reconnects to a server that requests a retry delay of 0", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer(({ id, method, verb }, response) => {
        if (verb === "GET") return stream(response, "retry: 0\n\n").end()
        if (method !== "initialize") return response.writeHead(202).end()
        const result = {
          protocolVersion: "2025-06-18",
          capabilities: {},
          serverInfo: { name: "x", version: "0" }
        }
        return json(response, id, { result })
      })
      const begun = performance.now()
      yield* open(peer)
      yield* peer.until("GET")
      const times = 5
      yield* Effect.repeat(peer.until("GET"), { times: times - 1 })
      // Timers may fire up to a millisecond early.
      assert.isAtLeast(performance.now() - begun, (times - 1) * 99)
    })
  )
})

describe("failing SSE server", () => {
  it.live("reports a refused connection at once", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer(() => undefined)
      yield* peer.stop
      const failure = yield* Effect.flip(open(peer, { timeout: 5, sse_read_timeout: 300 }, "sse"))
      assert.strictEqual(failure.reason, "unavailable", failure.message)
      assert.include(failure.message, "refused")
    })
  )

  it.live("closes the session and its calls when the event stream ends", () =>
    Effect.gen(function* () {
      let events: ServerResponse | undefined
      const peer = yield* makeHttpPeer(({ id, method, verb }, response) => {
        if (verb === "GET") return (events = stream(response, "event: endpoint\ndata: /messages\n\n"))
        response.writeHead(202).end()
        const result = {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "faulty", version: "0" }
        }
        const answer = { jsonrpc: "2.0", id, result }
        return method === "initialize" && events?.write(`data: ${JSON.stringify(answer)}\n\n`)
      })
      const session = yield* open(peer, { timeout: 5, sse_read_timeout: 300 }, "sse")
      const waiting = yield* hanging(session, peer)
      events?.destroy()
      assert.strictEqual((yield* Fiber.join(waiting)).reason, "closed")
      yield* assertClosed(session, "event stream closed")
    })
  )
})

describe("SSE server of an odd form", () => {
  const answerOf = ({ id, method }: Requested) =>
    JSON.stringify({ jsonrpc: "2.0", id, result: method === "initialize" ? initialized : done.result })

  /** A server whose stream is open, and that answers requests in some way. */
  const openSse = Effect.fnUntraced(function* (
    answer: (requests: Requested, response: ServerResponse, events: ServerResponse) => unknown,
    { notified = 202, lineEnd = "\n" } = {}
  ) {
    let events: ServerResponse | undefined
    const peer = yield* makeHttpPeer((requests, response) => {
      if (requests.verb === "GET") {
        return (events = stream(response, ["event: endpoint", "data: /messages", "", ""].join(lineEnd)))
      }
      if (requests.id === undefined) return response.writeHead(notified).end()
      return events && answer(requests, response, events)
    })
    return yield* open(peer, { timeout: 5, sse_read_timeout: 300 }, "sse")
  })
  const sendEvent = (requests: Requested, response: ServerResponse, events: ServerResponse, lineEnd = "\n") => {
    response.writeHead(202).end()
    events.write(["event: message", `data: ${answerOf(requests)}`, "", ""].join(lineEnd))
  }

  for (const notified of [200, 204, 400, 404, 500]) {
    it.live(`is opened when it answers notifications with ${notified}`, () =>
      Effect.gen(function* () {
        const session = yield* openSse(sendEvent, { notified })
        assert.deepStrictEqual(yield* session.callTool("x", {}), done.result)
      })
    )
  }

  it.live("is read when its lines end with carriage returns alone", () =>
    Effect.gen(function* () {
      const session = yield* openSse((requests, response, events) => sendEvent(requests, response, events, "\r"), {
        lineEnd: "\r"
      })
      assert.deepStrictEqual(yield* session.callTool("x", {}), done.result)
    })
  )

  for (const status of [200, 201, 202]) {
    it.live(`is read when it answers in the body of the POST with ${status}`, () =>
      Effect.gen(function* () {
        const session = yield* openSse((requests, response) =>
          response.writeHead(status, { "Content-Type": "application/json; charset=utf-8" }).end(answerOf(requests))
        )
        assert.deepStrictEqual(yield* session.callTool("x", {}), done.result)
      })
    )
  }

  for (const receipt of ['{"status":"accepted"}', '{"result":"ok"}', "true", ""]) {
    it.live(`is read when the body of the POST is the receipt '${receipt}'`, () =>
      Effect.gen(function* () {
        const session = yield* openSse((requests, response, events) => {
          response.writeHead(200, { "Content-Type": "application/json" }).end(receipt)
          events.write(`data: ${answerOf(requests)}\n\n`)
        })
        assert.deepStrictEqual(yield* session.callTool("x", {}), done.result)
      })
    )
  }

  it.live("is named by its content type when it is a page", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer((_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end())
      const failure = yield* Effect.flip(open(peer, { timeout: 5, sse_read_timeout: 300 }, "sse"))
      assert.include(failure.message, "content type")
    })
  )
})

const initialized = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "brief", version: "0" }
}

/** The events of a response: a call has two steps of progress before its result. */
const eventsOf = ({ id, method, params }: Requested): string => {
  const { progressToken } = { ...(params["_meta"] as { readonly progressToken?: number } | undefined) }
  const steps = [1, 2].map((progress) => ({ method: "notifications/progress", params: { progressToken, progress } }))
  const response = { id, result: method === "initialize" ? initialized : { content: [] } }
  return [...(progressToken === undefined ? [] : steps), response]
    .map((message) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`)
    .join("")
}

describe("HTTP server that sends progress and result at once", () => {
  for (const type of ["sse", "streamable"] as const) {
    it.live(`loses no progress [${type}]`, () =>
      Effect.gen(function* () {
        let events: ServerResponse | undefined
        const peer = yield* makeHttpPeer((requests, response) => {
          const { id, verb } = requests
          if (verb === "GET" && type === "sse") {
            return (events = stream(response, "event: endpoint\ndata: /messages\n\n"))
          }
          if (verb !== "POST") return response.writeHead(405).end()
          if (id === undefined) return response.writeHead(202).end()
          if (type === "streamable") return stream(response, eventsOf(requests)).end()
          response.writeHead(202).end()
          return events?.write(eventsOf(requests))
        })
        const session = yield* open(peer, type === "sse" ? { timeout: 5, sse_read_timeout: 300 } : {}, type)
        const seen: Array<number> = []
        yield* session.callTool("t", {}, { onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) })
        assert.deepStrictEqual(seen, [1, 2])
      })
    )
  }
})
