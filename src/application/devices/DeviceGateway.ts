import { Clock, Context, Effect, Layer, type Scope, Stream } from "effect"
import { type ByteLink, ByteListener } from "../ports/ByteLink.ts"
import type { McpSession } from "../ports/McpSession.ts"
import type { ListenFailed } from "../ports/Transport.ts"
import type { AuthenticateDevice } from "./Authentication.ts"
import { type ConnectionContext, type OnFrame, serveDevice } from "./DeviceConnection.ts"
import { type GatewayLimits, usualGatewayLimits } from "./DeviceLimits.ts"
import { type Device, makeDeviceRegistry } from "./DeviceRegistry.ts"
import { makeDoor } from "./Door.ts"
import { sessionOfAll, sessionOfOne } from "./deviceSessions.ts"

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
  readonly acknowledge?: boolean
  /** Hears what devices send beside MCP, as it came; nobody does unless set. */
  readonly onFrame?: OnFrame
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
    readonly device: (name: string) => Effect.Effect<McpSession | undefined>
  }
>()("a2c-smcp/application/devices/DeviceGateway") {
  /** Listens until the layer's scope closes. */
  static readonly layer = (
    options: DeviceGatewayOptions
  ): Layer.Layer<DeviceGateway, ListenFailed, ByteListener> => Layer.effect(DeviceGateway, make(options))
}

const make = Effect.fnUntraced(function* ({
  acknowledge = false,
  authenticate,
  host = "127.0.0.1",
  limits: given,
  onFrame,
  port
}: DeviceGatewayOptions): Effect.fn.Return<
  DeviceGateway["Service"],
  ListenFailed,
  ByteListener | Scope.Scope
> {
  const { listen } = yield* ByteListener
  const registry = yield* makeDeviceRegistry
  const limits = { ...usualGatewayLimits, ...given }
  const door = makeDoor()
  const context: ConnectionContext = {
    registry,
    limits,
    authenticate,
    acknowledge,
    onFrame,
    door
  }
  const serve = Effect.fnUntraced(function* (link: ByteLink) {
    if (door.isShut(link.peer, yield* Clock.currentTimeMillis)) {
      return yield* Effect.logDebug("a device was refused too often", { peer: link.peer })
    }
    return yield* serveDevice(link, context)
  })
  // Connections are served in fibers of the listener: they know what this service knows.
  const services = yield* Effect.context<never>()
  const address = yield* listen({ host, port, mostLinks: limits.mostDevices }, (link) =>
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
    session: sessionOfAll(registry, "a2c-devices"),
    device: (name) =>
      Effect.sync(() => {
        const entry = registry.find(name)
        return entry === undefined ? undefined : sessionOfOne(registry, entry)
      })
  }
})
