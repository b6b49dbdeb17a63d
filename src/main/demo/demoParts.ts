import { join } from "node:path"
import { Context, Effect, FileSystem, Layer, Redacted, Stream } from "effect"
import { makeMemoryMcpServer } from "../../adapters/memory/MemoryMcp.ts"
import * as TcpConnector from "../../adapters/tcp/TcpConnector.ts"
import { authenticateByToken } from "../../adapters/auth/deviceTokens.ts"
import { SchemaValidator } from "../../application/ports/SchemaValidator.ts"
import { connectDevice } from "../../application/devices/client/DeviceClient.ts"
import { DeviceGateway } from "../../application/devices/gateway/DeviceGateway.ts"
import { PackHost } from "../../application/packs/PackHost.ts"
import { secureRandomBytes } from "../../application/shared/secureRandom.ts"
import { writePack } from "../cli/tools/newPack.ts"
import { gatewayLayer } from "../layers/gatewayLayer.ts"
import { packHostLayer } from "../layers/packHostLayer.ts"

/** The services of the lamp. */
const lamp = Effect.gen(function* () {
  let isOn = false
  const text = () => ({ content: [{ type: "text", text: isOn ? "The lamp is on." : "The lamp is off." }] })
  return yield* makeMemoryMcpServer({
    tools: [
      {
        definition: {
          name: "switch",
          description: "Switches the lamp on or off",
          inputSchema: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] }
        },
        run: ({ on }) =>
          Effect.sync(() => {
            isOn = on === true
            return text()
          })
      },
      {
        definition: { name: "state", description: "Tells whether the lamp is on", inputSchema: { type: "object" } },
        run: () => Effect.sync(text)
      }
    ]
  })
})

/** A gateway with one device, a lamp, over TCP; its session. */
export const lampSession = Effect.gen(function* () {
  const token = Redacted.make(Buffer.from(secureRandomBytes(24)).toString("base64url"))
  const context = yield* Layer.build(gatewayLayer({ port: 0, authenticate: authenticateByToken(token) }))
  const { address, changes, session } = Context.get(context, DeviceGateway)
  const device = yield* lamp
  const connecting = Effect.asVoid(connectDevice(yield* device.connect, { ...address, name: "lamp", token }))
  // The gateway validates the calls.
  const ports = Layer.merge(TcpConnector.layer, SchemaValidator.layerAllowAll)
  yield* Effect.provide(connecting, yield* Layer.build(ports))
  yield* Stream.runDrain(Stream.takeUntil(changes, (devices) => devices.some(({ services }) => services.size > 0)))
  return session
})

/** A host of one tool pack; its session. */
export const packSession = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = join(yield* fs.makeTempDirectoryScoped({ prefix: "a2c-demo-packs-" }), "packs")
  yield* writePack({ dir: folder, name: "text_counter" })
  const context = yield* Layer.build(packHostLayer({ folders: [folder], install: false, watch: false }))
  const { rescan, session } = Context.get(context, PackHost)
  yield* rescan
  return session
})
