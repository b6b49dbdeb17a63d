import { Context, Effect, Layer, Stream } from "effect"
import { ByteListener } from "../../ports/ByteLink.ts"
import { type McpSession, McpSessionError } from "../../ports/McpSession.ts"
import type { SchemaValidator } from "../../ports/SchemaValidator.ts"
import type { ListenError } from "../../ports/Transport.ts"
import { makeBufferLimit } from "../../shared/BufferLimit.ts"
import type { DeviceGatewayOptions } from "../DeviceGatewayOptions.ts"
import { defaultGatewayLimits } from "../DeviceLimits.ts"
import { makeParamsCheck } from "../../shared/paramsCheck.ts"
import { makeAuthThrottle } from "../../shared/AuthThrottle.ts"
import { closings, type DevicePeer, type GatewayContext, serveDevice } from "./DeviceConnection.ts"
import {
  type Device,
  makeDeviceRegistry,
  type DeviceRegistry,
  type DeviceEntry,
  type RegisteredService
} from "./DeviceRegistry.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import { computeOnce } from "../../../domain/objects.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { InspectedPart } from "../../../domain/page/Inspection.ts"
import { pageOfListing, toolNotFoundError, toolsOnlySession, watchTools } from "../../shared/toolsOnlySession.ts"
import { withParts } from "../../shared/page/partsResource.ts"

/** Accepts devices over TCP and exposes their services as MCP peers (seed 002). */
export class DeviceGateway extends Context.Service<
  DeviceGateway,
  {
    readonly address: { readonly host: string; readonly port: number }
    readonly devices: Effect.Effect<ReadonlyArray<Device>>
    /** The connected devices: the current list, then one after every change. */
    readonly changes: Stream.Stream<ReadonlyArray<Device>>
    /** All devices as one peer with tools named `device__service`. */
    readonly session: McpSession
    /** One device as a peer; undefined when it is not connected. */
    readonly deviceSession: (name: string) => Effect.Effect<McpSession | undefined>
  }
>()("a2c-smcp/application/devices/DeviceGateway") {
  /** Listens until the scope of the layer closes. */
  static readonly layer = (
    options: DeviceGatewayOptions
  ): Layer.Layer<DeviceGateway, ListenError, ByteListener | SchemaValidator> =>
    Layer.effect(DeviceGateway, make(options))
}

const make = Effect.fnUntraced(function* (options: DeviceGatewayOptions) {
  const { host = "127.0.0.1", port } = options
  const { listen } = yield* ByteListener
  const registry = yield* makeDeviceRegistry
  const limits = { ...defaultGatewayLimits, ...options.limits }
  const context: GatewayContext = {
    ...options,
    registry,
    limits,
    authThrottle: makeAuthThrottle(),
    checkParams: yield* makeParamsCheck,
    buffers: yield* makeBufferLimit<DevicePeer>(limits.maxBufferedBytes, {
      heldBytes: ({ link }) => link.bufferedBytes(),
      passedBytes: ({ link }) => link.passedBytes(),
      close: ({ close }) => close(closings.buffers)
    })
  }
  // The listener owns the fibers of connections, so they do not inherit the context of this service.
  const services = yield* Effect.context<never>()
  const address = yield* listen({ host, port, maxConnections: limits.maxDevices }, (link) =>
    Effect.provideContext(serveDevice(link, context), services)
  )
  const devices = Effect.sync(() => [...registry.entries.values()].map(({ device }) => device))
  return {
    address,
    devices,
    changes: Stream.unwrap(Effect.map(registry.changes, Stream.prepend([undefined]))).pipe(
      Stream.mapEffect(() => devices)
    ),
    session: makeGatewaySession(registry),
    deviceSession: (name: string) =>
      Effect.sync(() => {
        const entry = registry.entries.get(name)
        return entry && makeDeviceSession(registry, entry)
      })
  }
})

const pageSize = 1000

const toMcpTool = (name: string, { description, parameters }: DeviceService): JsonObject => ({
  name,
  description,
  inputSchema: parameters
})

/** Makes the tools of a session. Another reference of their source means that they have changed. */
const makeToolMembers = (
  registry: DeviceRegistry,
  source: () => unknown,
  list: () => ReadonlyArray<JsonObject>,
  find: (tool: string) => RegisteredService | undefined
): Pick<McpSession, "listTools" | "callTool" | "watch"> => ({
  listTools: (cursor) => Effect.suspend(() => pageOfListing(list(), pageSize, cursor)),
  callTool: (tool, params) =>
    Effect.suspend(() => {
      const found = find(tool)
      const service = found?.entry.device.services.get(found.service)
      return found === undefined || service === undefined
        ? Effect.fail(toolNotFoundError(tool))
        : found.entry.calls.call(found.service, service, params)
    }),
  watch: watchTools(registry.changes, Effect.sync(source))
})

const describeDevice = ({ device, faults }: DeviceEntry): InspectedPart => ({
  kind: "device",
  name: device.name,
  state: "connected",
  reason: `from ${device.remoteAddress} since ${new Date(device.connectedAt).toISOString()}`,
  offers: [...device.services.keys()],
  faults
})

/** Combines all devices of a gateway into one MCP peer with tools named `device__service`. */
const makeGatewaySession = (registry: DeviceRegistry): McpSession => {
  const listOnce = computeOnce((tools: ReadonlyMap<string, RegisteredService>) =>
    [...tools].map(([tool, { entry, service }]) => ({
      ...toMcpTool(tool, entry.device.services.get(service) ?? { description: "", parameters: {} }),
      _meta: { a2c_device: entry.device.name, a2c_service: service }
    }))
  )
  const list = () => listOnce(registry.tools())
  return {
    ...withParts(
      toolsOnlySession(
        "a2c-devices",
        "Services of devices, each named DEVICE__SERVICE. Devices connect and disconnect."
      ),
      () => [...registry.entries.values()].map(describeDevice)
    ),
    ...makeToolMembers(registry, registry.tools, list, (tool) => registry.tools().get(tool))
  }
}

/** Exposes the services of one device as an MCP peer. The session ends with the connection of the device. */
const makeDeviceSession = (registry: DeviceRegistry, entry: DeviceEntry): McpSession => {
  const closedError = (reason: string) =>
    new McpSessionError({ reason: "closed", message: `the device disconnected: ${reason}` })
  return {
    ...toolsOnlySession(entry.device.name),
    ...makeToolMembers(
      registry,
      () => entry.device.services,
      () => [...entry.device.services].map(([service, definition]) => toMcpTool(service, definition)),
      (service) => ({ entry, service })
    ),
    ping: Effect.suspend(() => {
      const reason = entry.calls.disconnectReason()
      return reason === undefined ? Effect.void : Effect.fail(closedError(reason))
    }),
    closed: Effect.map(entry.calls.disconnected, closedError)
  }
}
