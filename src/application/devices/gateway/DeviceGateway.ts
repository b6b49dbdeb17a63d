import { Clock, Context, Effect, Layer, type Scope, Stream } from "effect"
import { type ByteLink, ByteListener } from "../../ports/ByteLink.ts"
import type { McpSession } from "../../ports/McpSession.ts"
import type { ListenError } from "../../ports/Transport.ts"
import type { AuthenticateDevice } from "../AuthenticateDevice.ts"
import { type GatewayLimits, defaultGatewayLimits } from "../DeviceLimits.ts"
import { makeAuthThrottle } from "./AuthThrottle.ts"
import { serveDevice } from "./DeviceConnection.ts"
import { type Device, makeDeviceRegistry } from "./DeviceRegistry.ts"
import { makeGatewaySession, makeDeviceSession } from "./deviceSessions.ts"
import type { GatewayContext, OnDeviceFrame } from "./GatewayContext.ts"

/** Options of a gateway. */
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
  static readonly layer = (options: DeviceGatewayOptions): Layer.Layer<DeviceGateway, ListenError, ByteListener> =>
    Layer.effect(DeviceGateway, make(options))
}

const make = Effect.fnUntraced(function* ({
  acknowledgeRegistration = false,
  authenticate,
  host = "127.0.0.1",
  limits: limitOverrides,
  onFrame,
  port
}: DeviceGatewayOptions): Effect.fn.Return<DeviceGateway["Service"], ListenError, ByteListener | Scope.Scope> {
  const { listen } = yield* ByteListener
  const registry = yield* makeDeviceRegistry
  const limits = { ...defaultGatewayLimits, ...limitOverrides }
  const authThrottle = makeAuthThrottle()
  const context: GatewayContext = {
    registry,
    limits,
    authenticate: authenticate === "allowAll" ? undefined : authenticate,
    acknowledgeRegistration,
    onFrame,
    authThrottle
  }
  const serve = Effect.fnUntraced(function* (link: ByteLink) {
    const { remoteAddress } = link
    if (authThrottle.isBlocked(remoteAddress, yield* Clock.currentTimeMillis)) {
      return yield* Effect.logDebug("device throttled", { remoteAddress })
    }
    return yield* serveDevice(link, context)
  })
  // The listener owns the fibers of connections, so they do not inherit the context of this service.
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
