import { Effect, Stream } from "effect"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { InspectedPart } from "../../../domain/page/Inspection.ts"
import { McpSessionError, type McpSession } from "../../ports/McpSession.ts"
import { toolNotFoundError, toolsOnlySession } from "../../shared/toolsOnlySession.ts"
import { withParts } from "../../shared/page/partsResource.ts"
import type { DeviceRegistry, DeviceEntry, RegisteredService } from "./DeviceRegistry.ts"

const pageSize = 1000

const toMcpTool = (name: string, { description, parameters }: DeviceService): JsonObject => ({
  name,
  description,
  inputSchema: parameters
})

const pageAt = (items: ReadonlyArray<JsonObject>, cursor = "0") => {
  const start = Number(cursor)
  if (!Number.isInteger(start) || start < 0 || start > items.length) {
    return Effect.fail(new McpSessionError({ reason: "protocol", code: -32602, message: "Invalid cursor" }))
  }
  const end = start + pageSize
  const nextCursor = end < items.length ? String(end) : undefined
  return Effect.succeed({ items: items.slice(start, end), nextCursor })
}

interface SessionTools {
  /** What the list is made from; another reference means that the tools have changed. */
  readonly source: () => unknown
  readonly list: () => ReadonlyArray<JsonObject>
  readonly find: (tool: string) => RegisteredService | undefined
}

const makeToolMembers = (
  registry: DeviceRegistry,
  { find, list, source }: SessionTools
): Pick<McpSession, "listTools" | "callTool" | "watch"> => ({
  listTools: (cursor) => Effect.suspend(() => pageAt(list(), cursor)),
  callTool: (tool, params) =>
    Effect.suspend(() => {
      const found = find(tool)
      const service = found?.entry.device.services.get(found.service)
      return found === undefined || service === undefined
        ? Effect.fail(toolNotFoundError(tool))
        : found.entry.calls.call(found.service, service, params)
    }),
  watch: ({ tools }) =>
    Effect.map(registry.changes, (changes) => {
      if (!tools) return Stream.never
      let last = source()
      return changes.pipe(
        Stream.filter(() => last !== (last = source())),
        Stream.map(() => ({ _tag: "ToolsChanged" }) as const)
      )
    })
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
export const makeGatewaySession = (registry: DeviceRegistry): McpSession => {
  let cached: { readonly of: unknown; readonly items: ReadonlyArray<JsonObject> } | undefined
  const list = () => {
    const tools = registry.tools()
    if (cached?.of !== tools) {
      const items = [...tools].map(([tool, { entry, service }]) => ({
        ...toMcpTool(tool, entry.device.services.get(service) ?? { description: "", parameters: {} }),
        _meta: { a2c_device: entry.device.name, a2c_service: service }
      }))
      cached = { of: tools, items }
    }
    return cached.items
  }
  return {
    ...withParts(
      toolsOnlySession(
        "a2c-devices",
        "Services of devices, each named DEVICE__SERVICE. Devices connect and disconnect."
      ),
      () => [...registry.entries.values()].map(describeDevice)
    ),
    ...makeToolMembers(registry, { source: registry.tools, list, find: (tool) => registry.tools().get(tool) }),
    ping: Effect.void,
    closed: Effect.never
  }
}

/** Exposes the services of one device as an MCP peer. The session ends with the connection of the device. */
export const makeDeviceSession = (registry: DeviceRegistry, entry: DeviceEntry): McpSession => {
  const closedError = (reason: string) =>
    new McpSessionError({ reason: "closed", message: `the device disconnected: ${reason}` })
  return {
    ...toolsOnlySession(entry.device.name),
    ...makeToolMembers(registry, {
      source: () => entry.device.services,
      list: () => [...entry.device.services].map(([service, definition]) => toMcpTool(service, definition)),
      find: (service) => ({ entry, service })
    }),
    ping: Effect.suspend(() => {
      const reason = entry.calls.disconnectReason()
      return reason === undefined ? Effect.void : Effect.fail(closedError(reason))
    }),
    closed: Effect.map(entry.calls.disconnected, closedError)
  }
}
