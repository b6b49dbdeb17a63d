import { Clock, Duration, Effect, PubSub, Stream } from "effect"
import { exposedName, longestToolName } from "../../../domain/tools/exposedNames.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import { makeRefresher } from "../../shared/Refresher.ts"
import { type InspectedFault, maxFaults, maxFaultLength } from "../../../domain/page/Inspection.ts"
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
  /** The latest faults, for operators; the oldest one first. */
  faults: ReadonlyArray<InspectedFault>
  /** Closes the connection after a session takeover. */
  readonly evict: () => void
}

export const recordFault = (entry: DeviceEntry, text: string): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (at) => {
    const fault = { at, text: text.slice(0, maxFaultLength).toWellFormed() }
    entry.faults = [...entry.faults, fault].slice(-maxFaults)
  })

export interface RegisteredService {
  readonly entry: DeviceEntry
  readonly service: string
}

export type DeviceRegistry = Effect.Success<typeof makeDeviceRegistry>

const changeDebounce = Duration.millis(100)

export const makeDeviceRegistry = Effect.gen(function* () {
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
        const name = exposedName({ owner: entry.device.name, tool: service }, longestToolName)
        if (!byName.has(name)) byName.set(name, { entry, service })
      }
    }
    return byName
  }

  return {
    /** Adds a device. A device with the same name is evicted: after a reconnect, the old connection is stale. */
    add: Effect.fnUntraced(function* (entry: DeviceEntry) {
      const { name: device, remoteAddress } = entry.device
      const previous = entries.get(device)
      entries.set(device, entry)
      previous?.evict()
      yield* notifyChanged(previous !== undefined && previous.device.services.size > 0)
      yield* previous === undefined
        ? Effect.logInfo("device connected", { device, remoteAddress })
        : Effect.logWarning("device session taken over", { device, remoteAddress })
    }),
    updateServices: Effect.fnUntraced(function* (entry: DeviceEntry, services: Device["services"]) {
      entry.device = { ...entry.device, services }
      if (entries.get(entry.device.name) === entry) yield* notifyChanged(true)
    }),
    remove: Effect.fnUntraced(function* (entry: DeviceEntry) {
      const { name, services } = entry.device
      if (entries.get(name) !== entry) return
      entries.delete(name)
      lowestFreeNumber = 1
      yield* notifyChanged(services.size > 0)
    }),
    /** The lowest free name `device-N`, so a device that reconnects usually keeps its name. */
    nextFreeName: (): string => {
      while (entries.has(`device-${lowestFreeNumber}`)) lowestFreeNumber++
      return `device-${lowestFreeNumber}`
    },
    entries: entries as ReadonlyMap<string, DeviceEntry>,
    /** Services of all devices by tool name; the same map until one changes. */
    tools: (): ReadonlyMap<string, RegisteredService> => (tools ??= collectTools()),
    /** Emits after a device connects, disconnects or changes its services; debounced. */
    changes: Effect.map(PubSub.subscribe(hub), Stream.fromSubscription)
  }
})
