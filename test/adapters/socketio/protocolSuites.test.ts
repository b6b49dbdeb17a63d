import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, type Scope } from "effect"
import { WebSocket } from "ws"
import { engines } from "./engines.ts"
import { echoMessage, serveLinks } from "./links.ts"

// One case for each of the public test suites of Engine.IO 4 and Socket.IO 5 (socketio/socket.io, docs). A Server has one
// namespace, and its members send no binary data: their cases say what happens to other clients.

const pingInterval = 300
const pingTimeout = 200

interface Response {
  readonly status: number
  readonly text: string
}

for (const [engine, makeServer] of engines) {
  const open = Effect.gen(function* () {
    const layer = makeServer({ pingInterval, pingTimeout })
    const { url } = yield* serveLinks(layer, () => Effect.succeed(echoMessage))
    return `${url}/smcp/?a2c_version=0.2.0`
  })

  /** Sends a request for polling; a connection that breaks has status 0. */
  const send = (address: string, method = "GET", body?: string, signal?: AbortSignal) =>
    Effect.promise(async (): Promise<Response> => {
      const request = { method, ...(body !== undefined && { body }), ...(signal !== undefined && { signal }) }
      const response = await fetch(address, request).catch(() => undefined)
      return { status: response?.status ?? 0, text: (await response?.text().catch(() => "")) ?? "" }
    })

  /** The address of a new session over polling. */
  const pollingSession = Effect.fnUntraced(function* (address: string) {
    const { text } = yield* send(`${address}&EIO=4&transport=polling`)
    const { sid } = JSON.parse(text.slice(1)) as { readonly sid: string }
    return `${address}&EIO=4&transport=polling&sid=${sid}`
  })

  interface Client {
    readonly send: (data: string | Buffer) => void
    /** The next message. */
    readonly next: Effect.Effect<string>
    readonly closed: Effect.Effect<void>
  }

  const webSocket = Effect.fnUntraced(function* (
    address: string,
    query = "&EIO=4&transport=websocket"
  ): Effect.fn.Return<Client, never, Scope.Scope> {
    const received = yield* Queue.unbounded<string>()
    const closed = yield* Deferred.make<void>()
    const isOpen = yield* Deferred.make<void>()
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => new WebSocket(`${address.replace("http", "ws")}${query}`)),
      (one) => Effect.sync(() => one.terminate())
    )
    socket.on("error", () => undefined)
    socket.on("message", (data: Buffer) => Queue.offerUnsafe(received, data.toString()))
    socket.on("open", () => Deferred.doneUnsafe(isOpen, Exit.void))
    socket.on("close", () => Deferred.doneUnsafe(closed, Exit.void))
    yield* Effect.race(Deferred.await(isOpen), Deferred.await(closed))
    return { send: (data) => socket.send(data), next: Queue.take(received), closed: Deferred.await(closed) }
  })

  const webSocketOf = (session: string) => webSocket(session.replace("transport=polling", "transport=websocket"), "")

  /** A WebSocket after the handshake of Engine.IO. */
  const handshaken = Effect.fnUntraced(function* (address: string) {
    const client = yield* webSocket(address)
    yield* client.next
    return client
  })

  /** A WebSocket of a member. */
  const member = Effect.fnUntraced(function* (address: string) {
    const client = yield* handshaken(address)
    client.send("40/smcp,")
    yield* client.next
    return client
  })

  /** The next message that is no ping. */
  const message = (client: Client): Effect.Effect<string> =>
    Effect.flatMap(client.next, (data) => (data === "2" ? message(client) : Effect.succeed(data)))

  type Case = (address: string) => Effect.fn.Return<void, unknown, Scope.Scope>
  const live = (title: string, body: Case) => it.live(title, () => Effect.flatMap(open, Effect.fnUntraced(body)))

  const assertHandshake = (packet: string, upgrades: ReadonlyArray<string>) => {
    assert.strictEqual(packet[0], "0")
    const { sid, ...rest } = JSON.parse(packet.slice(1)) as { readonly sid: unknown }
    assert.isString(sid)
    assert.deepStrictEqual(rest, { upgrades, pingInterval, pingTimeout, maxPayload: 16 * 1024 * 1024 } as object)
  }

  describe(`the protocol of Engine.IO, with ${engine}`, () => {
    live("opens a session over polling", function* (address) {
      const { status, text } = yield* send(`${address}&EIO=4&transport=polling`)
      assert.strictEqual(status, 200)
      assertHandshake(text, ["websocket"])
    })

    live("opens a session over WebSocket", function* (address) {
      const client = yield* webSocket(address)
      assertHandshake(yield* client.next, [])
    })

    for (const [title, query] of [
      ["no revision", "&transport=polling"],
      ["an unknown revision", "&EIO=abc&transport=polling"],
      ["no transport", "&EIO=4"],
      ["an unknown transport", "&EIO=4&transport=abc"]
    ] as const) {
      live(`rejects a request with ${title}`, function* (address) {
        assert.strictEqual((yield* send(`${address}${query}`)).status, 400)
      })

      live(`rejects a WebSocket with ${title}`, function* (address) {
        const client = yield* webSocket(address, query.replace("polling", "websocket"))
        yield* client.closed
      })
    }

    for (const method of ["POST", "PUT"]) {
      live(`rejects a session that begins with ${method}`, function* (address) {
        assert.strictEqual((yield* send(`${address}&EIO=4&transport=polling`, method)).status, 400)
      })
    }

    live("takes a payload of one packet", function* (address) {
      const session = yield* pollingSession(address)
      assert.deepStrictEqual(yield* send(session, "POST", "40/smcp,"), { status: 200, text: "ok" })
      assert.match((yield* send(session)).text, /^40\/smcp,\{"sid":"[^"]+"\}$/)
    })

    live("takes and gives payloads of several packets", function* (address) {
      const session = yield* pollingSession(address)
      yield* send(session, "POST", "40/smcp,")
      yield* send(session)
      const events = [1, 2, 3].map((id) => `42/smcp,${id}["x",${id}]`)
      assert.strictEqual((yield* send(session, "POST", events.join("\u001e"))).text, "ok")
      const replies: Array<string> = []
      while (replies.length < 3) replies.push(...(yield* send(session)).text.split("\u001e"))
      assert.deepStrictEqual(
        replies.filter((reply) => reply !== "2"),
        [1, 2, 3].map((id) => `43/smcp,${id}[${id}]`)
      )
    })

    live("closes a session that sends binary data without an announcement", function* (address) {
      const session = yield* pollingSession(address)
      yield* send(session, "POST", "40/smcp,\u001ebAQIDBA==")
      assert.strictEqual((yield* send(session)).status, 400)
    })

    live("closes a WebSocket that sends binary data without an announcement", function* (address) {
      const client = yield* handshaken(address)
      client.send(Buffer.from([1, 2, 3, 4]))
      yield* client.closed
    })

    live("closes a session after an invalid packet", function* (address) {
      const session = yield* pollingSession(address)
      yield* send(session, "POST", "abc")
      assert.strictEqual((yield* send(session)).status, 400)
    })

    live("closes a WebSocket after an invalid packet", function* (address) {
      const client = yield* handshaken(address)
      client.send("abc")
      yield* client.closed
    })

    live("closes a session with two polls at once", function* (address) {
      const session = yield* pollingSession(address)
      const both = yield* Effect.all([send(session), send(`${session}&t=2`)], { concurrency: 2 })
      assert.sameMembers(
        both.map(({ status }) => status),
        [200, 400]
      )
      assert.strictEqual(both.find(({ status }) => status === 200)?.text, "1")
      assert.strictEqual((yield* send(session)).status, 400)
    })

    live("closes a session whose poll was cancelled", function* (address) {
      const session = yield* pollingSession(address)
      const controller = new AbortController()
      const poll = yield* Effect.forkChild(send(session, "GET", undefined, controller.signal), {
        startImmediately: true
      })
      yield* Effect.sleep("20 millis")
      controller.abort()
      yield* Fiber.await(poll)
      const isClosed = Effect.map(send(session, "POST", "3"), ({ status }) => status === 400)
      yield* Effect.repeat(isClosed, { until: (closed) => closed })
    })

    live("sends pings over polling", function* (address) {
      const session = yield* pollingSession(address)
      for (const _ of [1, 2, 3]) {
        assert.deepStrictEqual(yield* send(session), { status: 200, text: "2" })
        assert.strictEqual((yield* send(session, "POST", "3")).status, 200)
      }
    })

    live("sends pings over WebSocket", function* (address) {
      const client = yield* handshaken(address)
      for (const _ of [1, 2, 3]) {
        assert.strictEqual(yield* client.next, "2")
        client.send("3")
      }
    })

    live("closes a session over polling without pongs", function* (address) {
      const session = yield* pollingSession(address)
      yield* Effect.sleep(2 * (pingInterval + pingTimeout))
      assert.strictEqual((yield* send(session)).status, 400)
    })

    live("closes a WebSocket without pongs", function* (address) {
      const client = yield* webSocket(address)
      yield* client.closed
    })

    live("ends the poll of a session that the client closes", function* (address) {
      const session = yield* pollingSession(address)
      const poll = yield* Effect.forkChild(send(session), { startImmediately: true })
      yield* Effect.sleep("20 millis")
      assert.strictEqual((yield* send(session, "POST", "1")).status, 200)
      assert.deepStrictEqual(yield* Fiber.join(poll), { status: 200, text: "6" })
      assert.strictEqual((yield* send(session)).status, 400)
    })

    live("closes a WebSocket at the request of the client", function* (address) {
      const client = yield* handshaken(address)
      client.send("1")
      yield* client.closed
    })

    const upgraded = Effect.fnUntraced(function* (address: string) {
      const session = yield* pollingSession(address)
      const client = yield* webSocketOf(session)
      client.send("2probe")
      assert.strictEqual(yield* client.next, "3probe")
      return { session, client }
    })

    live("upgrades a session to WebSocket, and ends its poll", function* (address) {
      const { client, session } = yield* upgraded(address)
      assert.deepStrictEqual(yield* send(session), { status: 200, text: "6" })
      client.send("5")
      client.send("40/smcp,")
      assert.match(yield* message(client), /^40\/smcp,/)
    })

    live("rejects polls after an upgrade", function* (address) {
      const { client, session } = yield* upgraded(address)
      client.send("5")
      client.send("40/smcp,")
      yield* message(client)
      assert.strictEqual((yield* send(session)).status, 400)
      client.send('42/smcp,1["x",1]')
      assert.strictEqual(yield* message(client), "43/smcp,1[1]")
    })

    live("rejects a second WebSocket after an upgrade", function* (address) {
      const { client, session } = yield* upgraded(address)
      client.send("5")
      client.send("40/smcp,")
      yield* message(client)
      const second = yield* webSocketOf(session)
      yield* second.closed
      client.send('42/smcp,1["x",1]')
      assert.strictEqual(yield* message(client), "43/smcp,1[1]")
    })
  })

  describe(`the protocol of Socket.IO, with ${engine}`, () => {
    for (const [title, packet] of [
      ["without", "40/smcp,"],
      ["with", '40/smcp,{"token":"abc"}']
    ] as const) {
      live(`opens the namespace ${title} credentials`, function* (address) {
        const client = yield* handshaken(address)
        client.send(packet)
        assert.match(yield* client.next, /^40\/smcp,\{"sid":"[^"]+"\}$/)
      })
    }

    for (const [title, packet, prefix] of [
      ["the main namespace", "40", "44"],
      ["the main namespace with credentials", '40{"token":"123"}', "44"],
      ["an unknown namespace", "40/random", "44/random,"]
    ] as const) {
      live(`rejects ${title}`, function* (address) {
        const client = yield* handshaken(address)
        client.send(packet)
        assert.strictEqual(yield* client.next, `${prefix}{"message":"Invalid namespace"}`)
      })
    }

    live("keeps a connection whose member leaves the namespace", function* (address) {
      const client = yield* member(address)
      client.send("41/smcp,")
      assert.strictEqual(yield* client.next, "2")
      client.send("40/smcp,")
      assert.match(yield* message(client), /^40\/smcp,/)
    })

    live("acknowledges a packet with its id", function* (address) {
      const client = yield* member(address)
      client.send('42/smcp,456["x",{"3":[false]}]')
      assert.strictEqual(yield* message(client), '43/smcp,456[{"3":[false]}]')
    })

    live("answers a packet with attachments by an error", function* (address) {
      const client = yield* member(address)
      client.send('452-/smcp,789["x",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]')
      client.send(Buffer.from([1, 2, 3]))
      client.send(Buffer.from([4, 5, 6]))
      assert.match(yield* message(client), /^43\/smcp,789\[/)
    })

    for (const [title, packet] of [
      ["of an unknown type", "4abc"],
      ["with an invalid payload", "42/smcp,{}"],
      ["with an invalid id", '42/smcp,abc["x",1]']
    ] as const) {
      live(`closes a connection after a packet ${title}`, function* (address) {
        const client = yield* member(address)
        client.send(packet)
        yield* client.closed
      })
    }
  })
}
