import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Queue, Redacted, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as JsonSchemaValidator from "../../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import * as MemoryBytes from "../../../../src/adapters/memory/MemoryByteLink.ts"
import { makeMemoryMcpServer, type MemoryTool } from "../../../../src/adapters/memory/MemoryMcp.ts"
import {
  connectDevice,
  type DeviceClientOptions,
  type DeviceStatus
} from "../../../../src/application/devices/client/DeviceClient.ts"
import { ByteListener } from "../../../../src/application/ports/ByteLink.ts"
import { makeDeviceMessage } from "../../../../src/domain/devices/deviceMessages.ts"
import { playRaw, type RawPeer, until } from "../world.ts"

const text = (value: string) => ({ content: [{ type: "text", text: value }] })

const tool = (name: string, run: MemoryTool["run"] = (args) => Effect.succeed(text(JSON.stringify(args)))) => ({
  definition: {
    name,
    description: `does ${name}`,
    inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: [] }
  },
  run
})

/** A scripted device server at port 7, and a device that offers tools to it. */
const makeDevice = Effect.fnUntraced(function* (
  tools: ReadonlyArray<MemoryTool>,
  options: Partial<DeviceClientOptions> = {}
) {
  const context = yield* Layer.build(Layer.merge(Layer.fresh(MemoryBytes.layer), JsonSchemaValidator.layer))
  const connections = yield* Queue.unbounded<RawPeer>()
  const { listen } = Context.get(context, ByteListener)
  const owner = yield* Effect.scope
  let scope = yield* Scope.fork(owner)
  const open = Effect.gen(function* () {
    scope = yield* Scope.fork(owner)
    yield* listen({ host: "127.0.0.1", port: 7, maxConnections: 10 }, (link) =>
      Effect.scoped(
        Effect.andThen(
          Effect.flatMap(playRaw(link), (peer) => Queue.offer(connections, peer)),
          link.closed
        )
      )
    ).pipe(Effect.orDie, Scope.provide(scope))
  })
  const close = Effect.suspend(() => Scope.close(scope, Exit.void))
  const mcp = yield* makeMemoryMcpServer({ tools })
  const session = yield* mcp.connect
  const connecting = connectDevice(session, { host: "127.0.0.1", port: 7, ...options }).pipe(
    Effect.provideContext(context)
  )
  const seen: Array<DeviceStatus> = []
  const start = Effect.flatMap(connecting, (status) =>
    Effect.forkScoped(
      Stream.runForEach(status, (one) => Effect.sync(() => seen.push(one))),
      { startImmediately: true }
    )
  )
  return { mcp, open, close, start, next: Queue.take(connections), seen: () => seen.map(({ _tag }) => _tag) }
})

/** A device that is connected to the scripted server. */
const connectedDevice = Effect.fnUntraced(function* (...args: Parameters<typeof makeDevice>) {
  const device = yield* makeDevice(...args)
  yield* device.open
  yield* device.start
  return { ...device, server: yield* device.next }
})

/** A device whose first message, its registration, has arrived. */
const registeredDevice = (...args: Parameters<typeof makeDevice>) =>
  Effect.tap(connectedDevice(...args), ({ server }) => server.next)

/** Service names of the next message, which must be a registration. */
const registered = (server: RawPeer) =>
  Effect.map(server.nextMessage, (message) =>
    message._tag === "Register" ? Object.keys(message.definitions).join() : message._tag
  )

/** Calls a service and returns its outcome. */
const call = Effect.fnUntraced(function* (server: RawPeer, method: string, params: object = {}, id = "c1") {
  yield* server.message(makeDeviceMessage.call(id, method, { ...params }))
  const message = yield* server.nextMessage
  return message._tag === "Result" ? { id: message.callId, ...message.outcome } : message
})

const replaced = "##REPLACED:session_takeover: another connection uses the name of this device"

describe("device client", () => {
  it.effect("registers its tools and answers calls", () =>
    Effect.gen(function* () {
      const { server } = yield* connectedDevice([tool("on"), tool("off")])
      const message = yield* server.nextMessage
      assert.deepStrictEqual(message._tag === "Register" && message.definitions["on"], {
        description: "does on",
        parameters: tool("on").definition.inputSchema
      })
      assert.deepStrictEqual(yield* call(server, "on", { n: 3 }), { id: "c1", success: true, data: '{"n":3}' })
    })
  )

  it.effect("answers on the task of the call", () =>
    Effect.gen(function* () {
      const { server } = yield* registeredDevice([tool("on")])
      yield* server.frame("mcp", JSON.stringify(makeDeviceMessage.call("c", "on", {})), "talk42")
      assert.strictEqual((yield* server.next).task, "talk42")
    })
  )

  it.effect("explains a failed call", () =>
    Effect.gen(function* () {
      const failing = tool("fails", () => Effect.succeed({ ...text("out of oil"), isError: true }))
      const broken = tool("breaks", () => Effect.die(new Error("a bug")))
      const unsayable = tool("counts", () => Effect.succeed({ content: [], structuredContent: { n: 1n } }))
      const { server } = yield* registeredDevice([tool("on"), failing, broken, unsayable])
      const error = (method: string, params: object = {}) =>
        Effect.map(call(server, method, params), (result) => ("error" in result ? result.error : result))
      assert.strictEqual(yield* error("nope"), "The device has no service 'nope'")
      assert.strictEqual(yield* error("on", { n: "x" }), "'on' was not called: invalid parameters. /n: must be integer")
      assert.strictEqual(yield* error("fails"), "out of oil")
      assert.strictEqual(yield* error("breaks"), "internal error")
      assert.strictEqual(yield* error("counts"), "internal error")
      yield* server.frame("mcp", "{bad")
      assert.deepStrictEqual(yield* call(server, "on"), { id: "c1", success: true, data: "{}" })
    })
  )

  it.effect("runs calls concurrently, up to a limit, and each once", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let runs = 0
      const slow = tool("slow", () =>
        Effect.andThen(
          Effect.sync(() => void runs++),
          Effect.as(Deferred.await(gate), text("done"))
        )
      )
      const { server } = yield* registeredDevice([slow, tool("quick")], { limits: { maxCalls: 2 } })
      yield* server.message(makeDeviceMessage.call("c1", "slow", {}))
      yield* server.message(makeDeviceMessage.call("c1", "slow", {}))
      yield* server.message(makeDeviceMessage.call("c2", "slow", {}))
      assert.deepStrictEqual(yield* call(server, "quick", {}, "c3"), {
        id: "c3",
        success: false,
        error: "busy: 2 calls are in flight"
      })
      yield* Deferred.succeed(gate, undefined)
      const ids = [yield* server.nextMessage, yield* server.nextMessage].map((message) =>
        message._tag === "Result" ? message.callId : message._tag
      )
      assert.deepStrictEqual(ids, ["c1", "c2"])
      assert.strictEqual(runs, 2)
    })
  )

  it.effect("times out a slow call", () =>
    Effect.gen(function* () {
      const { server } = yield* registeredDevice([tool("slow", () => Effect.never)], {
        heartbeatInterval: Duration.hours(1)
      })
      const answer = yield* Effect.forkChild(call(server, "slow"))
      yield* Effect.yieldNow
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual(yield* Fiber.join(answer), {
        id: "c1",
        success: false,
        error: "'slow' did not answer within 300 seconds"
      })
    })
  )

  it.effect("reports a result above the size limit", () =>
    Effect.gen(function* () {
      const large = tool("large", () => Effect.succeed(text("x".repeat(2000))))
      const { server } = yield* registeredDevice([large], { limits: { maxPayloadBytes: 1000 } })
      const result = yield* call(server, "large")
      assert.match(JSON.stringify(result), /sending the result failed: .*exceeds the limit of 1000/)
    })
  )

  it.effect("registers again only when its tools change", () =>
    Effect.gen(function* () {
      const { mcp, server } = yield* connectedDevice([tool("a")])
      assert.strictEqual(yield* registered(server), "a")
      yield* mcp.setTools([tool("a")])
      yield* TestClock.adjust("1 second")
      yield* mcp.setTools([tool("a"), tool("b")])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* registered(server), "a,b")
    })
  )

  it.effect("replaces tool names that servers can reject", () =>
    Effect.gen(function* () {
      const { server } = yield* connectedDevice([tool("files/read it"), tool("plain")])
      const names = (yield* registered(server)).split(",")
      assert.match(names[0] ?? "", /^files_read_it_[a-z0-9]{8}$/)
      assert.strictEqual(names[1], "plain")
      assert.deepStrictEqual(yield* call(server, names[0] ?? ""), { id: "c1", success: true, data: "{}" })
    })
  )

  it.effect("sends its token and name, and waits for the reply", () =>
    Effect.gen(function* () {
      const token = Redacted.make("s3cret")
      const { server } = yield* connectedDevice([tool("a")], { token, name: "lamp" })
      assert.strictEqual(yield* server.nextText, "s3cret##name:lamp")
      yield* server.frame("auth", "##INFO:WELCOME", "00000000")
      assert.strictEqual(yield* registered(server), "a")
    })
  )

  it.effect("registers after five seconds without a reply to AUTH", () =>
    Effect.gen(function* () {
      const { server } = yield* registeredDevice([tool("a")], { token: Redacted.make("t") })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* registered(server), "a")
    })
  )

  it.effect.each([
    ["its token is rejected", "auth", "##ERROR:the token is not valid"],
    ["another device takes over its name", "status", replaced]
  ] as const)("stops when %s", ([, type, payload]) =>
    Effect.gen(function* () {
      const { seen, server } = yield* registeredDevice([tool("a")], { name: "lamp" })
      yield* server.frame(type, payload, "00000000")
      yield* until(Effect.sync(() => seen().at(-1) === "Failed"))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(seen().at(-1), "Failed")
    })
  )

  it.effect("stops when another device takes over its name after a reply to AUTH", () =>
    Effect.gen(function* () {
      const { seen, server } = yield* registeredDevice([tool("a")], { name: "lamp" })
      yield* server.frame("auth", "##INFO:AUTHENTICATED", "00000000")
      assert.strictEqual(yield* registered(server), "a")
      yield* server.frame("status", replaced, "00000000")
      yield* until(Effect.sync(() => seen().at(-1) === "Failed"))
    })
  )

  it.effect("connects and reconnects with backoff", () =>
    Effect.gen(function* () {
      const { close, next, open, seen, start } = yield* makeDevice([tool("a")])
      yield* start
      yield* until(Effect.sync(() => seen().includes("Disconnected")))
      yield* open
      yield* TestClock.adjust("10 seconds")
      const first = yield* next
      assert.strictEqual(yield* registered(first), "a")
      yield* close
      yield* TestClock.adjust("1 minute")
      yield* open
      yield* TestClock.adjust("1 minute")
      const second = yield* next
      assert.strictEqual(yield* registered(second), "a")
    })
  )

  it.effect("reconnects with a growing delay after short connections, until one lasts a minute", () =>
    Effect.gen(function* () {
      const { close, next, open, seen, start } = yield* makeDevice([tool("a")])
      const isConnected = () => seen().at(-1) === "Registered"
      yield* open
      yield* start
      for (const [lasting, delay] of [
        [0, 500],
        [30_000, 1000],
        [55_000, 2000],
        [60_000, 500],
        [0, 1000]
      ] as const) {
        yield* registered(yield* next)
        yield* until(Effect.sync(isConnected))
        yield* TestClock.adjust(lasting)
        const closing = yield* Effect.forkChild(close)
        yield* until(Effect.sync(() => seen().at(-1) === "Disconnected"))
        yield* Fiber.join(closing)
        yield* open
        // The jitter is a fifth of the delay.
        yield* TestClock.adjust(delay * 0.8 - 1)
        assert.strictEqual(seen().at(-1), "Disconnected", `${delay}`)
        yield* TestClock.adjust(delay * 0.4 + 1)
        assert.notStrictEqual(seen().at(-1), "Disconnected", `${delay}`)
      }
    })
  )

  it.effect("interrupts the calls of a closed connection", () =>
    Effect.gen(function* () {
      const stopped = yield* Deferred.make<void>()
      const slow = tool("slow", () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined)))
      const { close, server } = yield* registeredDevice([slow])
      yield* server.message(makeDeviceMessage.call("c", "slow", {}))
      yield* Effect.yieldNow
      yield* TestClock.adjust("1 second")
      yield* Effect.forkScoped(close)
      yield* TestClock.adjust("5 seconds")
      yield* Deferred.await(stopped)
    })
  )

  it.effect("sends PING every minute, and leaves a server that stops replying", () =>
    Effect.gen(function* () {
      const { seen, server } = yield* registeredDevice([tool("a")])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* server.nextText, "##PING")
      yield* TestClock.adjust("10 minutes")
      assert.notInclude(seen(), "Disconnected")
      yield* server.frame("status", "##INFO:PONG")
      yield* TestClock.adjust("4 minutes")
      assert.include(seen(), "Disconnected")
    })
  )

  it.effect("closes with its session", () =>
    Effect.gen(function* () {
      const { mcp, seen, server } = yield* registeredDevice([tool("a")])
      yield* mcp.crash("out of memory")
      yield* until(Effect.sync(() => seen().at(-1) === "Failed"))
      yield* TestClock.adjust("5 seconds")
      yield* server.rest
    })
  )
})
