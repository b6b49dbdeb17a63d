import { Clock, Context, Effect, Layer, type Scope, Stream } from "effect"
import { type ByteLink, ByteListener } from "../../ports/ByteLink.ts"
import type { McpSession } from "../../ports/McpSession.ts"
import type { ListenError } from "../../ports/Transport.ts"
import type { AuthenticateDevice } from "../AuthenticateDevice.ts"
import { type GatewayContext, type OnDeviceFrame, serveDevice } from "./DeviceConnection.ts"
import { type GatewayLimits, defaultGatewayLimits } from "../DeviceLimits.ts"
import { type Device, makeDeviceRegistry } from "./DeviceRegistry.ts"
import { makeAuthThrottle } from "./AuthThrottle.ts"
import { makeGatewaySession, makeDeviceSession } from "./deviceSessions.ts"

/** What an operator may set about a gateway. */
export interface DeviceGatewayOptions {
  /** The address to listen on; only this machine reaches `127.0.0.1`, which it is unless set. */
  readonly host?: string
  /** 0 picks a free port. */
  readonly port: number
  /** Decides who may come in; everybody may unless set. */
  readonly authenticate?: AuthenticateDevice
  readonly limits?: Partial<GatewayLimits>
  /**
   * Answer every registration with a message `registered` that says how many services were taken, and what is wrong
   * with the others. The protocol has no such message, so a device must know it.
   */
  readonly acknowledgeRegistration?: boolean
  /** Hears what devices send beside MCP, as it came; nobody does unless set. */
  readonly onFrame?: OnDeviceFrame
}

/** Devices that connect over TCP and register services, as MCP peers (seed 002). */
export class DeviceGateway extends Context.Service<
  DeviceGateway,
  {
    /** Where it listens. */
    readonly address: { readonly host: string; readonly port: number }
    /** The devices that are connected. */
    readonly devices: Effect.Effect<ReadonlyArray<Device>>
    /** The devices now, and whenever one came, went, or has other services. */
    readonly changes: Stream.Stream<ReadonlyArray<Device>>
    /** All devices as one peer, with tools named `device__service`. */
    readonly session: McpSession
    /** One device as a peer of its own, while it is connected. */
    readonly deviceSession: (name: string) => Effect.Effect<McpSession | undefined>
  }
>()("a2c-smcp/application/devices/DeviceGateway") {
  /** Listens until the layer's scope closes. */
  static readonly layer = (
    options: DeviceGatewayOptions
  ): Layer.Layer<DeviceGateway, ListenError, ByteListener> => Layer.effect(DeviceGateway, make(options))
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
  ByteListener | Scope.Scope
> {
  const { listen } = yield* ByteListener
  const registry = yield* makeDeviceRegistry
  const limits = { ...defaultGatewayLimits, ...limitOverrides }
  const authThrottle = makeAuthThrottle()
  const context: GatewayContext = {
    registry,
    limits,
    authenticate,
    acknowledgeRegistration,
    onFrame,
    authThrottle
  }
  const serve = Effect.fnUntraced(function* (link: ByteLink) {
    if (authThrottle.isBlocked(link.remoteAddress, yield* Clock.currentTimeMillis)) {
      return yield* Effect.logDebug("a device was refused too often", { peer: link.remoteAddress })
    }
    return yield* serveDevice(link, context)
  })
  // Connections are served in fibers of the listener: they know what this service knows.
  const services = yield* Effect.context<never>()
  const address = yield* listen({ host, port, maxConnections: limits.maxDevices }, (link) =>
    Effect.provideContext(serve(link), services)
  )
  const devices = Effect.sync(() => [...registry.entries()].map(({ device }) => device))
  return {
    address,
    devices,
    changes: Stream.unwrap(
      Effect.map(registry.changes, (changes) =>
        Stream.concat(
          Stream.fromEffect(devices),
          Stream.mapEffect(changes, () => devices)
        )
      )
    ),
    session: makeGatewaySession(registry, "a2c-devices"),
    deviceSession: (name) =>
      Effect.sync(() => {
        const entry = registry.find(name)
        return entry === undefined ? undefined : makeDeviceSession(registry, entry)
      })
  }
})
