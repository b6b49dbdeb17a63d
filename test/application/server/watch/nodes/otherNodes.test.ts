import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import { decodeHead, jsonBody } from "../../../../../src/application/ports/Body.ts"
import { type NodeRequest, nodeRequestCodec } from "../../../../../src/application/server/watch/nodes/nodeService.ts"
import { makeOtherNodes } from "../../../../../src/application/server/watch/nodes/otherNodes.ts"
import { makeStreamBuffer, maxQueuedEvents } from "../../../../../src/application/shared/page/StreamBuffer.ts"
import type { PageCallMessage } from "../../../../../src/domain/page/PageCommand.ts"
import type { PageEvent } from "../../../../../src/domain/page/PageEvent.ts"
import { settle } from "../../../../settle.ts"
import { makeParts } from "../../parts.ts"
import { olga } from "../watchedServer.ts"

const snapshot = { stream: "s", at: 0, events: [], omittedMembers: 0, omittedCalls: 0, droppedEvents: 0 }

/** The other nodes of a Server: `two`, which gives these replies. */
const otherNodes = (replyTo: (request: NodeRequest) => unknown) =>
  Effect.gen(function* () {
    const requests: Array<NodeRequest["_tag"]> = []
    const parts = yield* makeParts({}, ({ nodeLink, registry }) => ({
      registry: { ...registry, state: () => ({ ...registry.state(), nodes: [registry.node, "two"] }) },
      nodeLink: {
        ...nodeLink,
        startRequest: (_node, _to, _event, body, _timeout, onReply) => {
          const request = Result.getOrThrow(decodeHead(body, nodeRequestCodec.decode))
          requests.push(request._tag)
          queueMicrotask(() => onReply(Exit.succeed([jsonBody(replyTo(request))])))
          return () => undefined
        }
      }
    }))
    const nodes = { serveOperators: () => Effect.void, startRequest: () => () => undefined }
    const acceptConnection = () => Effect.die("no connection")
    return { requests, others: makeOtherNodes({ ...parts, servedLines: [], nodes, acceptConnection }) }
  })

/** A stream that follows another node, whose every batch has omitted two calls and dropped three events. */
const following = Effect.gen(function* () {
  const messages = [{ at: 0, events: [], omittedCalls: 2, droppedEvents: 3 }]
  const { others, requests } = yield* otherNodes(({ _tag }) => ({
    value: _tag === "OpenPage" ? snapshot : { messages, isLast: false }
  }))
  const buffer = makeStreamBuffer([])
  yield* others.follow(buffer)
  return { buffer, reads: () => requests.filter((tag) => tag === "Next").length }
})

const call = { line: "0.2", office: "O", computer: "pc", tool: "t", params: {}, timeout: 1 }

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

describe("the office that a stream watches", () => {
  it.effect("is the last one that its operator has chosen", () =>
    Effect.gen(function* () {
      const focused: Array<string> = []
      const { others, requests } = yield* otherNodes((request) => {
        if (request._tag === "Execute" && request.command._tag === "Focus") focused.push(request.command.office)
        return { value: request._tag === "OpenPage" ? snapshot : { messages: [], isLast: false } }
      })
      const { focus } = yield* others.follow(makeStreamBuffer([]))
      while (!requests.includes("Next")) yield* TestClock.adjust("10 millis")
      for (const office of ["O", "P"]) yield* focus({ line: "0.2", office }, olga)
      assert.deepStrictEqual(focused, ["O", "P"])
    })
  )
})

describe("a call at another node", () => {
  it.effect("ends with the error of that node, and is closed there", () =>
    Effect.gen(function* () {
      const { others, requests } = yield* otherNodes(({ _tag }) =>
        _tag === "Next" ? { error: { code: 404, message: "The stream has ended" } } : { value: { stream: "s" } }
      )
      const messages = yield* Effect.scoped(Effect.flatMap(others.call(call, olga, { node: "two" }), Stream.runCollect))
      assert.deepStrictEqual(messages, [{ _tag: "Failed", error: { code: 404, message: "The stream has ended" } }])
      yield* settle
      assert.deepStrictEqual(requests, ["OpenCall", "Next", "Close"])
    })
  )

  it.effect("has all messages up to those of the last reply", () =>
    Effect.gen(function* () {
      const started: PageCallMessage = { _tag: "Started", as: "agent", name: "operator:olga" }
      const result: PageCallMessage = { _tag: "Result", result: { content: [] } }
      const replies = [
        { messages: [started], isLast: false },
        { messages: [], isLast: false },
        { messages: [result], isLast: true }
      ]
      const { others } = yield* otherNodes(({ _tag }) => ({
        value: (_tag === "Next" ? replies.shift() : undefined) ?? { stream: "s" }
      }))
      const messages = yield* Effect.flatMap(others.call(call, olga, { node: "two" }), Stream.runCollect)
      assert.deepStrictEqual(messages, [started, result])
    })
  )
})
