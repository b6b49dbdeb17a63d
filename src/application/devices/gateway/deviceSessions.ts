import { Effect, Stream } from "effect"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { McpSessionError, type McpSession } from "../../ports/McpSession.ts"
import { toolNotFound, toolsOnlySession } from "../../shared/toolsOnlySession.ts"
import type { DeviceRegistry, DeviceEntry } from "./DeviceRegistry.ts"

/** How many tools one page of a listing holds. */
const pageSize = 1000

/** A service as MCP lists it. */
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

/** Tells whenever something that belongs to a registry is another one than before. */
const makeWatch =
  (registry: DeviceRegistry, current: () => unknown): McpSession["watch"] =>
  ({ tools }) =>
    Effect.map(registry.changes, (changes) => {
      if (!tools) return Stream.never
      let previous = current()
      return changes.pipe(
        Stream.filter(() => {
          const last = previous
          previous = current()
          return previous !== last
        }),
        Stream.map(() => ({ _tag: "ToolsChanged" }) as const)
      )
    })

/** All devices of a gateway as one MCP peer: their services are the tools `device__service`. */
export const makeGatewaySession = (registry: DeviceRegistry, name: string): McpSession => {
  let listed: { readonly of: unknown; readonly items: ReadonlyArray<JsonObject> } | undefined
  /** The listing right now; made anew only when it is another. */
  const items = () => {
    const tools = registry.tools()
    if (listed?.of !== tools) {
      const definitions = [...tools].map(([tool, { entry, service }]) => ({
        ...toMcpTool(tool, entry.device.services.get(service) ?? { description: "", parameters: {} }),
        _meta: { a2c_device: entry.device.name, a2c_service: service }
      }))
      listed = { of: tools, items: definitions }
    }
    return listed.items
  }
  return {
    ...toolsOnlySession(
      name,
      "These are services of devices: each is named DEVICE__SERVICE. Devices come and go."
    ),
    listTools: (cursor) => Effect.suspend(() => pageAt(items(), cursor)),
    callTool: (tool, params) =>
      Effect.suspend(() => {
        const found = registry.tools().get(tool)
        const service = found?.entry.device.services.get(found.service)
        return found === undefined || service === undefined
          ? Effect.fail(toolNotFound(tool))
          : found.entry.calls.call(found.service, service, params)
      }),
    watch: makeWatch(registry, registry.tools),
    ping: Effect.void,
    closed: Effect.never
  }
}

/** One device as an MCP peer: its services are its tools. The session ends with the device's connection. */
export const makeDeviceSession = (registry: DeviceRegistry, entry: DeviceEntry): McpSession => {
  const items = () =>
    [...entry.device.services].map(([service, definition]) => toMcpTool(service, definition))
  return {
    ...toolsOnlySession(entry.device.name),
    listTools: (cursor) => Effect.suspend(() => pageAt(items(), cursor)),
    callTool: (tool, params) =>
      Effect.suspend(() => {
        const service = entry.device.services.get(tool)
        return service === undefined
          ? Effect.fail(toolNotFound(tool))
          : entry.calls.call(tool, service, params)
      }),
    watch: makeWatch(registry, () => entry.device.services),
    ping: Effect.flatMap(Effect.sync(entry.calls.disconnectReason), (reason) =>
      reason === undefined
        ? Effect.void
        : Effect.fail(new McpSessionError({ reason: "closed", message: `the device is gone: ${reason}` }))
    ),
    closed: Effect.map(
      entry.calls.disconnected,
      (reason) => new McpSessionError({ reason: "closed", message: `the device is gone: ${reason}` })
    )
  }
}
