import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Logger, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ByteConnector } from "../../../../src/application/ports/ByteLink.ts"
import { encodeFrame, encodeJson } from "../../../../src/domain/devices/framing/encoder.ts"
import type { Frame } from "../../../../src/domain/devices/framing/frame.ts"
import { makeDeviceMessage } from "../../../../src/domain/devices/deviceMessages.ts"
import { failedOutcome } from "../../../../src/domain/devices/serviceOutcome.ts"
import { partsCodec, partsUri } from "../../../../src/domain/page/Inspection.ts"
import { encodeUtf8 } from "../../../../src/domain/utf8.ts"
import { makeGateway, plain, registration, type RawPeer, until } from "../world.ts"

type Gateway = Effect.Success<ReturnType<typeof makeGateway>>

const toolsOf = ({ session }: Gateway) =>
  Effect.map(Effect.orDie(session.listTools()), ({ items }) => items.map(({ name }) => String(name)))

/** Waits until the gateway lists exactly these tools. */
const hasTools = (gateway: Gateway, ...names: ReadonlyArray<string>) =>
  until(Effect.map(toolsOf(gateway), (tools) => tools.join() === names.join()))

const isFailure = (text: string) => ({ content: [{ type: "text", text }], isError: true })
const textResult = (text: string) => ({ content: [{ type: "text", text }], isError: false })

/** A gateway with a device without a name that has registered these services. */
const gatewayWithDevice = Effect.fnUntraced(function* (
  services: ReadonlyArray<string>,
  options: Parameters<typeof makeGateway>[0] = {}
) {
  const gateway = yield* makeGateway(options)
  const device = yield* gateway.newDevice
  yield* device.message(registration(...services))
  yield* hasTools(gateway, ...services.map((service) => `device-1__${service}`))
  return { gateway, device }
})

/** A device that registers the service `a` and reads nothing. */
const silentDevice = Effect.fnUntraced(function* (gateway: Gateway, name: string) {
  const { connect } = Context.get(gateway.bytes, ByteConnector)
  const link = yield* connect({ host: "127.0.0.1", port: 7 })
  const send = (type: Frame["type"], payload: Uint8Array) =>
    link.send(Result.getOrThrow(encodeFrame({ type, task: "", sequence: 0, payload })))
  yield* send("auth", encodeUtf8(`##name:${name}`))
  yield* send("mcp", encodeJson(registration("a")))
  yield* until(Effect.map(toolsOf(gateway), (tools) => tools.includes(`${name}__a`)))
  return link
})

const namesOf = (gateway: Gateway) => Effect.map(gateway.devices, (devices) => devices.map(({ name }) => name))

/** Runs on each item of a stream, until the scope closes. */
const collect = <A>(stream: Stream.Stream<A>, keep: (item: A) => void) =>
  Effect.forkScoped(
    Stream.runForEach(stream, (item) => Effect.sync(() => keep(item))),
    { startImmediately: true }
  )

/** Answers the next call and returns it. */
const answerNext = ({ nextCall, succeed }: RawPeer, data: unknown) =>
  Effect.tap(nextCall, (call) => succeed(call, data))

describe("device gateway", () => {
  it.effect("assigns a name to a device without one, and lists its service as a tool", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["get_current_time"])
      const { items } = yield* gateway.session.listTools()
      assert.deepStrictEqual(items, [
        {
          name: "device-1__get_current_time",
          description: plain.description,
          inputSchema: plain.parameters,
          _meta: { a2c_device: "device-1", a2c_service: "get_current_time" }
        }
      ])
      const call = yield* Effect.forkChild(gateway.session.callTool("device-1__get_current_time", { a: 1 }))
      const { method, params } = yield* answerNext(device, "14:30")
      assert.deepStrictEqual({ method, params }, { method: "get_current_time", params: { a: 1 } })
      assert.deepStrictEqual(yield* Fiber.join(call), textResult("14:30"))
    })
  )

  it.effect("describes its devices in a resource", () =>
    Effect.gen(function* () {
      const { gateway } = yield* gatewayWithDevice(["get_current_time"])
      const [content] = yield* gateway.session.readResource(partsUri)
      const [part] = Result.getOrThrow(partsCodec.decode(content?.["text"]))
      const offers = ["get_current_time"]
      assert.deepInclude(part, { kind: "device", name: "device-1", state: "connected", offers, faults: [] })
      assert.match(part?.reason ?? "", /^from .* since 1970-01-01T00:00:00.000Z$/)
    })
  )

  const faultsOf = ({ session }: Gateway) =>
    Effect.map(session.readResource(partsUri), ([content]) =>
      Result.getOrThrow(partsCodec.decode(content?.["text"])).flatMap(({ faults = [] }) =>
        faults.map(({ text }) => text)
      )
    )

  it.effect("fails calls with the errors of their device, and describes the latest ten", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["get_current_time"])
      for (let index = 1; index <= 11; index++) {
        const call = yield* Effect.forkChild(gateway.session.callTool("device-1__get_current_time", {}))
        const { callId } = yield* device.nextCall
        yield* device.message(makeDeviceMessage.result(callId, failedOutcome(`no clock ${index}`)))
        assert.deepStrictEqual(yield* Fiber.join(call), isFailure(`no clock ${index}`))
      }
      assert.deepStrictEqual(
        yield* faultsOf(gateway),
        Array.from({ length: 10 }, (_, index) => `get_current_time: no clock ${index + 2}`)
      )
    })
  )

  it.effect("describes the invalid registrations of a device", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["get_current_time"])
      yield* device.message(registration(""))
      yield* until(Effect.map(faultsOf(gateway), (faults) => faults.length > 0))
      assert.match((yield* faultsOf(gateway))[0] ?? "", /^invalid_registration: /)
    })
  )

  it.effect("rejects another resource", () =>
    Effect.gen(function* () {
      const { session } = yield* makeGateway()
      const failure = yield* Effect.flip(session.readResource("file:///etc/passwd"))
      assert.include(failure, { reason: "protocol", code: -32002 })
    })
  )

  it.effect("matches results to calls in any order", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["a"])
      const calls = yield* Effect.forkChild(
        Effect.forEach([1, 2], (n) => gateway.session.callTool("device-1__a", { n }), { concurrency: "unbounded" })
      )
      const requests = [yield* device.nextCall, yield* device.nextCall]
      for (const call of requests.reverse()) {
        yield* device.succeed(call, `got ${String(call.params["n"])}`)
      }
      assert.deepStrictEqual(yield* Fiber.join(calls), [textResult("got 1"), textResult("got 2")])
    })
  )

  it.effect("drops duplicate, late and unrequested results", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["a"])
      yield* device.message(makeDeviceMessage.result("never asked", { success: true, data: 0 }))
      const first = yield* Effect.forkChild(gateway.session.callTool("device-1__a", {}))
      const { callId } = yield* answerNext(device, "one")
      yield* device.message(makeDeviceMessage.result(callId, { success: true, data: "two" }))
      assert.deepStrictEqual(yield* Fiber.join(first), textResult("one"))
      const late = yield* Effect.forkChild(gateway.session.callTool("device-1__a", {}))
      const call = yield* device.nextCall
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(
        yield* Fiber.join(late),
        isFailure("Service 'a' of device 'device-1' did not answer within 30 seconds")
      )
      yield* device.succeed(call, 1)
      const next = yield* Effect.forkChild(gateway.session.callTool("device-1__a", {}))
      yield* answerNext(device, "three")
      assert.deepStrictEqual(yield* Fiber.join(next), textResult("three"))
    })
  )

  it.effect("frees the slot of a cancelled call, and drops its result", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["a"], { limits: { maxCalls: 1 } })
      const first = yield* Effect.forkChild(gateway.session.callTool("device-1__a", {}))
      const given = yield* device.nextCall
      assert.deepStrictEqual(
        yield* gateway.session.callTool("device-1__a", {}),
        isFailure("Device 'device-1' is busy: 1 calls are in flight. Try again later.")
      )
      yield* Fiber.interrupt(first)
      const second = yield* Effect.forkChild(gateway.session.callTool("device-1__a", {}))
      yield* device.succeed(given, 1)
      yield* answerNext(device, "mine")
      assert.deepStrictEqual(yield* Fiber.join(second), textResult("mine"))
    })
  )

  it.effect("limits unsent calls to a device that does not read, also cancelled ones", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway({ limits: { maxCalls: 2 } })
      yield* silentDevice(gateway, "silent")
      const large = gateway.session.callTool("silent__a", { text: "x".repeat(100_000) })
      for (const attempt of [1, 2]) {
        const call = yield* Effect.forkChild(large)
        yield* TestClock.adjust("30 seconds")
        assert.match(JSON.stringify(yield* Fiber.join(call)), /did not answer within 30/, String(attempt))
      }
      assert.deepStrictEqual(
        yield* large,
        isFailure("Device 'silent' is busy: 2 calls are in flight. Try again later.")
      )
    })
  )

  it.effect("disconnects the device that holds most unread bytes when all hold too many, and no other one", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["a"], { limits: { maxBufferedBytes: 300_000 } })
      yield* silentDevice(gateway, "most")
      yield* silentDevice(gateway, "less")
      const call = (name: string, length: number) =>
        Effect.forkChild(gateway.session.callTool(`${name}__a`, { text: "x".repeat(length) }))
      const lost = yield* call("most", 150_000)
      yield* call("less", 100_000)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* namesOf(gateway), ["device-1", "most", "less"])
      const answered = yield* call("device-1", 100_000)
      yield* answerNext(device, "here")
      assert.match(JSON.stringify(yield* Fiber.join(lost)), /disconnected: buffer_limit_exceeded/)
      assert.deepStrictEqual(yield* Fiber.join(answered), textResult("here"))
      assert.deepStrictEqual(yield* namesOf(gateway), ["device-1", "less"])
    })
  )

  it.effect("disconnects a device that holds a part of a frame when all hold too many bytes", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway({ limits: { maxBufferedBytes: 300_000 } })
      const begin = Effect.fnUntraced(function* (name: string, bytes: number) {
        const link = yield* silentDevice(gateway, name)
        const payload = encodeUtf8(`{"x":"${"x".repeat(2 * bytes)}"}`)
        const frame: Frame = { type: "mcp", task: "", sequence: 0, payload }
        yield* link.send(Result.getOrThrow(encodeFrame(frame)).subarray(0, bytes))
        yield* TestClock.adjust("1 second")
      })
      yield* begin("one", 100_000)
      yield* begin("two", 60_000)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* namesOf(gateway), ["one", "two"])
      yield* begin("three", 90_000)
      yield* until(Effect.map(namesOf(gateway), (names) => names.join() === "two,three"))
    })
  )

  it.effect("fails a call that JSON cannot represent", () =>
    Effect.gen(function* () {
      const { gateway } = yield* gatewayWithDevice(["a"])
      assert.deepStrictEqual(
        yield* gateway.session.callTool("device-1__a", { n: 1n }),
        isFailure("the call was not sent to device 'device-1': internal error")
      )
    })
  )

  it.effect("fails an unsent call when the device disconnects", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["a"])
      const call = yield* Effect.forkChild(gateway.session.callTool("device-1__a", { text: "x".repeat(1_000_000) }))
      yield* Effect.yieldNow
      yield* device.hangUp
      assert.match(JSON.stringify(yield* Fiber.join(call)), /Device 'device-1' disconnected: closed by peer/)
    })
  )

  it.effect("rejects invalid arguments before the call", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const device = yield* gateway.newDevice
      const level = { type: "integer", minimum: 0 }
      const parameters = { type: "object", properties: { level }, required: ["level"] }
      yield* device.message(makeDeviceMessage.register(new Map([["dim", { description: "", parameters }]])))
      yield* hasTools(gateway, "device-1__dim")
      const wrong = yield* gateway.session.callTool("device-1__dim", { level: "high" })
      assert.deepStrictEqual(
        wrong,
        isFailure("'dim' was not called: its arguments do not match its schema.\n- /level: must be integer")
      )
      const missing = yield* gateway.session.callTool("device-1__dim", {})
      assert.match(JSON.stringify(missing), /must have required property 'level'/)
      const right = yield* Effect.forkChild(gateway.session.callTool("device-1__dim", { level: 3 }))
      assert.deepStrictEqual((yield* answerNext(device, "ok")).params, { level: 3 })
      yield* Fiber.join(right)
    })
  )

  it.effect("fails with a protocol error for an unknown tool", () =>
    Effect.gen(function* () {
      const { session } = yield* makeGateway()
      const failure = yield* Effect.flip(session.callTool("lamp__on", {}))
      assert.deepStrictEqual([failure.reason, failure.code], ["protocol", -32602])
    })
  )

  it.effect("fails calls and removes tools when a device disconnects", () =>
    Effect.gen(function* () {
      const { gateway } = yield* gatewayWithDevice(["stays"])
      const device = yield* gateway.newDevice
      yield* device.message(registration("a"))
      yield* hasTools(gateway, "device-1__stays", "device-2__a")
      const calls = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3], () => gateway.session.callTool("device-2__a", {}), { concurrency: "unbounded" })
      )
      yield* device.nextMessage
      yield* device.hangUp
      for (const result of yield* Fiber.join(calls)) {
        assert.match(JSON.stringify(result), /Device 'device-2' disconnected: closed by peer/)
      }
      yield* hasTools(gateway, "device-1__stays")
    })
  )

  it.effect("replaces services after a registration, and completes calls of removed services", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["a", "b"])
      const running = yield* Effect.forkChild(gateway.session.callTool("device-1__a", {}))
      const call = yield* device.nextCall
      yield* device.message(registration("b", "c"))
      yield* hasTools(gateway, "device-1__b", "device-1__c")
      yield* device.succeed(call, "x")
      assert.deepStrictEqual(yield* Fiber.join(running), textResult("x"))
      yield* device.message(registration())
      yield* hasTools(gateway)
    })
  )

  it.effect("announces changes, but not unchanged registrations", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const notified: Array<string> = []
      yield* collect(yield* gateway.session.watch({ tools: true, resources: true, uris: [] }), ({ _tag }) =>
        notified.push(_tag)
      )
      const device = yield* gateway.newDevice
      yield* device.message(registration("a"))
      yield* until(Effect.sync(() => notified.length === 1))
      yield* TestClock.adjust("1 second")
      yield* device.message(registration("a"))
      yield* TestClock.adjust("1 second")
      assert.lengthOf(notified, 1)
      yield* device.message(registration("a", "b"))
      yield* until(Effect.sync(() => notified.length === 2))
      yield* TestClock.adjust("1 second")
      yield* device.hangUp
      yield* until(Effect.sync(() => notified.length === 3))
    })
  )

  it.effect("announces a device without services, but no change of tools", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const seen: Array<string> = []
      const changes = yield* gateway.session.watch({ tools: true, resources: false, uris: [] })
      yield* collect(changes, ({ _tag }) => seen.push(_tag))
      yield* collect(gateway.changes, (all) => seen.push(`${all.length}`))
      const device = yield* gateway.newDevice
      yield* device.auth("##name:lamp")
      yield* until(Effect.sync(() => seen.includes("1")))
      yield* TestClock.adjust("1 second")
      yield* device.hangUp
      yield* until(Effect.sync(() => seen.at(-1) === "0"))
      assert.deepStrictEqual(seen, ["0", "1", "0"])
    })
  )

  it.effect("survives invalid input of a device", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const device = yield* gateway.newDevice
      yield* device.bytes(new Uint8Array([0, 255, 10, 35, 35]))
      yield* device.frame("mcp", "{bad")
      yield* device.frame("mcp", '{"type":"nonsense"}')
      yield* device.message({ type: "register", data: { services: { "": {}, bad: 3, good: plain } } })
      yield* hasTools(gateway, "device-1__good")
    })
  )

  it.effect("closes a connection after repeated invalid registrations", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const device = yield* gateway.newDevice
      yield* Effect.repeat(device.message({ type: "register", data: { services: { bad: 3 } } }), { times: 100 })
      assert.deepStrictEqual(yield* device.rest, [
        "##ERROR:too_many_violations: the device sent too many invalid frames or messages"
      ])
    })
  )

  it.effect("logs the first registration only", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(message))
      const register = Effect.gen(function* () {
        const gateway = yield* makeGateway()
        const device = yield* gateway.newDevice
        for (let index = 0; index < 50; index++) yield* device.message(registration(`s${index}`))
        yield* TestClock.adjust("1 second")
        yield* hasTools(gateway, "device-1__s49")
      })
      yield* Effect.provide(register, Logger.layer([logger]))
      assert.deepStrictEqual(lines, [
        ["device connected", { device: "device-1", remoteAddress: "127.0.0.1" }],
        ["device registered", { device: "device-1", services: 1 }]
      ])
    })
  )

  it.effect("answers a call of a device with an error", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const device = yield* gateway.newDevice
      yield* device.message(makeDeviceMessage.call("c", "open_the_door", {}))
      assert.deepStrictEqual(yield* device.nextMessage, {
        _tag: "Result",
        callId: "c",
        outcome: { success: false, error: "The gateway has no service 'open_the_door'" }
      })
    })
  )

  it.effect("acknowledges a registration when enabled", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway({ acknowledgeRegistration: true })
      const device = yield* gateway.newDevice
      yield* device.frame(
        "mcp",
        '{"type":"register","data":{"services":{"a":{},"b":{"parameters":1},"a":{"description":"x"}}}}'
      )
      const answer = yield* device.nextMessage
      assert.strictEqual(answer._tag === "Registered" && answer.services, 1)
      assert.match(JSON.stringify(answer), /\\"b\\": parameters.*\\"a\\": registered more than once/)
    })
  )

  it.effect("acknowledges a registration with too many errors for one message", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway({ acknowledgeRegistration: true, limits: { maxPayloadBytes: 5000 } })
      const device = yield* gateway.newDevice
      const bad = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`s${index}`, 3]))
      yield* device.message({ type: "register", data: { services: { good: plain, ...bad } } })
      const answer = yield* device.nextMessage
      assert.strictEqual(answer._tag === "Registered" && answer.services, 1)
      assert.strictEqual(answer._tag === "Registered" && answer.faults.at(-1), "and 390 more")
    })
  )

  it.effect("answers PING, and closes after DISCONNECT", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const device = yield* gateway.newDevice
      yield* device.frame("status", "##PING")
      assert.strictEqual(yield* device.nextText, "##INFO:PONG")
      yield* device.frame("status", "##DISCONNECT")
      assert.strictEqual(yield* device.nextText, "##INFO:DISCONNECT")
      const rest = yield* Effect.forkChild(device.rest)
      yield* TestClock.adjust("1 second")
      assert.isUndefined(rest.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(rest), [])
    })
  )

  it.effect("closes a connection after five idle minutes", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["a"])
      yield* TestClock.adjust("4 minutes")
      yield* device.frame("status", "##PING")
      assert.strictEqual(yield* device.nextText, "##INFO:PONG")
      yield* TestClock.adjust("4 minutes")
      assert.deepStrictEqual(yield* toolsOf(gateway), ["device-1__a"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* device.rest, ["##ERROR:idle_timeout: the device sent nothing for too long"])
      assert.deepStrictEqual(yield* toolsOf(gateway), [])
    })
  )

  it.effect("drops an unfinished frame after half a minute", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const device = yield* gateway.newDevice
      yield* device.bytes(new TextEncoder().encode('##START\u0006mcp000010000{"type":"regi'))
      yield* TestClock.adjust("46 seconds")
      yield* device.message(registration("a"))
      yield* hasTools(gateway, "device-1__a")
    })
  )

  it.effect("tolerates frames above the size limit, but not three within a minute", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway({ limits: { maxPayloadBytes: 1000 } })
      const device = yield* gateway.newDevice
      const large = new TextEncoder().encode(`##START\u0006mcp000010000"${"x".repeat(2000)}"##END`)
      yield* device.bytes(large)
      yield* device.bytes(large)
      yield* device.message(registration("a"))
      yield* hasTools(gateway, "device-1__a")
      yield* Effect.ignore(device.link.send(large))
      assert.deepStrictEqual(yield* device.rest, [
        "##ERROR:too_many_violations: the device sent too many invalid frames or messages"
      ])
    })
  )

  it.effect("closes a connection that sends endless garbage", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const device = yield* gateway.newDevice
      const flood = Effect.forever(device.link.send(new Uint8Array(60_000).fill(7)))
      assert.strictEqual((yield* Effect.flip(flood))._tag, "ByteLinkClosed")
    })
  )

  it.effect("passes frames of other types to the host, which can reply", () =>
    Effect.gen(function* () {
      const received: Array<string> = []
      const gateway = yield* makeGateway({
        onFrame: (device, frame, reply) => {
          received.push(`${device} ${frame.type} ${frame.task} ${new TextDecoder().decode(frame.payload)}`)
          return reply({ ...frame, payload: new TextEncoder().encode("14点30分") })
        }
      })
      const device = yield* gateway.newDevice
      yield* device.frame("text", "现在几点了?")
      assert.strictEqual(yield* device.nextText, "14点30分")
      assert.deepStrictEqual(received, ["device-1 text task1234 现在几点了?"])
    })
  )

  it.effect("exposes one device as a peer, whose session closes with the connection", () =>
    Effect.gen(function* () {
      const { device, gateway } = yield* gatewayWithDevice(["on"])
      assert.isUndefined(yield* gateway.deviceSession("lamp"))
      const session = yield* gateway.deviceSession("device-1")
      if (session === undefined) return yield* Effect.die("no session")
      assert.deepStrictEqual(
        (yield* session.listTools()).items.map(({ name }) => name),
        ["on"]
      )
      const call = yield* Effect.forkChild(session.callTool("on", {}))
      yield* answerNext(device, "ok")
      assert.deepStrictEqual(yield* Fiber.join(call), textResult("ok"))
      yield* session.ping
      yield* device.hangUp
      assert.strictEqual((yield* session.closed).reason, "closed")
      assert.strictEqual((yield* Effect.flip(session.ping)).reason, "closed")
    })
  )
})
