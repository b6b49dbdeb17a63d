import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { openProxy, type Proxy } from "./Proxy.ts"

/** An echo server behind a proxy, and connections to it. */
const openEcho = Effect.gen(function* () {
  const far = new Set<Socket>()
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createServer((socket) => {
        far.add(socket)
        socket.on("error", () => undefined).on("close", () => far.delete(socket))
        socket.pipe(socket)
      }).listen(0, "127.0.0.1")
    ),
    (one) =>
      Effect.sync(() => {
        one.close()
        for (const socket of far) socket.destroy()
      })
  )
  yield* Effect.promise(() => once(server, "listening"))
  const { port } = server.address() as AddressInfo
  const proxy = yield* openProxy({ target: () => port })
  const dial = Effect.gen(function* () {
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => connect(proxy.port, "127.0.0.1").on("error", () => undefined)),
      (one) => Effect.sync(() => one.destroy())
    )
    const received = { text: "" }
    socket.setEncoding("utf8").on("data", (text: string) => {
      received.text += text
    })
    const closed = Effect.promise(() => new Promise<void>((resolve) => socket.once("close", () => resolve())))
    const receives = (text: string) =>
      Effect.promise(async () => {
        while (received.text !== text) await once(socket, "data")
      })
    return { socket, received, closed, receives }
  })
  return { proxy, dial, farEnds: () => far.size }
})

/** Time in which data would arrive, if there were any. */
const moment = Effect.sleep("50 millis")

describe("Proxy", () => {
  it.live("relays data in order, and closes when either end closes", () =>
    Effect.gen(function* () {
      const { dial } = yield* openEcho
      const { closed, receives, socket } = yield* dial
      const words = Array.from({ length: 1000 }, (_, index) => `${index} `.repeat(200))
      for (const word of words) socket.write(word)
      yield* receives(words.join(""))
      socket.end()
      yield* closed
    })
  )

  it.live("resets connections when it is cut, and refuses new ones until it is healed", () =>
    Effect.gen(function* () {
      const { dial, proxy } = yield* openEcho
      const first = yield* dial
      first.socket.write("a")
      yield* first.receives("a")
      yield* proxy.cut
      yield* first.closed
      yield* (yield* dial).closed
      yield* proxy.heal
      const second = yield* dial
      second.socket.write("b")
      yield* second.receives("b")
    })
  )

  it.live("holds back data and new connections, and loses nothing", () =>
    Effect.gen(function* () {
      const { dial, proxy } = yield* openEcho
      const first = yield* dial
      first.socket.write("a")
      yield* first.receives("a")
      yield* proxy.hold
      const second = yield* dial
      first.socket.write("b")
      second.socket.write("c")
      yield* moment
      assert.deepStrictEqual([first.received.text, second.received.text], ["a", ""])
      yield* proxy.heal
      yield* first.receives("ab")
      yield* second.receives("c")
    })
  )

  it.live("delays data, in order", () =>
    Effect.gen(function* () {
      const { dial, proxy } = yield* openEcho
      const { receives, socket } = yield* dial
      yield* proxy.slow(50)
      const before = performance.now()
      socket.write("a")
      yield* receives("a")
      assert.isAtLeast(performance.now() - before, 99)
      socket.write("b")
      yield* proxy.heal
      socket.write("c")
      yield* receives("abc")
    })
  )

  it.live("limits the bandwidth, in order", () =>
    Effect.gen(function* () {
      const { dial, proxy } = yield* openEcho
      const { receives, socket } = yield* dial
      yield* proxy.narrow(200_000)
      const text = Array.from({ length: 4000 }, (_, index) => `${index} `.padStart(10)).join("")
      const before = performance.now()
      socket.write(text)
      yield* receives(text)
      assert.isAtLeast(performance.now() - before, 200)
      yield* proxy.heal
      socket.write(text)
      yield* receives(text + text)
    })
  )

  const silenced: ReadonlyArray<readonly [string, (proxy: Proxy) => Effect.Effect<void>, near: "open" | "closed"]> = [
    ["half-open, closes one end only", ({ halfOpen }) => halfOpen, "closed"],
    ["silent, closes neither end", ({ silence }) => silence, "open"]
  ]
  for (const [title, disturb, near] of silenced) {
    it.live(`relays nothing when ${title}, and accepts new connections`, () =>
      Effect.gen(function* () {
        const { dial, farEnds, proxy } = yield* openEcho
        const first = yield* dial
        first.socket.write("a")
        yield* first.receives("a")
        yield* disturb(proxy)
        if (near === "closed") yield* first.closed
        else first.socket.write("b")
        const second = yield* dial
        second.socket.write("c")
        yield* second.receives("c")
        yield* moment
        assert.strictEqual(first.received.text, "a")
        assert.strictEqual(farEnds(), 2)
      })
    )
  }
})
