import { Duration, Effect, PubSub, type Scope, Stream } from "effect"
import { exposedName } from "../../domain/bridge/names.ts"
import type { Service } from "../../domain/devices/services.ts"
import { makeRefresher } from "../Refresher.ts"
import type { DeviceCalls } from "./DeviceCalls.ts"

/** A device that is connected. */
export interface Device {
  readonly name: string
  /** The address it comes from. */
  readonly peer: string
  /** Since when it is connected, in milliseconds since 1970. */
  readonly since: number
  readonly services: ReadonlyMap<string, Service>
}

/** A device as its own connection keeps it. */
export interface Entry {
  device: Device
  readonly calls: DeviceCalls
  /** Ends its connection, because another one goes by its name now. */
  readonly supersede: () => void
}

/** A service among those of all devices. */
interface Registered {
  readonly entry: Entry
  readonly service: string
}

/** The devices that are connected, and their services under names of their own. */
export interface DeviceRegistry {
  /** Takes a device in. Whoever went by that name before is superseded: a device that comes back is more alive. */
  readonly enter: (entry: Entry) => Effect.Effect<void>
  /** These are the services of a device now. */
  readonly update: (entry: Entry, services: ReadonlyMap<string, Service>) => Effect.Effect<void>
  readonly leave: (entry: Entry) => Effect.Effect<void>
  /** A name for a device that has none: the lowest number that is free, so that one that comes back has it again. */
  readonly freeName: () => string
  readonly find: (device: string) => Entry | undefined
  readonly entries: () => Iterable<Entry>
  /** The services of all devices by the name of their tool; the same map as long as they are the same. */
  readonly tools: () => ReadonlyMap<string, Registered>
  /** Somebody came, went, or has other services now; changes that follow each other closely are one. */
  readonly changes: Effect.Effect<Stream.Stream<void>, never, Scope.Scope>
}

/** How long a tool's name may be: what every MCP host takes. */
const nameBudget = 64

/** Changes closer together than this are told as one. */
const changePause = Duration.millis(100)

/** Makes a registry without devices. */
export const makeDeviceRegistry: Effect.Effect<DeviceRegistry, never, Scope.Scope> = Effect.gen(function* () {
  const entries = new Map<string, Entry>()
  let tools: Map<string, Registered> | undefined
  /** All numbers below this one are taken: of thousands that come at once, none counts from 1. */
  let lowest = 1
  const hub = yield* Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown)
  const { refresh } = yield* makeRefresher(changePause)
  /** Tells of a change; the tools are others now unless it is about a device without services. */
  const changed = (hasTools: boolean) => {
    if (hasTools) tools = undefined
    return refresh(hasTools ? "tools" : "devices", Effect.asVoid(PubSub.publish(hub, undefined)))
  }

  const collect = () => {
    const named = new Map<string, Registered>()
    for (const entry of entries.values()) {
      for (const service of entry.device.services.keys()) {
        const name = exposedName({ owner: entry.device.name, tool: service }, nameBudget)
        if (!named.has(name)) named.set(name, { entry, service })
      }
    }
    return named
  }

  return {
    enter: (entry) =>
      Effect.suspend(() => {
        const { name, peer } = entry.device
        const before = entries.get(name)
        entries.set(name, entry)
        before?.supersede()
        const said =
          before === undefined
            ? Effect.logInfo("device connected", { device: name, peer })
            : Effect.logWarning("device connected again, its earlier connection ends", { device: name, peer })
        return Effect.andThen(changed(before !== undefined && before.device.services.size > 0), said)
      }),
    update: (entry, services) =>
      Effect.suspend(() => {
        entry.device = { ...entry.device, services }
        return entries.get(entry.device.name) === entry ? changed(true) : Effect.void
      }),
    leave: (entry) =>
      Effect.suspend(() => {
        const { name, services } = entry.device
        if (entries.get(name) !== entry) return Effect.void
        entries.delete(name)
        lowest = 1
        return changed(services.size > 0)
      }),
    freeName: () => {
      while (entries.has(`device-${lowest}`)) lowest++
      return `device-${lowest}`
    },
    find: (device) => entries.get(device),
    entries: () => entries.values(),
    tools: () => (tools ??= collect()),
    changes: Effect.map(PubSub.subscribe(hub), Stream.fromSubscription)
  }
})
