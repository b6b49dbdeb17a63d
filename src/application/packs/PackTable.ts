import { exposedName } from "../../domain/tools/exposedNames.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { embedFileParams } from "../../domain/packs/params/embeddedFile.ts"
import { isValidToolName } from "../../domain/packs/packNames.ts"
import { findRouteConflicts } from "../../domain/packs/routes.ts"
import type { RunningPack } from "./RunningPack.ts"
import type { HostedRoute, PackView } from "./PackHost.ts"

/** A pack and the version of it that is called now, if there is one. */
export interface ActivePack {
  readonly view: PackView
  readonly running: RunningPack | undefined
}

/** A tool among those of all packs. */
export interface HostedTool {
  readonly running: RunningPack
  /** Its name in the pack. */
  readonly originalName: string
  /** As MCP lists it, under its name among all. */
  readonly definition: JsonObject
  readonly view: PackView
}

/** What all packs offer together. */
export interface PackTable {
  readonly views: ReadonlyArray<PackView>
  /** By endpoint. */
  readonly routes: ReadonlyMap<string, HostedRoute & { readonly running: RunningPack }>
  /** By name. */
  readonly tools: ReadonlyMap<string, HostedTool>
}

/** How long a tool's name may be: what every MCP host takes. */
const maxToolNameLength = 64

const stringOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "")

/**
 * What packs offer together. Of two that want the same endpoint the first has it, and the other is told so; of two tools
 * of one name the second goes by `pack__tool`.
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
      const name = isNameFree
        ? originalName
        : exposedName({ owner: view.name, tool: originalName }, maxToolNameLength)
      if (tools.has(name)) continue
      if (!isNameFree)
        renamed.push(`tool '${originalName}' goes by '${name}': its own name is taken, or none`)
      const description = stringOrEmpty(tool["description"]) || view.description
      const { inputSchema } = tool
      const definition = {
        ...tool,
        name,
        description,
        ...(isJsonObject(inputSchema) && { inputSchema: embedFileParams(inputSchema) })
      }
      tools.set(name, { running, originalName, view, definition })
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
