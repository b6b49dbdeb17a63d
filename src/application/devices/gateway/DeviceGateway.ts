import { Context, Effect, Layer, type Scope, Stream } from "effect"
import { ByteListener } from "../../ports/ByteLink.ts"
import type { McpSession } from "../../ports/McpSession.ts"
import type { SchemaValidator } from "../../ports/SchemaValidator.ts"
import type { ListenError } from "../../ports/Transport.ts"
import { makeBufferLimit } from "../../shared/BufferLimit.ts"
import type { AuthenticateDevice } from "../AuthenticateDevice.ts"
import { type GatewayLimits, defaultGatewayLimits } from "../DeviceLimits.ts"
import { makeParamsCheck } from "../../shared/paramsCheck.ts"
import { makeAuthThrottle } from "../../shared/AuthThrottle.ts"
import { type BufferedConnection, type GatewayContext, type OnDeviceFrame, serveDevice } from "./DeviceConnection.ts"
import { type Device, makeDeviceRegistry } from "./DeviceRegistry.ts"
import { makeGatewaySession, makeDeviceSession } from "./deviceSessions.ts"

export interface DeviceGatewayOptions {
  /** Address to listen on; `127.0.0.1` by default, which only this machine reaches. */
  readonly host?: string
  /** 0 picks a free port. */
  readonly port: number
  /** How devices authenticate. `"allowAll"` admits every device that reaches the address, with any name. */
  readonly authenticate: AuthenticateDevice | "allowAll"
  readonly limits?: Partial<GatewayLimits>
  /**
   * Answers every registration with a `registered` message: the number of accepted services, and the errors of the
   * others. The protocol has no such message, so devices must know it. Off by default.
   */
  readonly acknowledgeRegistration?: boolean
  readonly onFrame?: OnDeviceFrame
}

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

const make = Effect.fnUntraced(function* ({
  acknowledgeRegistration = false,
  authenticate,
  host = "127.0.0.1",
  limits: limitOverrides,
  onFrame,
  port
}: DeviceGatewayOptions): Effect.fn.Return<
  DeviceGateway["Service"],
  ListenError,
  ByteListener | SchemaValidator | Scope.Scope
> {
  const { listen } = yield* ByteListener
  const registry = yield* makeDeviceRegistry
  const limits = { ...defaultGatewayLimits, ...limitOverrides }
  const context: GatewayContext = {
    registry,
    limits,
    authenticate,
    acknowledgeRegistration,
    onFrame,
    authThrottle: makeAuthThrottle(),
    checkParams: yield* makeParamsCheck,
    buffers: yield* makeBufferLimit<BufferedConnection>(limits.maxBufferedBytes, {
      heldBytes: ({ link }) => link.bufferedBytes(),
      passedBytes: ({ link }) => link.passedBytes(),
      close: ({ closeForBuffers }) => closeForBuffers()
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
    deviceSession: (name) =>
      Effect.sync(() => {
        const entry = registry.entries.get(name)
        return entry === undefined ? undefined : makeDeviceSession(registry, entry)
      })
  }
})
