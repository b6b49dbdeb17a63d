import { Duration, Effect, PubSub, type Scope, Stream } from "effect"
import { exposedName } from "../../../domain/tools/exposedNames.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import { makeRefresher } from "../../shared/Refresher.ts"
import type { DeviceCalls } from "./DeviceCalls.ts"

export interface Device {
  readonly name: string
  readonly remoteAddress: string
  /** In milliseconds since 1970. */
  readonly connectedAt: number
  readonly services: ReadonlyMap<string, DeviceService>
}

export interface DeviceEntry {
  device: Device
  readonly calls: DeviceCalls
  /** Closes the connection after a session takeover. */
  readonly evict: () => void
}

export interface RegisteredService {
  readonly entry: DeviceEntry
  readonly service: string
}

/** Connected devices and their services. */
export interface DeviceRegistry {
  /** Adds a device. A device with the same name is evicted: after a reconnect, the old connection is stale. */
  readonly add: (entry: DeviceEntry) => Effect.Effect<void>
  readonly updateServices: (entry: DeviceEntry, services: ReadonlyMap<string, DeviceService>) => Effect.Effect<void>
  readonly remove: (entry: DeviceEntry) => Effect.Effect<void>
  /** The lowest free name `device-N`, so a device that reconnects usually keeps its name. */
  readonly nextFreeName: () => string
  readonly find: (device: string) => DeviceEntry | undefined
  readonly entries: () => Iterable<DeviceEntry>
  /** Services of all devices by tool name; the same map until one changes. */
  readonly tools: () => ReadonlyMap<string, RegisteredService>
  /** Emits after a device connects, disconnects or changes its services; debounced. */
  readonly changes: Effect.Effect<Stream.Stream<void>, never, Scope.Scope>
}

/** The longest tool name that every MCP host accepts. */
const maxToolNameLength = 64

const changeDebounce = Duration.millis(100)

export const makeDeviceRegistry: Effect.Effect<DeviceRegistry, never, Scope.Scope> = Effect.gen(function* () {
  const entries = new Map<string, DeviceEntry>()
  let tools: Map<string, RegisteredService> | undefined
  /** Keeps the search for a free name short when thousands of devices connect at once. */
  let lowestFreeNumber = 1
  const hub = yield* Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown)
  const { refresh } = yield* makeRefresher(changeDebounce)
  /** `hasTools` is false when a device without services connects or disconnects. */
  const notifyChanged = (hasTools: boolean) => {
    if (hasTools) tools = undefined
    return refresh(hasTools ? "tools" : "devices", Effect.asVoid(PubSub.publish(hub, undefined)))
  }

  const collectTools = () => {
    const byName = new Map<string, RegisteredService>()
    for (const entry of entries.values()) {
      for (const service of entry.device.services.keys()) {
        const name = exposedName({ owner: entry.device.name, tool: service }, maxToolNameLength)
        if (!byName.has(name)) byName.set(name, { entry, service })
      }
    }
    return byName
  }

  return {
    add: (entry) =>
      Effect.suspend(() => {
        const { name, remoteAddress } = entry.device
        const previous = entries.get(name)
        entries.set(name, entry)
        previous?.evict()
        const fields = { device: name, remoteAddress }
        const logged =
          previous === undefined
            ? Effect.logInfo("device connected", fields)
            : Effect.logWarning("device session taken over", fields)
        return Effect.andThen(notifyChanged(previous !== undefined && previous.device.services.size > 0), logged)
      }),
    updateServices: (entry, services) =>
      Effect.suspend(() => {
        entry.device = { ...entry.device, services }
        return entries.get(entry.device.name) === entry ? notifyChanged(true) : Effect.void
      }),
    remove: (entry) =>
      Effect.suspend(() => {
        const { name, services } = entry.device
        if (entries.get(name) !== entry) return Effect.void
        entries.delete(name)
        lowestFreeNumber = 1
        return notifyChanged(services.size > 0)
      }),
    nextFreeName: () => {
      while (entries.has(`device-${lowestFreeNumber}`)) lowestFreeNumber++
      return `device-${lowestFreeNumber}`
    },
    find: (device) => entries.get(device),
    entries: () => entries.values(),
    tools: () => (tools ??= collectTools()),
    changes: Effect.map(PubSub.subscribe(hub), Stream.fromSubscription)
  }
})
