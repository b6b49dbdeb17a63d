import { assert, describe, it } from "@effect/vitest"
import { makeNotificationPacket } from "../../../../src/adapters/socketio/connection/OutboundMessage.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"

const noQueue = { onDequeued: () => undefined }

describe("a notification for many members", () => {
  it("is that of its namespace, its event and its body after each earlier one", () => {
    const bodies = [jsonBody({ a: 1 }), jsonBody({ a: 2 })]
    const all = ["/smcp", "/other"].flatMap((namespace) =>
      ["x", "y"].flatMap((event) => bodies.map((body) => ({ namespace, event, body })))
    )
    for (const before of all) {
      for (const { body, event, namespace } of all) {
        makeNotificationPacket(before.namespace, before.event, before.body, noQueue)
        const packet = makeNotificationPacket(namespace, event, body, noQueue)
        const expected = `2${namespace},["${event}",{"a":${bodies.indexOf(body) + 1}}]`
        assert.strictEqual(packet.text(), expected)
        assert.strictEqual(Buffer.concat(packet.frame()).subarray(2).toString(), `4${expected}`)
      }
    }
  })

  it("tells each of its members when it has left the queue", () => {
    const left: Array<string> = []
    const body = jsonBody({ a: 1 })
    const packets = ["one", "two"].map((name) =>
      makeNotificationPacket("/smcp", "x", body, { onDequeued: () => void left.push(name) })
    )
    for (const { queue, size } of packets) queue.onDequeued(size)
    assert.deepStrictEqual(left, ["one", "two"])
  })
})
