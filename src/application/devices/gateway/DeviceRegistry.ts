import { Duration, Effect, PubSub, type Scope, Stream } from "effect"
import { exposedName } from "../../../domain/tools/exposedNames.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import { makeRefresher } from "../../shared/Refresher.ts"
import type { DeviceCalls } from "./DeviceCalls.ts"

/** A device that is connected. */
export interface Device {
  readonly name: string
  /** The address it comes from. */
  readonly remoteAddress: string
  /** Since when it is connected, in milliseconds since 1970. */
  readonly connectedAt: number
  readonly services: ReadonlyMap<string, DeviceService>
}

/** A device as its own connection keeps it. */
export interface DeviceEntry {
  device: Device
  readonly calls: DeviceCalls
  /** Ends its connection, because another one goes by its name now. */
  readonly evict: () => void
}

/** A service among those of all devices. */
export interface RegisteredService {
  readonly entry: DeviceEntry
  readonly service: string
}

/** The devices that are connected, and their services under names of their own. */
export interface DeviceRegistry {
  /** Takes a device in. Whoever went by that name before is superseded: a device that comes back is more alive. */
  readonly add: (entry: DeviceEntry) => Effect.Effect<void>
  /** These are the services of a device now. */
  readonly updateServices: (
    entry: DeviceEntry,
    services: ReadonlyMap<string, DeviceService>
  ) => Effect.Effect<void>
  readonly remove: (entry: DeviceEntry) => Effect.Effect<void>
  /** A name for a device that has none: the lowest number that is free, so that one that comes back has it again. */
  readonly nextFreeName: () => string
  readonly find: (device: string) => DeviceEntry | undefined
  readonly entries: () => Iterable<DeviceEntry>
  /** The services of all devices by the name of their tool; the same map as long as they are the same. */
  readonly tools: () => ReadonlyMap<string, RegisteredService>
  /** Somebody came, went, or has other services now; changes that follow each other closely are one. */
  readonly changes: Effect.Effect<Stream.Stream<void>, never, Scope.Scope>
}

/** How long a tool's name may be: what every MCP host takes. */
const maxToolNameLength = 64

/** Changes closer together than this are told as one. */
const changeDebounce = Duration.millis(100)

/** Makes a registry without devices. */
export const makeDeviceRegistry: Effect.Effect<DeviceRegistry, never, Scope.Scope> = Effect.gen(function* () {
  const entries = new Map<string, DeviceEntry>()
  let tools: Map<string, RegisteredService> | undefined
  /** All numbers below this one are taken: of thousands that come at once, none counts from 1. */
  let lowestFreeNumber = 1
  const hub = yield* Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown)
  const { refresh } = yield* makeRefresher(changeDebounce)
  /** Tells of a change; the tools are others now unless it is about a device without services. */
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
        const logged =
          previous === undefined
            ? Effect.logInfo("device connected", { device: name, peer: remoteAddress })
            : Effect.logWarning("device connected again, its earlier connection ends", {
                device: name,
                peer: remoteAddress
              })
        return Effect.andThen(
          notifyChanged(previous !== undefined && previous.device.services.size > 0),
          logged
        )
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
