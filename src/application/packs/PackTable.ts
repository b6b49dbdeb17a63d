import { exposedName } from "../../domain/tools/exposedNames.ts"
import { isJsonObject, type JsonObject, stringOrEmpty } from "../../domain/json.ts"
import { embedFileParams } from "../../domain/packs/params/embeddedFile.ts"
import { isValidToolName } from "../../domain/packs/packNames.ts"
import { findRouteConflicts } from "../../domain/packs/routes.ts"
import type { RunningPack } from "./RunningPack.ts"
import type { HostedRoute, PackView } from "./PackView.ts"

/** A pack and its running version, if there is one. */
export interface ActivePack {
  readonly view: PackView
  readonly running: RunningPack | undefined
}

interface HostedTool {
  readonly running: RunningPack
  /** Its name in the pack. */
  readonly originalName: string
  /** As MCP lists it, with its name among all tools. */
  readonly definition: JsonObject
}

export interface PackTable {
  readonly views: ReadonlyArray<PackView>
  /** By endpoint. */
  readonly routes: ReadonlyMap<string, HostedRoute & { readonly running: RunningPack }>
  /** By name. */
  readonly tools: ReadonlyMap<string, HostedTool>
}

/** The longest tool name that every MCP host accepts. */
const maxToolNameLength = 64

/**
 * Combines the routes and tools of packs, highest priority first. A duplicate endpoint stays with the first pack, and the
 * other pack gets a warning. A tool whose name is taken or invalid is renamed to `pack__tool`.
 */
export const makePackTable = (packs: ReadonlyArray<ActivePack>): PackTable => {
  const routes = new Map<string, HostedRoute & { readonly running: RunningPack }>()
  const tools = new Map<string, HostedTool>()
  const views = packs.map(({ running, view }) => {
    if (running === undefined) return view
    const { manifest } = running.loaded
    const taken = new Map([...routes].map(([endpoint, route]) => [endpoint, route.pack.name]))
    const conflicts = findRouteConflicts(manifest.routes, taken)
    const own = manifest.routes.filter(({ endpoint }) => !conflicts.has(endpoint))
    const renamed: Array<string> = []
    for (const tool of manifest.tools) {
      const originalName = stringOrEmpty(tool["name"])
      const isNameFree = isValidToolName(originalName) && !tools.has(originalName)
      const name = isNameFree ? originalName : exposedName({ owner: view.name, tool: originalName }, maxToolNameLength)
      if (tools.has(name)) continue
      if (!isNameFree) renamed.push(`tool '${originalName}' is renamed to '${name}': its name is taken or invalid`)
      const description = stringOrEmpty(tool["description"]) || view.description
      const { inputSchema } = tool
      const definition = {
        ...tool,
        name,
        description,
        ...(isJsonObject(inputSchema) && { inputSchema: embedFileParams(inputSchema) })
      }
      tools.set(name, { running, originalName, definition })
    }
    const warnings = [...manifest.warnings, ...conflicts.values(), ...renamed]
    const updatedView: PackView =
      view.status._tag === "Ready"
        ? {
            ...view,
            status: { ...view.status, routes: own, warnings: [...view.status.warnings, ...warnings] }
          }
        : view
    for (const route of own) routes.set(route.endpoint, { pack: updatedView, route, running })
    return updatedView
  })
  return { views, routes, tools }
}
