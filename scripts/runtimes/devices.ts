/** Connects a device to a gateway over TCP, calls its tool, and publishes the gateway over HTTP. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect, Layer, Logger, Redacted, Stream } from "effect"
import {
  JsonSchemaValidator,
  authenticateByToken,
  connectDevice,
  DeviceGateway,
  gatewayLayer,
  makeFunctions,
  publishHttp,
  TcpConnector
} from "a2c-smcp"

const token = Redacted.make("a long random text")
const visit = async (url: string): Promise<void> => {
  const host = new Client({ name: "host", version: "1.0.0" })
  await host.connect(new StreamableHTTPClientTransport(new URL(url)))
  const { content } = await host.callTool({ name: "balcony__temperature", arguments: {} })
  console.log(JSON.stringify(content))
  await host.close()
}

const program = Effect.gen(function* () {
  const { address, changes, session } = yield* DeviceGateway
  const thermometer = yield* makeFunctions({ tools: [{ name: "temperature", run: () => "21 °C" }] })
  yield* Effect.asVoid(connectDevice(thermometer.session, { ...address, name: "balcony", token }))
  yield* changes.pipe(
    Stream.takeUntil((devices) => devices.some(({ services }) => services.size > 0)),
    Stream.runDrain
  )
  const { url } = yield* publishHttp(session, { port: 0, token: "allowAll" })
  yield* Effect.promise(() => visit(url))
})

const Devices = Layer.mergeAll(
  gatewayLayer({ port: 0, authenticate: authenticateByToken(token) }),
  TcpConnector.layer,
  JsonSchemaValidator.layer
)
await Effect.runPromise(
  Effect.scoped(Effect.provide(program, Devices)).pipe(Effect.provideService(Logger.LogToStderr, true))
)
