import { connect as connectTcp } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Queue, Result, Scope } from "effect"
import { WebSocket } from "ws"
import { engines } from "../engines.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { type Link } from "../../../../src/application/ports/Transport.ts"
import { ignoreMessage, openMemberSocket, serveLinks, serveQueue } from "../links.ts"
import { liveWith } from "../../../testWith.ts"

/** A client that sends raw frames. */
interface Raw {
  readonly send: (frame: string | Buffer) => void
  /** The next message, without the handshake and pings. */
  readonly next: Effect.Effect<string>
  readonly close: Effect.Effect<void>
  readonly closed: Effect.Effect<void>
}

const rawClient = Effect.fnUntraced(function* (
  url: string,
  headers: { readonly [name: string]: string } = {}
): Effect.fn.Return<Raw, never, Scope.Scope> {
  const received = yield* Queue.unbounded<string>()
  const closed = yield* Deferred.make<void>()
  const address = `${url.replace("http", "ws")}/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0`
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => new WebSocket(address, { headers })),
    (open) => Effect.sync(() => open.terminate())
  )
  socket.on("message", (data: Buffer) => {
    const text = data.toString()
    if (text.startsWith("4")) Queue.offerUnsafe(received, text.slice(1))
    else if (text === "2") socket.send("3")
  })
  socket.on("close", () => Deferred.doneUnsafe(closed, Exit.void))
  yield* Effect.callback<void>((resume) => void socket.once("open", () => resume(Effect.void)))
  return {
    send: (frame) => socket.send(frame),
    next: Queue.take(received),
    close: Effect.sync(() => socket.close()),
    closed: Deferred.await(closed)
  }
})

for (const [engine, makeServer] of engines) {
  /** An echo server that exposes its ends of links. */
  const site = Effect.map(serveQueue(makeServer()), ({ link, url }) => ({ url, link, client: rawClient(url) }))

  const connected = Effect.gen(function* () {
    const place = yield* site
    const client = yield* place.client
    client.send("40/smcp,")
    assert.match(yield* client.next, /^0\/smcp,\{"sid":"/)
    return { ...place, client, far: yield* place.link }
  })
  const live = liveWith(connected)

  /** Begins a request of a link that a client answers later. */
  const begin = (link: Link, body: unknown = {}) =>
    Effect.forkChild(link.request("x", jsonBody(body), Duration.minutes(1)), { startImmediately: true })

  /** A Server that records messages with their links, and two clients. */
  const noted = Effect.gen(function* () {
    const received: Array<readonly [string, unknown]> = []
    const { url } = yield* serveLinks(makeServer(), (link) =>
      Effect.succeed((_event, body) =>
        Effect.sync(() => {
          received.push([link.id, Result.getOrUndefined(body.head)])
          return []
        })
      )
    )
    const clients = [yield* rawClient(url), yield* rawClient(url)] as const
    for (const client of clients) {
      client.send("40/smcp,")
      yield* client.next
    }
    return { clients, received }
  })

  /** The acknowledgement id of a message. */
  const idOf = (packet: string): string => /^2\/smcp,(\d+)\[/.exec(packet)?.[1] ?? assert.fail(packet)

  const many = Array.from({ length: 1000 }, (_, number) => number)

  describe(`a burst of messages, with ${engine}`, () => {
    it.live("keeps its order and does not block other members", () =>
      Effect.gen(function* () {
        const {
          clients: [one, other],
          received
        } = yield* noted
        for (const number of many) one.send(`42/smcp,["x",${number}]`)
        other.send('42/smcp,["x","other"]')
        while (received.length <= many.length) yield* Effect.sleep(1)
        assert.deepStrictEqual(
          received.flatMap(([, body]) => (typeof body === "number" ? [body] : [])),
          many
        )
        assert.isBelow(
          received.findIndex(([, body]) => body === "other"),
          many.length
        )
      })
    )

    it.live("arrives in full when its sender closes the connection right after it", () =>
      Effect.gen(function* () {
        const {
          clients: [one],
          received
        } = yield* noted
        for (const number of many) one.send(`42/smcp,["x",${number}]`)
        yield* one.close
        yield* one.closed
        while (received.length < many.length) yield* Effect.sleep(1)
        assert.lengthOf(received, many.length)
      })
    )
  })

  describe(`the relay of Socket.IO, with ${engine}`, () => {
    it.live("rejects other namespaces", () =>
      Effect.gen(function* () {
        const client = yield* Effect.flatMap(site, (place) => place.client)
        client.send("40")
        assert.strictEqual(yield* client.next, '4{"message":"Invalid namespace"}')
        client.send("40/other,")
        assert.strictEqual(yield* client.next, '4/other,{"message":"Invalid namespace"}')
      })
    )

    live("acknowledges an event with its id", function* ({ client }) {
      client.send('42/smcp,17["x", {"a": [1, 2]} ]')
      assert.strictEqual(yield* client.next, '3/smcp,17[{"a": [1, 2]} ]')
    })

    live("accepts a new session on the same connection after a disconnect", function* ({ client, far, link }) {
      client.send("41/smcp,")
      assert.strictEqual(yield* far.closed, "client_disconnect")
      client.send("40/smcp,")
      assert.match(yield* client.next, /^0\/smcp,/)
      assert.notStrictEqual((yield* link).id, far.id)
    })

    it.live("gives each session of a connection the version and the headers of its request", () =>
      Effect.gen(function* () {
        const handshakes: Array<unknown> = []
        const { url } = yield* serveLinks(makeServer(), (_link, { headers, version }) => {
          handshakes.push([version, headers["x-api-key"]])
          return Effect.succeed(ignoreMessage)
        })
        const client = yield* rawClient(url, { "X-API-Key": "s3cret" })
        client.send("40/smcp,")
        yield* client.next
        client.send("41/smcp,")
        client.send("40/smcp,")
        yield* client.next
        const handshake = [{ major: 0, minor: 2, patch: 0 }, "s3cret"]
        assert.deepStrictEqual(handshakes, [handshake, handshake])
      })
    )

    live("ignores an acknowledgement for an earlier connection", function* ({ client, far, link, url }) {
      yield* begin(far, "first")
      const stale = idOf(yield* client.next)
      yield* client.close
      // Other clients acknowledge late requests on their current connection.
      const back = yield* rawClient(url)
      back.send("40/smcp,")
      yield* back.next
      const next = yield* link
      const pending = yield* begin(next, "second")
      const id = idOf(yield* back.next)
      back.send(`43/smcp,${stale}["first"]`)
      back.send(`43/smcp,${id}["second"]`)
      const reply = yield* Fiber.join(pending)
      assert.deepStrictEqual(
        reply.map(({ head }) => Result.getOrUndefined(head)),
        ["second"]
      )
    })

    live("limits the sessions per connection", function* ({ client }) {
      for (let time = 0; time < 30; time += 1) {
        client.send("41/smcp,")
        client.send("40/smcp,")
      }
      yield* client.closed
    })

    live("drops the binary attachments of an event and acknowledges it", function* ({ client }) {
      client.send('452-/smcp,1["x",{"_placeholder":true,"num":0}]')
      client.send(Buffer.from("one"))
      client.send(Buffer.from("two"))
      client.send('42/smcp,2["x",{}]')
      assert.strictEqual(yield* client.next, "3/smcp,1[]")
      assert.strictEqual(yield* client.next, "3/smcp,2[{}]")
    })

    const ends = (what: string, first: ReadonlyArray<string>, then: ReadonlyArray<string | Buffer>) =>
      it.live(`closes the connection on ${what}`, () =>
        Effect.gen(function* () {
          const { client } = yield* site
          const raw = yield* client
          for (const frame of [...first, ...then]) raw.send(frame)
          yield* raw.closed
        })
      )
    const connect = ["40/smcp,"]
    ends("an event before admission", [], ['42/smcp,1["x",{}]'])
    ends("an acknowledgement before admission", [], ["43/smcp,1[]"])
    ends("unexpected binary", connect, [Buffer.from("x")])
    ends("a packet instead of an attachment", connect, ['451-/smcp,1["x"]', '42/smcp,1["x"]'])
    ends("an invalid packet", connect, ["4nonsense"])
    ends("a second connect packet", connect, connect)
    ends("invalid JSON", connect, ['42/smcp,1["x",{]'])

    live("ignores an unsolicited acknowledgement", function* ({ client }) {
      client.send("43/smcp,99[{}]")
      client.send('42/smcp,1["x",{}]')
      assert.strictEqual(yield* client.next, "3/smcp,1[{}]")
    })

    live("forwards no reply that splits into several packets over polling", function* ({ client, far, link, url }) {
      const agent = yield* openMemberSocket(url, "polling")
      const received: Array<string> = []
      agent.onAny((event: string) => void received.push(event))
      const near = yield* link
      const pending = yield* begin(far)
      const id = idOf(yield* client.next)
      const forged = `{"a":"${"x".repeat(20_000)}\u001e42/smcp,[\\"forged\\",{}]\u001e"}`
      client.send(`43/smcp,${id}[${forged}]`)
      yield* client.closed
      assert.isTrue(Exit.isFailure(yield* Fiber.await(pending)))
      yield* near.notify("after", jsonBody({}))
      yield* Effect.callback<void>((resume) => void agent.once("after", () => resume(Effect.void)))
      assert.deepStrictEqual(received, ["after"])
    })

    live("forwards large bodies over both transports", function* ({ client, far, link, url }) {
      const text = JSON.stringify({ text: "å".repeat(100_000) })
      const pending = yield* begin(far)
      client.send(`43/smcp,${idOf(yield* client.next)}[${text}]`)
      const [body] = yield* Fiber.join(pending)
      if (body === undefined) return assert.fail("no answer")
      for (const transport of ["polling", "websocket"] as const) {
        const member = yield* openMemberSocket(url, transport)
        const got = Effect.callback<unknown>(
          (resume) => void member.once("big", (value) => resume(Effect.succeed(value)))
        )
        yield* (yield* link).notify("big", body)
        assert.deepStrictEqual(yield* got, JSON.parse(text))
      }
    })

    it.live("closes without waiting for a connection whose upgrade it rejected", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { url } = yield* Scope.provide(site, scope)
        const { hostname, port } = new URL(url)
        const client = yield* Effect.acquireRelease(
          Effect.sync(() => connectTcp({ host: hostname, port: Number(port), allowHalfOpen: true })),
          (socket) => Effect.sync(() => socket.destroy())
        )
        client.on("error", () => undefined)
        client.write(
          "GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
        )
        client.resume()
        yield* Effect.callback<void>((resume) => void client.once("end", () => resume(Effect.void)))
        yield* Scope.close(scope, Exit.void)
      })
    )
  })
}
