import { asObject, isJsonObject, type JsonObject, stringOrEmpty } from "../json.ts"
import type { ServerConfig } from "../config/computerConfig.ts"
import type { Tool } from "../model/Tool.ts"
import { mergeToolMeta, formatToolMeta } from "./toolMeta.ts"

export interface ServerTools {
  readonly config: ServerConfig
  readonly tools: ReadonlyArray<JsonObject>
}

/** A tool that the office can call. */
export interface CatalogueEntry {
  readonly tool: Tool
  readonly server: string
  /** Its name at the MCP server. */
  readonly originalName: string
  /** True when calls need no confirmation. */
  readonly autoApply: boolean
}

/** A listed tool that is not offered, with the reason. */
export interface HiddenTool {
  readonly server: string
  readonly originalName: string
  readonly reason: "forbidden" | "name_taken" | "no_name"
  /** Its exposed name without the conflict. */
  readonly name: string
}

/** The tools of a Computer by their unique exposed names. */
export interface Catalogue {
  readonly entries: ReadonlyMap<string, CatalogueEntry>
  /** Names whose calls are rejected as disabled. */
  readonly forbidden: ReadonlySet<string>
  readonly hidden: ReadonlyArray<HiddenTool>
}

const toCatalogueEntry = (config: ServerConfig, listed: JsonObject): CatalogueEntry => {
  const { _meta, annotations, inputSchema, outputSchema } = listed
  const originalName = stringOrEmpty(listed["name"])
  const meta = mergeToolMeta(
    config.defaultToolMeta,
    Object.hasOwn(config.toolMeta, originalName) ? config.toolMeta[originalName] : undefined
  )
  return {
    tool: {
      name: meta?.alias ?? originalName,
      description: stringOrEmpty(listed["description"]),
      paramsSchema: asObject(inputSchema),
      returnSchema: isJsonObject(outputSchema) ? outputSchema : null,
      meta: formatToolMeta(asObject(_meta), isJsonObject(annotations) ? annotations : undefined, meta)
    },
    server: config.name,
    originalName,
    autoApply: meta?.autoApply === true
  }
}

/**
 * Builds the catalogue of a Computer from the tools of its servers, in configuration order (spec §7.3). The exposed
 * name of a tool is its alias, or else its name. The first tool with a name gets it; later ones are hidden. A tool
 * that is forbidden by its name or alias is neither listed nor callable.
 */
export const buildCatalogue = (servers: ReadonlyArray<ServerTools>): Catalogue => {
  const entries = new Map<string, CatalogueEntry>()
  const forbidden = new Set<string>(servers.flatMap(({ config }) => config.forbiddenTools))
  const hidden: Array<HiddenTool> = []
  for (const { config, tools } of servers) {
    const forbiddenHere = new Set(config.forbiddenTools)
    for (const listed of tools) {
      const entry = toCatalogueEntry(config, listed)
      const { originalName, server, tool } = entry
      const hide = (reason: HiddenTool["reason"]) => hidden.push({ server, originalName, name: tool.name, reason })
      if (originalName === "") hide("no_name")
      else if (forbiddenHere.has(originalName) || forbiddenHere.has(tool.name)) {
        forbidden.add(originalName).add(tool.name)
        hide("forbidden")
      } else if (entries.has(tool.name)) hide("name_taken")
      else entries.set(tool.name, entry)
    }
  }
  return { entries, forbidden, hidden }
}
