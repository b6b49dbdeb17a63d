import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import { TestClock } from "effect/testing"
import { decodeHead, jsonBody } from "../../../../../src/application/ports/Body.ts"
import { encodeNodeReply, nodeRequestCodec } from "../../../../../src/application/server/watch/nodes/NodeRequest.ts"
import { makeOtherNodes } from "../../../../../src/application/server/watch/nodes/otherNodes.ts"
import { makeStreamBuffer, maxQueuedEvents } from "../../../../../src/application/shared/page/StreamBuffer.ts"
import type { PageEvent } from "../../../../../src/domain/page/PageEvent.ts"
import { makeParts } from "../../parts.ts"

const snapshot = { stream: "s", members: [], calls: [], nodes: [] }

/** A stream that follows another node, whose every batch has omitted two calls and dropped three events. */
const following = Effect.gen(function* () {
  const requests: Array<string> = []
  const { connections, context, notifications } = yield* makeParts({}, ({ nodeLink, registry }) => ({
    registry: { ...registry, state: () => ({ ...registry.state(), nodes: [registry.node, "two"] }) },
    nodeLink: {
      ...nodeLink,
      startRequest: (_node, _to, _event, body, _timeout, onReply) => {
        const { _tag } = Result.getOrThrow(decodeHead(body, nodeRequestCodec.decode))
        requests.push(_tag)
        const messages = [{ _tag: "Batch", at: 0, events: [], omittedCalls: 2, droppedEvents: 3 }]
        const reply = _tag === "OpenPage" ? snapshot : { messages, isLast: false }
        queueMicrotask(() => onReply(Exit.succeed([jsonBody(encodeNodeReply(reply))])))
        return () => undefined
      }
    }
  }))
  const nodes = { serveOperators: () => Effect.void, startRequest: () => () => undefined }
  const acceptConnection = () => Effect.die("no connection")
  const others = makeOtherNodes({ connections, context, notifications, nodes, acceptConnection })
  const buffer = makeStreamBuffer([])
  yield* others.follow(buffer)
  return { buffer, reads: () => requests.filter((tag) => tag === "Next").length }
})

describe("a stream that follows another node", () => {
  it.effect("counts what the other node has omitted and dropped", () =>
    Effect.gen(function* () {
      const { buffer, reads } = yield* following
      while (reads() < 1) yield* TestClock.adjust("10 millis")
      yield* TestClock.adjust(0)
      const { droppedEvents, omittedCalls } = buffer.take(0)
      assert.deepStrictEqual({ omittedCalls, droppedEvents }, { omittedCalls: 2, droppedEvents: 3 })
    })
  )

  it.effect("reads the other node only while its own reader takes the events", () =>
    Effect.gen(function* () {
      const { buffer, reads } = yield* following
      const event: PageEvent = { _tag: "NodeLost", node: "three", at: 0 }
      for (let count = 0; count < maxQueuedEvents; count++) buffer.addEvent(event)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(reads(), 0)
      buffer.take(0)
      yield* TestClock.adjust("5 seconds")
      assert.isAbove(reads(), 1)
    })
  )
})
