import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Duration } from "effect"
import { makeTransportChoice } from "../../../../src/adapters/socketio/client/transportChoice.ts"

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }))
afterEach(() => void vi.useRealTimers())

const minutes = (count: number) => count * 60_000
const timeout = Duration.seconds(20)

const polling = { transports: ["polling", "websocket"], upgrade: true }
const webSocket = { transports: ["websocket", "polling"], upgrade: true, fallbackAfter: Duration.seconds(5) }

/** A client that was connected over WebSocket. */
const connected = () => {
  const choice = makeTransportChoice()
  choice.onConnected("websocket")
  return choice
}

describe("makeTransportChoice", () => {
  it("begins with polling, and with WebSocket after a connection over it", () => {
    const choice = makeTransportChoice()
    assert.deepStrictEqual<unknown>(choice.next(timeout), polling)
    choice.onConnected("websocket")
    assert.deepStrictEqual<unknown>(choice.next(timeout), webSocket)
    choice.onConnected("polling")
    assert.deepStrictEqual<unknown>(choice.next(timeout), polling)
  })

  it("begins with polling after a WebSocket without an answer", () => {
    const choice = connected()
    choice.onUnanswered()
    assert.deepStrictEqual<unknown>(choice.next(timeout), polling)
  })

  it("leaves half of a short connect timeout to polling", () => {
    const { fallbackAfter } = connected().next(Duration.seconds(4))
    assert.deepStrictEqual(fallbackAfter, Duration.seconds(2))
  })

  it("gives no WebSocket for an hour after two that stalled soon", () => {
    const choice = connected()
    choice.onClosed("websocket", "keepalive_timeout", minutes(1))
    assert.deepStrictEqual<unknown>(choice.next(timeout), polling)
    choice.onClosed("websocket", "join_timeout", minutes(1))
    assert.deepStrictEqual<unknown>(choice.next(timeout), { ...polling, upgrade: false })
    vi.setSystemTime(Date.now() + minutes(60) - 1)
    assert.isFalse(choice.next(timeout).upgrade)
    vi.setSystemTime(Date.now() + 1)
    assert.isTrue(choice.next(timeout).upgrade)
  })

  it.each([
    ["stalled after ten minutes each", "websocket", "keepalive_timeout", minutes(10)],
    ["the Server closed", "websocket", "server_disconnect", 0],
    ["used polling", "polling", "keepalive_timeout", 0]
  ])("gives WebSocket after two connections that %s", (_, transport, reason, lasted) => {
    const choice = connected()
    choice.onClosed(transport, reason, lasted)
    choice.onClosed(transport, reason, lasted)
    assert.isTrue(choice.next(timeout).upgrade)
  })

  it("follows the options", () => {
    const choice = makeTransportChoice(["websocket"])
    choice.onUnanswered()
    assert.deepStrictEqual<unknown>(choice.next(timeout), { transports: ["websocket"], upgrade: true })
  })
})
