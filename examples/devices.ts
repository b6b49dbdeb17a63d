/** A gateway that accepts devices over TCP, and a device that offers the tools of an MCP server. */
import { Console, Effect, Layer, Redacted, Stream } from "effect"
import {
  JsonSchemaValidator,
  authenticateByToken,
  connectDevice,
  DeviceGateway,
  gatewayLayer,
  TcpConnector
} from "a2c-smcp"
import { weather } from "./shared/office.ts"

const token = Redacted.make("a long random text")

const program = Effect.gen(function* () {
  const { address, changes, session } = yield* DeviceGateway
  // A device is usually another program. It offers the tools of any session, and reconnects.
  const server = yield* weather
  const status = yield* connectDevice(yield* server.connect, { ...address, name: "balcony", token })
  yield* Effect.forkScoped(Stream.runForEach(status, ({ _tag }) => Console.log(`the device: ${_tag}`)))
  yield* changes.pipe(
    Stream.takeUntil((devices) => devices.some(({ services }) => services.size > 0)),
    Stream.runDrain
  )

  // All devices are one MCP peer: publish it, or call its tools here.
  const { items } = yield* session.listTools()
  yield* Console.log(...items.map(({ name }) => name))
  const { content } = yield* session.callTool("balcony__temperature", { city: "Vienna" })
  yield* Console.log(content)
})

const Devices = Layer.mergeAll(
  gatewayLayer({ port: 0, authenticate: authenticateByToken(token) }),
  TcpConnector.layer,
  JsonSchemaValidator.layer
)
await Effect.runPromise(Effect.scoped(Effect.provide(program, Devices)))
