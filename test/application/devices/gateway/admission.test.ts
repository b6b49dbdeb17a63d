import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Logger, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { authenticateByToken, authenticateByTokens } from "../../../../src/adapters/auth/deviceTokens.ts"
import { DeviceRejected } from "../../../../src/application/devices/DeviceGatewayOptions.ts"
import { encodeFrame } from "../../../../src/domain/devices/framing/encoder.ts"
import { withWallClock } from "../../../wallClock.ts"
import { makeGateway, registration, until } from "../world.ts"

type Gateway = Effect.Success<ReturnType<typeof makeGateway>>

const names = ({ devices }: Gateway) => Effect.map(devices, (all) => all.map(({ name }) => name).join())

const authFrame = (text: string) =>
  Result.getOrThrow(
    encodeFrame({ type: "auth", task: "00000000", sequence: 0, payload: new TextEncoder().encode(text) })
  )

const hasDevices = (gateway: Gateway, expected: string) =>
  until(Effect.map(names(gateway), (found) => found === expected))

/** Connects a device that sends this AUTH. */
const deviceWith = ({ newDevice }: Gateway, auth: string) => Effect.tap(newDevice, (device) => device.auth(auth))

/** Connects a device whose token is rejected. */
const guess = Effect.fnUntraced(function* (gateway: Gateway, attempt: number) {
  const device = yield* deviceWith(gateway, `guess ${attempt}`)
  assert.lengthOf(yield* device.rest, 1)
})

const gatewayWithToken = makeGateway({ authenticate: authenticateByToken(Redacted.make("s3cret")) })

describe("admission of a device", () => {
  it.effect("accepts the token, and the name that the device chooses", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWithToken
      const device = yield* deviceWith(gateway, "s3cret##lang:zh##name:lamp")
      assert.strictEqual(yield* device.nextText, "##INFO:AUTHENTICATED")
      yield* hasDevices(gateway, "lamp")
    })
  )

  it.effect.each([
    ["s3cret", ["guess", "s3cretx", "xs3cret", "s3cre"]],
    ["", [""]]
  ] as const)("rejects other tokens than '%s' and empty ones, and says why", ([configured, tokens]) =>
    Effect.gen(function* () {
      const token = Redacted.make(configured)
      for (const authenticate of [authenticateByToken(token), authenticateByTokens(new Map([["lamp", token]]))]) {
        const gateway = yield* makeGateway({ authenticate })
        for (const sent of tokens) {
          const device = yield* deviceWith(gateway, `${sent}##name:lamp`)
          assert.deepStrictEqual(yield* device.rest, ["##ERROR:the token is not valid"])
        }
        assert.strictEqual(yield* names(gateway), "")
      }
    })
  )

  it.effect("is impossible when a host without types chooses no authentication", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway({ authenticate: undefined as never })
      const device = yield* deviceWith(gateway, "guess##name:lamp")
      assert.deepStrictEqual(yield* device.rest, [])
      assert.strictEqual(yield* names(gateway), "")
    })
  )

  it.effect("ignores registrations before AUTH", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWithToken
      const device = yield* gateway.newDevice
      yield* device.message(registration("early"))
      yield* device.auth("s3cret##name:lamp")
      yield* hasDevices(gateway, "lamp")
      assert.deepStrictEqual((yield* gateway.session.listTools()).items, [])
    })
  )

  it.effect("times out after five seconds", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWithToken
      const device = yield* gateway.newDevice
      yield* TestClock.adjust("4999 millis")
      yield* device.message(registration("early"))
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* device.rest, ["##ERROR:auth_timeout: the device sent no token in time"])
    })
  )

  it.effect("ignores a repeated AUTH", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWithToken
      const device = yield* deviceWith(gateway, "s3cret##name:lamp")
      yield* device.auth("wrong##name:door")
      yield* device.message(registration("on"))
      yield* until(Effect.map(gateway.session.listTools(), ({ items }) => items.length === 1))
      assert.strictEqual(yield* names(gateway), "lamp")
    })
  )

  it.effect("throttles an address for a minute after five rejections within a minute", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWithToken
      for (let attempt = 1; attempt <= 5; attempt++) yield* guess(gateway, attempt)
      const shut = yield* gateway.newDevice
      assert.deepStrictEqual(yield* shut.rest, [])
      yield* TestClock.adjust("1 minute")
      yield* deviceWith(gateway, "s3cret##name:lamp")
      yield* hasDevices(gateway, "lamp")
    })
  )

  it.effect("ends a throttle when the clock was set back", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const gateway = yield* gatewayWithToken
        for (let attempt = 1; attempt <= 5; attempt++) yield* guess(gateway, attempt)
        change(-Duration.toMillis("1 day"))
        yield* deviceWith(gateway, "s3cret##name:lamp")
        yield* hasDevices(gateway, "lamp")
      })
    )
  )

  it.effect("tolerates rejections that are further apart", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWithToken
      for (let attempt = 1; attempt <= 10; attempt++) {
        yield* guess(gateway, attempt)
        yield* TestClock.adjust("20 seconds")
      }
    })
  )

  it.effect("checks one token per connection, also when many are sent at once", () =>
    Effect.gen(function* () {
      let guesses = 0
      const gateway = yield* makeGateway({
        authenticate: () =>
          Effect.suspend(() => {
            guesses++
            return new DeviceRejected({ message: "no" })
          })
      })
      const device = yield* gateway.newDevice
      yield* device.bytes(new Uint8Array(Buffer.concat(Array(20).fill(authFrame("guess")))))
      assert.deepStrictEqual(yield* device.rest, ["##ERROR:no"])
      assert.strictEqual(guesses, 1)
    })
  )

  it.effect("checks five tokens a minute per address, also on earlier connections", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWithToken
      const devices = yield* Effect.replicateEffect(gateway.newDevice, 6)
      const answers = yield* Effect.forEach(devices, (device, index) =>
        Effect.andThen(device.auth(index === 5 ? "s3cret##name:lamp" : `guess ${index}`), device.rest)
      )
      assert.deepStrictEqual(
        answers.map((frames) => frames.length),
        [1, 1, 1, 1, 1, 0]
      )
    })
  )

  it.effect("identifies a device by its token, not by the name that it sends", () =>
    Effect.gen(function* () {
      const tokens = new Map([
        ["lamp", Redacted.make("one")],
        ["door", Redacted.make("two")]
      ])
      const gateway = yield* makeGateway({ authenticate: authenticateByTokens(tokens) })
      yield* deviceWith(gateway, "two##name:lamp")
      yield* hasDevices(gateway, "door")
    })
  )

  it.effect("takes over the session of a device with the same name", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const stale = yield* deviceWith(gateway, "##name:lamp")
      yield* stale.message(registration("old"))
      yield* until(Effect.map(gateway.session.listTools(), ({ items }) => items.length === 1))
      const fresh = yield* deviceWith(gateway, "##name:lamp")
      assert.deepStrictEqual(yield* stale.rest, [
        "##INFO:AUTHENTICATED",
        "##REPLACED:session_takeover: another connection uses the name of this device"
      ])
      assert.strictEqual(yield* names(gateway), "lamp")
      assert.deepStrictEqual((yield* gateway.session.listTools()).items, [])
      yield* fresh.message(registration("new"))
      yield* until(
        Effect.map(gateway.session.listTools(), ({ items }) => items.some(({ name }) => name === "lamp__new"))
      )
    })
  )

  it.effect("assigns the lowest free number to a device without a name", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      const first = yield* gateway.newDevice
      yield* first.frame("status", "##HELLO")
      yield* hasDevices(gateway, "device-1")
      yield* deviceWith(gateway, "##name:bad\u0007name")
      yield* hasDevices(gateway, "device-1,device-2")
      yield* first.hangUp
      yield* hasDevices(gateway, "device-2")
      const third = yield* gateway.newDevice
      yield* third.frame("status", "##HELLO")
      yield* hasDevices(gateway, "device-2,device-1")
    })
  )

  it.effect("rejects names that look like others", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway()
      yield* deviceWith(gateway, "##name: lamp ")
      yield* hasDevices(gateway, "lamp")
      yield* deviceWith(gateway, "##name:la\u200bmp")
      yield* hasDevices(gateway, "lamp,device-1")
    })
  )

  it.effect("excludes the duration of the check from the timeout", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway({ authenticate: () => Effect.delay(Effect.succeed({}), "8 seconds") })
      yield* deviceWith(gateway, "s3cret##name:lamp")
      yield* Effect.yieldNow
      yield* TestClock.adjust("4 seconds")
      yield* TestClock.adjust("4 seconds")
      yield* hasDevices(gateway, "lamp")
    })
  )

  it.effect("limits unauthenticated connections of one address to 64", () =>
    Effect.gen(function* () {
      const gateway = yield* gatewayWithToken
      const waiting = yield* Effect.forEach(Array.from({ length: 64 }), () => gateway.newDevice)
      const late = yield* gateway.newDevice
      assert.deepStrictEqual(yield* late.rest, [])
      const [first, second] = waiting
      yield* first?.auth("s3cret##name:lamp") ?? Effect.void
      yield* hasDevices(gateway, "lamp")
      yield* deviceWith(gateway, "s3cret##name:door")
      yield* hasDevices(gateway, "lamp,door")
      yield* second?.hangUp ?? Effect.void
      yield* Effect.yieldNow
      yield* deviceWith(gateway, "s3cret##name:gate")
      yield* hasDevices(gateway, "lamp,door,gate")
    })
  )

  it.effect("limits the number of connections", () =>
    Effect.gen(function* () {
      const gateway = yield* makeGateway({ limits: { maxDevices: 1 } })
      yield* deviceWith(gateway, "##name:lamp")
      yield* hasDevices(gateway, "lamp")
      const second = yield* gateway.newDevice
      assert.deepStrictEqual(yield* second.rest, [])
    })
  )
})

/** Runs an effect and collects the log lines above the debug level. */
const linesOf = <A, E, R>(body: Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void lines.push(JSON.stringify(message)))
  return Effect.as(Effect.provide(body, Logger.layer([logger])), lines)
}

describe("log of unauthenticated connections", () => {
  it.effect("contains nothing for short connections, and one line for invalid frames", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf(
        Effect.gen(function* () {
          const gateway = yield* gatewayWithToken
          for (let visit = 1; visit <= 10; visit++) yield* (yield* gateway.newDevice).hangUp
          const device = yield* gateway.newDevice
          yield* Effect.repeat(device.message(registration("early")), { times: 100 })
          assert.deepStrictEqual(yield* device.rest, [
            "##ERROR:too_many_violations: the device sent too many invalid frames or messages"
          ])
        })
      )
      const reason = "too_many_violations: the device sent too many invalid frames or messages"
      assert.deepStrictEqual(lines, [JSON.stringify(["device rejected", { remoteAddress: "127.0.0.1", reason }])])
    })
  )

  it.effect("limits rejections to five lines a minute for any number of connections", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf(
        Effect.gen(function* () {
          const gateway = yield* gatewayWithToken
          const devices = yield* Effect.replicateEffect(gateway.newDevice, 20)
          yield* Effect.forEach(devices.slice(0, 2), (device) => Effect.andThen(device.auth("guess"), device.rest))
          yield* TestClock.adjust("5 seconds")
          yield* Effect.forEach(devices, ({ rest }) => rest)
        })
      )
      const line = (reason: string) => JSON.stringify(["device rejected", { remoteAddress: "127.0.0.1", reason }])
      const late = line("auth_timeout: the device sent no token in time")
      assert.deepStrictEqual(lines, [...Array(2).fill(line("the token is not valid")), late, late, late])
    })
  )
})
