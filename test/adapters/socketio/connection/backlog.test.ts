import { connect as connectTcp, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue, type Scope } from "effect"
import { WebSocket } from "ws"
import { RawBody } from "../../../../src/adapters/bytes/RawBody.ts"
import { engines } from "../engines.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { type Link, type MessageHandler } from "../../../../src/application/ports/Transport.ts"
import { liveHeap } from "../../../heap.ts"
import { until } from "../../../until.ts"
import { serveLinks } from "../links.ts"
import { liveWith } from "../../../testWith.ts"

const mebibyte = 1024 * 1024

for (const [engine, makeServer] of engines) {
  /** A Server that gives its ends of links, and the backlogs that the transport reports. */
  const site = Effect.fnUntraced(function* (onMessage: MessageHandler = () => Effect.succeed([])) {
    const links = yield* Queue.unbounded<Link>()
    const reported: Array<number> = []
    const { url } = yield* serveLinks(
      makeServer(),
      (link) => Effect.as(Queue.offer(links, link), onMessage),
      (link) => void reported.push(link.backlog())
    )
    return { url, link: Queue.take(links), reported }
  })
  const live = liveWith(site())

  const openWebSocket = Effect.fnUntraced(function* (address: string) {
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => new WebSocket(address)),
      (open) => Effect.sync(() => open.terminate())
    )
    yield* Effect.callback<void>((resume) => void socket.once("open", () => resume(Effect.void)))
    return socket
  })

  const webSocket = Effect.fnUntraced(function* (url: string) {
    const socket = yield* openWebSocket(
      `${url.replace("http", "ws")}/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0`
    )
    socket.send("40/smcp,")
    return socket
  })

  /** A polling session after its first poll. `poll` polls on a separate connection that it does not read. */
  const pollingSession = Effect.fnUntraced(function* (url: string) {
    const start = `${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`
    const opened = yield* Effect.promise(async () => (await fetch(start)).text())
    const { sid } = JSON.parse(opened.slice(1)) as { readonly sid: string }
    const session = new URL(`${start}&sid=${sid}`)
    const post = (payload: string) =>
      Effect.promise(async () => (await fetch(session, { method: "POST", body: payload })).text())
    yield* post("40/smcp,")
    const admitted = yield* Effect.promise(() => fetch(session))
    assert.strictEqual(admitted.headers.get("content-type"), "text/plain; charset=UTF-8")
    yield* Effect.promise(() => admitted.text())
    const poll: Effect.Effect<Socket, never, Scope.Scope> = Effect.acquireRelease(
      Effect.sync(() => {
        const socket = connectTcp({ host: session.hostname, port: Number(session.port) })
        socket.pause()
        socket.write(`GET ${session.pathname}${session.search} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
        return socket
      }),
      (socket) => Effect.sync(() => socket.destroy())
    )
    return { poll, post, session }
  })

  /** A message that no buffer of the network can hold. */
  const large = jsonBody("x".repeat(12 * mebibyte))

  /** Bodies that exceed the buffers of the network, of every length that a transport treats differently. */
  const mixed = Array.from({ length: 60 }, (_, index) => {
    const length = [10, 20_000, 70_000, 400_000, mebibyte + index][index % 5] ?? 0
    return `{"index":${index},"text":"${"é你x".repeat(length / 6)}"}`
  })

  const sendMixed = (link: Link) =>
    Effect.forEach(mixed, (text) => link.notify("x", RawBody.unparsed(Buffer.from(`${text}]`))), { discard: true })

  /** Compares by parts: a difference of megabytes must not be printed. */
  const assertMixed = (messages: ReadonlyArray<string>) => {
    assert.strictEqual(messages.length, mixed.length)
    for (const [index, text] of mixed.entries())
      assert.isTrue(messages[index] === `42/smcp,["x",${text}]`, `message ${index}`)
  }

  describe(`the send backlog of a link, with ${engine}`, () => {
    live("reaches a WebSocket that reads late unchanged and in order", function* ({ link: nextLink, reported, url }) {
      const socket = yield* webSocket(url)
      const link = yield* nextLink
      const messages: Array<string> = []
      socket.on("message", (data: Buffer) => {
        if (data.toString("latin1", 0, 2) === "42") messages.push(data.toString())
      })
      socket.pause()
      yield* sendMixed(link)
      assert.isAbove(reported.at(-1) ?? 0, 8 * mebibyte)
      socket.resume()
      yield* until(() => messages.length === mixed.length)
      assertMixed(messages)
      yield* until(() => link.backlog() === 0)
    })

    live("reaches a client that polls late unchanged and in order", function* ({ link: nextLink, url }) {
      const { session } = yield* pollingSession(url)
      const link = yield* nextLink
      yield* sendMixed(link)
      const messages: Array<string> = []
      while (messages.length < mixed.length) {
        const payload = yield* Effect.promise(async () => (await fetch(session)).text())
        messages.push(...payload.split("\u001e").filter((text) => text.startsWith("42")))
      }
      assertMixed(messages)
      yield* until(() => link.backlog() === 0)
    })

    live("reaches a client that changes to a WebSocket unchanged and in order", function* ({ link: nextLink, url }) {
      const { session } = yield* pollingSession(url)
      const link = yield* nextLink
      yield* sendMixed(link)
      const socket = yield* openWebSocket(
        session.href.replace("http", "ws").replace("transport=polling", "transport=websocket")
      )
      const messages: Array<string> = []
      socket.on("message", (data: Buffer) => {
        const text = data.toString()
        if (text === "3probe") socket.send("5")
        else if (text.startsWith("42")) messages.push(text)
      })
      socket.send("2probe")
      yield* until(() => messages.length === mixed.length)
      assertMixed(messages)
      yield* until(() => link.backlog() === 0)
    })

    live("is reported when it grows, and when a WebSocket has sent it", function* ({ link: nextLink, reported, url }) {
      const socket = yield* webSocket(url)
      const link = yield* nextLink
      socket.pause()
      yield* link.notify("x", large)
      assert.isAbove(reported.at(-1) ?? 0, 12 * mebibyte)
      const before = link.sentBytes()
      socket.resume()
      yield* until(() => reported.at(-1) === 0)
      assert.strictEqual(link.backlog(), 0)
      assert.isAbove(link.sentBytes() - before, 4 * mebibyte)
    })

    live(
      "is reported when it grows, and when a client has polled and read it",
      function* ({ link: nextLink, reported, url }) {
        const { poll } = yield* pollingSession(url)
        const link = yield* nextLink
        yield* link.notify("x", large)
        assert.isAbove(reported.at(-1) ?? 0, 12 * mebibyte)
        const socket = yield* poll
        yield* until(() => link.sentBytes() > 0)
        assert.isAbove(link.backlog(), 12 * mebibyte)
        socket.resume()
        yield* until(() => reported.at(-1) === 0)
        assert.isAtLeast(link.sentBytes(), 12 * mebibyte)
      }
    )

    live("includes every response that a client has not read", function* ({ link: nextLink, url }) {
      const { poll } = yield* pollingSession(url)
      const link = yield* nextLink
      for (const _ of [1, 2, 3]) yield* link.notify("x", large)
      for (const polls of [1, 2, 3]) {
        const sent = link.sentBytes()
        yield* poll
        yield* until(() => link.sentBytes() > sent)
        assert.isAbove(link.backlog(), 36 * mebibyte, `after ${polls} polls`)
      }
    })

    live("counts bytes, not characters", function* ({ link: nextLink, url }) {
      yield* pollingSession(url)
      const link = yield* nextLink
      yield* link.notify("x", jsonBody("你".repeat(1000)))
      assert.isAtLeast(link.backlog(), 3000)
    })

    live("holds no more memory than its bytes", function* ({ link: nextLink, url }) {
      yield* pollingSession(url)
      const link = yield* nextLink
      const before = liveHeap()
      for (let sent = 0; sent < 500; sent += 1) {
        // A short message of a large read of the network.
        const read = Buffer.alloc(64 * 1024)
        read.write("{}]")
        yield* link.notify("x", RawBody.parsed(read.subarray(0, 3), {}))
      }
      assert.isBelow(liveHeap() - before, 4 * mebibyte)
    })

    live("is the memory of the responses that a client has not read", function* ({ link: nextLink, url }) {
      const { poll } = yield* pollingSession(url)
      const link = yield* nextLink
      const before = liveHeap()
      yield* link.notify("x", RawBody.unparsed(Buffer.from(`"${"x".repeat(12 * mebibyte)}"]`)))
      yield* poll
      yield* until(() => link.sentBytes() > 0)
      assert.isBelow(liveHeap() - before, 14 * mebibyte)
    })

    const stalledClients = {
      WebSocket: (url: string) =>
        Effect.map(webSocket(url), (socket) => {
          socket.pause()
          socket.send('42/smcp,["join"]')
          return Effect.void
        }),
      polling: (url: string) =>
        Effect.map(pollingSession(url), ({ poll, post }) => Effect.andThen(post('42/smcp,["join"]'), poll))
    }
    for (const way of ["WebSocket", "polling"] as const) {
      it.live(`is free at once when the link closes, though a handler takes its time, over ${way}`, () =>
        Effect.gen(function* () {
          const started = yield* Deferred.make<void>()
          const gate = yield* Deferred.make<void>()
          const handling = Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(gate))
          const { link: nextLink, url } = yield* site(() => Effect.as(Effect.uninterruptible(handling), []))
          const stall = yield* stalledClients[way](url)
          const link = yield* nextLink
          const before = liveHeap()
          yield* link.notify("x", RawBody.unparsed(Buffer.from(`"${"x".repeat(12 * mebibyte)}"]`)))
          yield* stall
          yield* Deferred.await(started)
          yield* until(() => link.sentBytes() > 0)
          // Other memory of this process may be freed meanwhile.
          assert.isAbove(liveHeap() - before, 8 * mebibyte)
          const closing = yield* Effect.forkChild(link.close("test"))
          yield* until(() => liveHeap() - before < 4 * mebibyte)
          assert.isUndefined(closing.pollUnsafe())
          yield* Deferred.succeed(gate, undefined)
          yield* Fiber.join(closing)
        })
      )
    }
  })
}
