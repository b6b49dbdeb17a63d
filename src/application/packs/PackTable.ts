import { exposedName, longestToolName } from "../../domain/tools/exposedNames.ts"
import { isJsonObject, type JsonObject, stringOrEmpty } from "../../domain/json.ts"
import { embedFileParams } from "../../domain/packs/params/embeddedFile.ts"
import { isValidToolName } from "../../domain/packs/packNames.ts"
import { findRouteConflicts } from "../../domain/packs/routes.ts"
import type { PackRoute } from "../../domain/packs/PackManifest.ts"
import type { RunningPack } from "./RunningPack.ts"

export type PackStatus =
  | { readonly _tag: "Disabled" }
  | { readonly _tag: "Installing" }
  | { readonly _tag: "Loading" }
  | {
      readonly _tag: "Ready"
      readonly tools: ReadonlyArray<JsonObject>
      readonly routes: ReadonlyArray<PackRoute>
      readonly warnings: ReadonlyArray<string>
    }
  | { readonly _tag: "Failed"; readonly reason: string }

/** True for a pack that is neither loaded nor has failed yet. */
export const isPending = ({ _tag }: PackStatus): boolean => _tag === "Installing" || _tag === "Loading"

/** A pack as the users of its host see it. */
export interface PackView {
  readonly name: string
  /** Absolute path of its folder, or of its only file. */
  readonly path: string
  readonly description: string
  readonly usage: string
  readonly status: PackStatus
}

export interface HostedRoute {
  readonly pack: PackView
  readonly route: PackRoute
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
  readonly tools: ReadonlyMap<string, HostedTool>
}

/**
 * Combines the routes and tools of packs, highest priority first. A duplicate endpoint stays with the first pack, and the
 * other pack gets a warning. A tool whose name is taken or invalid is renamed to `pack__tool`.
 */
export const makePackTable = (
  packs: ReadonlyArray<{ readonly view: PackView; readonly running: RunningPack | undefined }>
): PackTable => {
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
      const name = isNameFree ? originalName : exposedName({ owner: view.name, tool: originalName }, longestToolName)
      if (tools.has(name)) continue
      if (!isNameFree) renamed.push(`tool '${originalName}' is renamed to '${name}': its name is taken or invalid`)
      const description = stringOrEmpty(tool["description"]) || view.description
      const inputSchema = isJsonObject(tool["inputSchema"]) && { inputSchema: embedFileParams(tool["inputSchema"]) }
      tools.set(name, { running, originalName, definition: { ...tool, name, description, ...inputSchema } })
    }
    const warnings = [...manifest.warnings, ...conflicts.values(), ...renamed]
    const { status } = view
    const updatedView: PackView =
      status._tag === "Ready"
        ? { ...view, status: { ...status, routes: own, warnings: [...status.warnings, ...warnings] } }
        : view
    for (const route of own) routes.set(route.endpoint, { pack: updatedView, route, running })
    return updatedView
  })
  return { views, routes, tools }
}
