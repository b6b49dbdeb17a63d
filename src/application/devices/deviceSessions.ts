import { Effect, Stream } from "effect"
import type { Service } from "../../domain/devices/services.ts"
import type { JsonObject } from "../../domain/json.ts"
import { McpFailure, type McpSession } from "../ports/McpSession.ts"
import { noTool, toolsOnly } from "../toolsOnly.ts"
import type { DeviceRegistry, Entry } from "./DeviceRegistry.ts"

/** How many tools one page of a listing holds. */
const pageSize = 1000

/** A service as MCP lists it. */
const listing = (name: string, { description, parameters }: Service): JsonObject => ({
  name,
  description,
  inputSchema: parameters
})

const pageOf = (items: ReadonlyArray<JsonObject>, cursor = "0") => {
  const start = Number(cursor)
  if (!Number.isInteger(start) || start < 0 || start > items.length) {
    return Effect.fail(new McpFailure({ kind: "protocol", code: -32602, message: "Invalid cursor" }))
  }
  const end = start + pageSize
  const nextCursor = end < items.length ? String(end) : undefined
  return Effect.succeed({ items: items.slice(start, end), nextCursor })
}

/** Tells whenever something that belongs to a registry is another one than before. */
const watchOf =
  (registry: DeviceRegistry, current: () => unknown): McpSession["watch"] =>
  ({ tools }) =>
    Effect.map(registry.changes, (changes) => {
      if (!tools) return Stream.never
      let known = current()
      return changes.pipe(
        Stream.filter(() => {
          const before = known
          known = current()
          return known !== before
        }),
        Stream.map(() => ({ _tag: "ToolsChanged" }) as const)
      )
    })

/** All devices of a gateway as one MCP peer: their services are the tools `device__service`. */
export const sessionOfAll = (registry: DeviceRegistry, name: string): McpSession => {
  let listed: { readonly of: unknown; readonly items: ReadonlyArray<JsonObject> } | undefined
  /** The listing right now; made anew only when it is another. */
  const items = () => {
    const tools = registry.tools()
    if (listed?.of !== tools) {
      const made = [...tools].map(([tool, { entry, service }]) => ({
        ...listing(tool, entry.device.services.get(service) ?? { description: "", parameters: {} }),
        _meta: { a2c_device: entry.device.name, a2c_service: service }
      }))
      listed = { of: tools, items: made }
    }
    return listed.items
  }
  return {
    ...toolsOnly(name, "These are services of devices: each is named DEVICE__SERVICE. Devices come and go."),
    listTools: (cursor) => Effect.suspend(() => pageOf(items(), cursor)),
    callTool: (tool, params) =>
      Effect.suspend(() => {
        const found = registry.tools().get(tool)
        const service = found?.entry.device.services.get(found.service)
        return found === undefined || service === undefined
          ? Effect.fail(noTool(tool))
          : found.entry.calls.call(found.service, service, params)
      }),
    watch: watchOf(registry, registry.tools),
    ping: Effect.void,
    ended: Effect.never
  }
}

/** One device as an MCP peer: its services are its tools. The session ends with the device's connection. */
export const sessionOfOne = (registry: DeviceRegistry, entry: Entry): McpSession => {
  const items = () => [...entry.device.services].map(([service, definition]) => listing(service, definition))
  return {
    ...toolsOnly(entry.device.name),
    listTools: (cursor) => Effect.suspend(() => pageOf(items(), cursor)),
    callTool: (tool, params) =>
      Effect.suspend(() => {
        const service = entry.device.services.get(tool)
        return service === undefined ? Effect.fail(noTool(tool)) : entry.calls.call(tool, service, params)
      }),
    watch: watchOf(registry, () => entry.device.services),
    ping: Effect.flatMap(Effect.sync(entry.calls.gone), (reason) =>
      reason === undefined
        ? Effect.void
        : Effect.fail(new McpFailure({ kind: "closed", message: `the device is gone: ${reason}` }))
    ),
    ended: Effect.map(
      entry.calls.ended,
      (reason) => new McpFailure({ kind: "closed", message: `the device is gone: ${reason}` })
    )
  }
}
