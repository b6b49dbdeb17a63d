import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { endedCallsRetention } from "../../../../src/application/server/watch/OfficeWatch.ts"
import { maxStreams } from "../../../../src/application/shared/page/openPageStream.ts"
import { settle } from "../../../settle.ts"
import {
  elapse,
  makeCall,
  olga,
  openStream,
  outcomesOf,
  startCall,
  startOffice,
  startWatched,
  toolResult,
  type Watched
} from "./watchedServer.ts"
import { maxCallsPerBatch, maxQueuedEvents } from "../../../../src/application/shared/page/StreamBuffer.ts"
import { effectWith } from "../../../testWith.ts"
import { partsOf } from "../../../page/scripted/snapshotParts.ts"

/** A Server whose only stream has shown a call and is closed. */
const closedStream = Effect.gen(function* () {
  const server = yield* startOffice()
  const scope = yield* Scope.make()
  yield* Scope.provide(server.watch.open, scope)
  yield* makeCall(server.ada)
  yield* Scope.close(scope, Exit.void)
  return {
    ...server,
    snapshotCalls: Effect.map(server.watch.open, ({ snapshot }) => outcomesOf(partsOf(snapshot).calls))
  }
})

const test = effectWith(startWatched())
const testOffice = effectWith(startOffice())
const testRunning = effectWith(startOffice(Effect.never))
const testAfterStream = effectWith(closedStream)

describe("an ended call", () => {
  testAfterStream("remains for a page that reloads", function* ({ snapshotCalls }) {
    yield* TestClock.adjust(Duration.subtract(endedCallsRetention, Duration.seconds(1)))
    assert.deepStrictEqual(yield* snapshotCalls, ["fs:list: ok"])
  })

  testAfterStream("disappears five minutes after the last page has closed", function* ({ snapshotCalls }) {
    yield* TestClock.adjust("5 minutes")
    assert.deepStrictEqual(yield* snapshotCalls, [])
  })

  testAfterStream("remains as long as another page is open", function* ({ snapshotCalls }) {
    assert.deepStrictEqual(yield* snapshotCalls, ["fs:list: ok"])
    yield* TestClock.adjust("10 minutes")
    assert.deepStrictEqual(yield* snapshotCalls, ["fs:list: ok"])
  })
})

/** Opens a stream that the returned effect closes. */
const openClosable = Effect.fnUntraced(function* (server: Watched) {
  const scope = yield* Scope.make()
  const stream = yield* Scope.provide(openStream(server), scope)
  return { stream, close: Scope.close(scope, Exit.void) }
})

describe("a stream beside others", () => {
  test("shows the node every second, also when another one closes", function* (server) {
    const { close } = yield* openClosable(server)
    const stream = yield* openStream(server)
    yield* TestClock.adjust("500 millis")
    yield* close
    yield* elapse("600 millis")
    yield* elapse("1 second")
    assert.strictEqual(stream.tagged("Node").length, 2)
  })

  test("shows the node every second, also when another one opens", function* (server) {
    const stream = yield* openStream(server)
    yield* TestClock.adjust("500 millis")
    yield* server.watch.open
    yield* elapse("600 millis")
    assert.strictEqual(stream.tagged("Node").length, 1)
  })

  testRunning("shows a running call once, although another one closes", function* (server) {
    const { close } = yield* openClosable(server)
    const stream = yield* openStream(server)
    yield* startCall(server.ada)
    yield* elapse()
    yield* close
    yield* elapse()
    assert.deepStrictEqual(outcomesOf(stream.tagged("Call").map(({ call }) => call)), ["fs:list: running"])
  })

  testOffice("shows ended calls that an earlier one, which is not read, has no space for", function* (server) {
    yield* server.watch.open
    for (let index = 0; index < maxCallsPerBatch; index += 1) yield* makeCall(server.ada)
    const stream = yield* openStream(server)
    yield* makeCall(server.ada)
    yield* elapse()
    assert.deepStrictEqual(outcomesOf(stream.tagged("Call").map(({ call }) => call)), ["fs:list: ok"])
  })
})

describe("a stream after others", () => {
  testAfterStream("counts no calls that ended before it", function* (server) {
    const stream = yield* openStream(server)
    yield* elapse("1100 millis")
    assert.deepStrictEqual(stream.tagged("Activity"), [{ _tag: "Activity", at: 1000, offices: [] }])
  })

  testOffice(
    "shows the end of a call of its snapshot, though it has no space for other ended calls",
    function* ({ ada, computer, watch }) {
      const gate = yield* Deferred.make<void>()
      yield* computer("slow", { answer: () => Effect.as(Deferred.await(gate), toolResult("ok")) })
      yield* startCall(ada, { computer: "slow", tool_name: "slow" })
      const { next } = yield* watch.open
      for (let index = 0; index < maxCallsPerBatch; index += 1) yield* makeCall(ada)
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      const reading = yield* Effect.forkChild(next, { startImmediately: true })
      yield* elapse()
      const { events = [] } = (yield* Fiber.join(reading)) ?? {}
      const calls = events.flatMap((event) => (event._tag === "Call" ? [event.call] : []))
      assert.include(outcomesOf(calls), "slow: ok")
    }
  )
})

describe("the watch", () => {
  test("rejects more streams than the maximum with 429 until one closes", function* ({ watch }) {
    const scope = yield* Scope.make()
    yield* Scope.provide(watch.open, scope)
    yield* Effect.replicateEffect(watch.open, maxStreams - 1)
    assert.strictEqual((yield* Effect.flip(watch.open)).code, 429)
    yield* Scope.close(scope, Exit.void)
    yield* watch.open
  })

  test("gives every stream all events", function* (server) {
    const streams = [yield* openStream(server), yield* openStream(server)]
    yield* server.computer()
    yield* elapse()
    for (const { tagged } of streams) assert.lengthOf(tagged("Entered"), 1)
  })

  it.effect("drops the oldest events of a stream that is not read, and no others", () =>
    Effect.gen(function* () {
      const server = yield* startWatched({ limits: { messagesPerSecond: 1e6, messageBurst: 1e6 } })
      const computer = yield* server.computer()
      const { next } = yield* server.watch.open
      const reader = yield* openStream(server)
      const count = maxQueuedEvents + 7
      for (let index = 0; index < count; index += 1) {
        yield* computer.notify("server:update_desktop", { computer: "pc" })
        if (index % 1000 === 0) yield* elapse()
      }
      yield* elapse()
      const late = yield* Effect.forkChild(next, { startImmediately: true })
      yield* elapse()
      const batch = yield* Fiber.join(late)
      assert.strictEqual(batch?.droppedEvents, 7)
      assert.strictEqual(batch?.events.filter(({ _tag }) => _tag === "Updated").length, maxQueuedEvents)
      assert.strictEqual(reader.tagged("Updated").length, count)
    })
  )
})

describe("the shutdown of a Server", () => {
  test("ends its streams at once", function* (server) {
    const { next } = yield* server.watch.open
    const waiting = yield* Effect.forkChild(next, { startImmediately: true })
    yield* server.close
    assert.isUndefined(yield* Fiber.join(waiting))
    assert.isUndefined(yield* next)
  })

  it.effect("ends its streams before its calls have ended", () =>
    Effect.gen(function* () {
      const server = yield* startOffice(Effect.never, { settings: { drainTimeout: Duration.minutes(1) } })
      const { fiber } = yield* openStream(server)
      yield* Effect.forkChild(makeCall(server.ada))
      yield* settle
      const closing = yield* Effect.forkChild(server.close, { startImmediately: true })
      yield* Fiber.join(fiber)
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(closing)
    })
  )

  test("rejects new streams, commands and calls with 503", function* (server) {
    yield* server.close
    const { call, execute, open } = server.watch
    const target = { line: "0.4", office: "O", computer: "pc" }
    assert.strictEqual((yield* Effect.flip(open)).code, 503)
    assert.strictEqual((yield* Effect.flip(execute({ _tag: "GetTools", ...target }, olga))).code, 503)
    const request = { ...target, tool: "t", params: {}, timeout: 1 }
    assert.strictEqual((yield* Effect.flip(call(request, olga))).code, 503)
  })
})
