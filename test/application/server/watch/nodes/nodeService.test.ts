import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import { jsonBody } from "../../../../../src/application/ports/Body.ts"
import {
  decodeNodeReply,
  makeNodeService,
  type NodeRequest,
  nodeRequestCodec
} from "../../../../../src/application/server/watch/nodes/nodeService.ts"
import type { PageCallMessage } from "../../../../../src/domain/page/PageCommand.ts"
import { line, olga } from "../watchedServer.ts"

const call = { line, office: "O", computer: "pc", tool: "t", params: {}, timeout: 60 }

/** A service with a call that is opened, and whether it runs. Calls never end unless `messages` do. */
const open = Effect.fnUntraced(function* (messages: Stream.Stream<PageCallMessage> = Stream.never) {
  let isRunning = false
  const handle = yield* makeNodeService({
    open: Effect.never,
    execute: () => Effect.never,
    call: () =>
      Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => void (isRunning = true)),
          () => Effect.sync(() => void (isRunning = false))
        ),
        messages
      )
  })
  const send = Effect.fnUntraced(function* (request: NodeRequest) {
    const reply = yield* handle(jsonBody(nodeRequestCodec.encode(request)))
    return Result.merge(decodeNodeReply("two", [reply]))
  })
  const reply = yield* send({ _tag: "OpenCall", call, operator: olga })
  const { stream } = reply as { readonly stream: string }
  return { isRunning: () => isRunning, next: send({ _tag: "Next", stream }) }
})

describe("a stream for another node", () => {
  it.effect("ends when it is not read for half a minute", () =>
    Effect.gen(function* () {
      const { isRunning, next } = yield* open()
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(isRunning())
      yield* TestClock.adjust("1 second")
      assert.isFalse(isRunning())
      assert.deepInclude(yield* next, { code: 404 })
    })
  )

  it.effect("replies after ten seconds without a message", () =>
    Effect.gen(function* () {
      const { next } = yield* open()
      const reading = yield* Effect.forkChild(next, { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(reading.pollUnsafe(), Exit.succeed({ messages: [], isLast: false }))
    })
  )

  it.effect("ends with its last message", () =>
    Effect.gen(function* () {
      const started: PageCallMessage = { _tag: "Started", as: "agent", name: "olga" }
      const { isRunning, next } = yield* open(Stream.make(started))
      assert.deepStrictEqual(yield* next, { messages: [started], isLast: false })
      assert.isTrue(isRunning())
      assert.deepStrictEqual(yield* next, { messages: [], isLast: true })
      assert.isFalse(isRunning())
    })
  )

  it.effect("lasts while it is read, and ends half a minute later", () =>
    Effect.gen(function* () {
      const { isRunning, next } = yield* open()
      for (let count = 0; count < 5; count++) {
        yield* TestClock.adjust("20 seconds")
        yield* Effect.forkScoped(next)
        yield* TestClock.adjust(0)
      }
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(isRunning())
      yield* TestClock.adjust("1 second")
      assert.isFalse(isRunning())
    })
  )
})

describe("an operator at another node", () => {
  it.each([[{ ...olga.identity, isShared: true, expiresAt: 1000 }], [olga.identity]])(
    "has the identity that its node has authenticated, with its end: %j",
    (identity) => {
      const request: NodeRequest = { _tag: "OpenCall", call, operator: { ...olga, identity } }
      const received: unknown = JSON.parse(JSON.stringify(nodeRequestCodec.encode(request)))
      assert.deepStrictEqual(Result.getOrThrow(nodeRequestCodec.decode(received)), request)
    }
  )
})
