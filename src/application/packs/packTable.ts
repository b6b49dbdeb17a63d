import { exposedName } from "../../domain/bridge/names.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { embedFiles } from "../../domain/packs/embedded.ts"
import { isToolName } from "../../domain/packs/naming.ts"
import { refusedRoutes } from "../../domain/packs/routes.ts"
import type { RunningPack } from "./PackCalls.ts"
import type { HostedRoute, PackView } from "./PackHost.ts"

/** A pack and the version of it that is called now, if there is one. */
export interface Serving {
  readonly view: PackView
  readonly pack: RunningPack | undefined
}

/** A tool among those of all packs. */
export interface HostedTool {
  readonly pack: RunningPack
  /** Its name in the pack. */
  readonly original: string
  /** As MCP lists it, under its name among all. */
  readonly listed: JsonObject
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
const nameBudget = 64

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/**
 * What packs offer together. Of two that want the same endpoint the first has it, and the other is told so; of two tools
 * of one name the second goes by `pack__tool`.
 */
export const packTable = (all: ReadonlyArray<Serving>): PackTable => {
  const routes = new Map<string, HostedRoute & { readonly running: RunningPack }>()
  const tools = new Map<string, HostedTool>()
  const views = all.map(({ pack, view }) => {
    if (pack === undefined) return view
    const { offer } = pack.loaded
    const taken = new Map([...routes].map(([endpoint, route]) => [endpoint, route.pack.name]))
    const refused = refusedRoutes(offer.routes, taken)
    const own = offer.routes.filter(({ endpoint }) => !refused.has(endpoint))
    const renamed: Array<string> = []
    for (const tool of offer.tools) {
      const original = textOf(tool["name"])
      const isFree = isToolName(original) && !tools.has(original)
      const name = isFree ? original : exposedName({ owner: view.name, tool: original }, nameBudget)
      if (tools.has(name)) continue
      if (!isFree) renamed.push(`tool '${original}' goes by '${name}': its own name is taken, or none`)
      const description = textOf(tool["description"]) || view.description
      const { inputSchema } = tool
      const listed = {
        ...tool,
        name,
        description,
        ...(isJsonObject(inputSchema) && { inputSchema: embedFiles(inputSchema) })
      }
      tools.set(name, { pack, original, view, listed })
    }
    const warnings = [...offer.warnings, ...refused.values(), ...renamed]
    const shown: PackView =
      view.status._tag === "Ready"
        ? {
            ...view,
            status: { ...view.status, routes: own, warnings: [...view.status.warnings, ...warnings] }
          }
        : view
    for (const route of own) routes.set(route.endpoint, { pack: shown, route, running: pack })
    return shown
  })
  return { views, routes, tools }
}
