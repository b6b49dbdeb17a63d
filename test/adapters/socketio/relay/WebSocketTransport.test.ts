import type { Socket } from "node:net"
import { Duplex } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { WebSocketTransport } from "../../../../src/adapters/socketio/relay/WebSocketTransport.ts"

/** A network that takes bytes at once, or on demand. */
class FakeNetwork extends Duplex {
  takesAtOnce = true
  readonly bytesRead = 0
  #onTaken: (() => void) | undefined

  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  release(): void {
    this.#onTaken?.()
  }

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: BufferEncoding, onTaken: () => void): void {
    if (this.takesAtOnce) onTaken()
    else this.#onTaken = onTaken
  }
}

const response = Buffer.from("HTTP/1.1 101 Switching Protocols\r\n\r\n")

const openTransport = () => {
  const network = new FakeNetwork()
  const reported: Array<number> = []
  const listener = {
    isAdmitted: true,
    onBacklogChange: () => void reported.push(transport.bufferedBytes()),
    onBinary: () => undefined,
    onBytesReceived: () => undefined,
    onControlFrame: () => undefined,
    onPacket: () => undefined,
    onTransportClosed: () => undefined
  }
  // It uses no more of a socket.
  const transport: WebSocketTransport = new WebSocketTransport(network as unknown as Socket, response, listener, 1e6)
  return { network, reported, transport }
}

/** A packet that is written at once: it exceeds the bytes that wait for the end of the turn. */
const long = "x".repeat(70_000)
const longFrame = long.length + 10

describe("the backlog of a WebSocket", () => {
  it("does not change by bytes that the network takes at once", async () => {
    const { reported, transport } = openTransport()
    transport.sendPacket("2")
    await setImmediate()
    assert.deepStrictEqual(reported, [])
    assert.strictEqual(transport.sentBytes(), response.length + 3)
  })

  it("is the bytes that wait, though the network took others at once in the same turn", async () => {
    const { network, reported, transport } = openTransport()
    transport.sendPacket(long)
    network.takesAtOnce = false
    transport.sendPacket(long)
    await setImmediate()
    assert.strictEqual(transport.sentBytes(), response.length + longFrame)
    assert.deepStrictEqual(reported, [longFrame])
    network.release()
    await setImmediate()
    assert.strictEqual(transport.sentBytes(), response.length + 2 * longFrame)
    assert.deepStrictEqual(reported, [longFrame, 0])
  })
})
