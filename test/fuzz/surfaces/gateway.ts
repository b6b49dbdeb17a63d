import { Context, Duration, Effect, Layer } from "effect"
import * as JsonSchemaValidator from "../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import * as TcpListener from "../../../src/adapters/tcp/TcpListener.ts"
import { DeviceRejected } from "../../../src/application/devices/DeviceGatewayOptions.ts"
import { DeviceGateway } from "../../../src/application/devices/gateway/DeviceGateway.ts"
import { encodeJson } from "../../../src/domain/devices/framing/encoder.ts"
import { makeDeviceMessage } from "../../../src/domain/devices/deviceMessages.ts"
import { decodeUtf8Lossy } from "../../../src/domain/utf8.ts"
import { makeWitness } from "../live/calls.ts"
import { type Client, makeLanes } from "../live/Client.ts"
import { answerCalls, openDevice, type RawDevice } from "../live/device.ts"
import { errorsTo } from "../live/errors.ts"
import { until } from "../live/wait.ts"
import { oneIn, type Random } from "../random.ts"
import { must, type Surface } from "../Surface.ts"
import { deviceFrames, deviceWords, frame } from "./deviceCorpus.ts"

const token = "secret"

/** The token of the witness, which no input contains: no other device can take its name. */
const witnessToken = "the token of the witness"
const witnessName = "witness"

const limits = {
  maxPayloadBytes: 8192,
  maxAudioPayloadBytes: 1024,
  maxServices: 16,
  maxDevices: 64,
  callTimeout: Duration.seconds(5),
  frameTimeout: Duration.seconds(5)
}

/** Admits devices with one of the tokens; the name of the witness needs its token. */
const options = {
  host: "127.0.0.1",
  port: 0,
  limits,
  acknowledge: true,
  authenticate: (shown: { readonly token: string; readonly options: ReadonlyMap<string, string> }) => {
    if (shown.token === witnessToken) return Effect.succeed({ name: witnessName })
    const wanted = shown.options.get("name")?.trim()
    return shown.token === token && wanted !== witnessName
      ? Effect.succeed({})
      : Effect.fail(new DeviceRejected({ message: "wrong token" }))
  }
}

const pings = (device: RawDevice): (() => Promise<void>) => {
  let pongs = 0
  let received: (() => void) | undefined
  device.onFrame(({ payload, type }) => {
    if (type !== "status" || !decodeUtf8Lossy(payload).includes("PONG")) return
    pongs += 1
    received?.()
  })
  return async () => {
    const before = pongs
    device.write(frame("status", "##PING"))
    while (pongs === before && !device.isClosed()) {
      const pong = Promise.withResolvers<undefined>()
      received = () => pong.resolve(undefined)
      await Promise.race([pong.promise, device.closed])
    }
  }
}

/** A device whose bytes are inputs. Afterwards a valid frame is decoded, or the connection is closed. */
const openClient = async (url: string, random: Random, lane: number): Promise<Client> => {
  const device = await openDevice(url)
  answerCalls(device)
  const isKnown = !oneIn(random, 10)
  const ping = pings(device)
  if (isKnown) {
    device.write(frame("auth", `${token}##name:lamp-${lane}`))
    await ping()
  }
  return {
    isOpen: () => !device.isClosed(),
    send: async (input, choose) => {
      device.write(input)
      if (!isKnown) {
        device.end()
        await device.closed
      } else if (oneIn(choose, 2)) await ping()
      return device.isClosed() ? "refused" : "accepted"
    },
    close: async () => {
      device.end()
      await device.closed
    }
  }
}

/** Bytes of devices at a live gateway, next to a correct device. */
export const gatewaySurface: Surface = {
  name: "gateway",
  about: "frames of devices at a live gateway, next to a correct device",
  weight: 2,
  lanes: 6,
  corpus: deviceFrames,
  words: deviceWords,
  longest: 20 * 1024,
  open: (note) =>
    Effect.gen(function* () {
      const { address, devices, session } = Context.get(
        yield* DeviceGateway.layer(options).pipe(
          Layer.provide(TcpListener.layer),
          Layer.provide(JsonSchemaValidator.layer),
          Layer.provide(errorsTo(note)),
          Layer.build
        ),
        DeviceGateway
      )
      const url = `tcp://127.0.0.1:${address.port}`
      const { feed, leaveAll } = makeLanes((random, lane) => openClient(url, random, lane))
      const context = yield* Effect.context<never>()
      const run = Effect.runPromiseWith(context)
      const names = () => Effect.runSyncWith(context)(devices).map(({ name }) => name)
      const witness = yield* Effect.promise(() => openDevice(url))
      answerCalls(witness)
      witness.write(frame("auth", witnessToken))
      const service = { description: "", parameters: { type: "object", properties: {} } }
      witness.write(frame("mcp", encodeJson(makeDeviceMessage.register(new Map([["echo", service]])))))
      const listed = async () => (await run(session.listTools())).items
      yield* Effect.promise(() =>
        until(
          async () => (await listed()).length === 1,
          () => "the witness lost its tool"
        )
      )
      const { begin, end } = makeWitness(async (turn) => {
        const result = await run(session.callTool(`${witnessName}__echo`, { turn }))
        // Also calls the services of other devices and ignores the results.
        const [other] = (await listed()).filter((tool) => tool["name"] !== `${witnessName}__echo`)
        if (other !== undefined) {
          await Effect.runPromiseExitWith(context)(session.callTool(String(other["name"]), { level: 1 }))
        }
        return JSON.stringify(result["structuredContent"]) === JSON.stringify({ turn })
      })
      return {
        feed,
        begin,
        settle: async () => {
          await end()
          await leaveAll()
          must(!witness.isClosed(), "the witness was disconnected")
          await until(
            () => names().join() === witnessName,
            () => `not closed: ${names().join()}`
          )
        },
        finish: async () => {
          witness.end()
          await until(
            () => names().length === 0,
            () => `not closed: ${names().join()}`
          )
        }
      }
    })
}
