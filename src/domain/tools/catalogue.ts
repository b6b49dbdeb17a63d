import { asObject, isJsonObject, type JsonObject, stringOrEmpty } from "../json.ts"
import type { ServerConfig } from "../config/computerConfig.ts"
import type { Tool } from "../model/Tool.ts"
import { mergeToolMeta, formatToolMeta } from "./toolMeta.ts"

/** The tools one running MCP server listed, untouched, with its configuration. */
export interface ServerTools {
  readonly config: ServerConfig
  readonly tools: ReadonlyArray<JsonObject>
}

/** A tool the office can call. */
export interface CatalogueEntry {
  readonly tool: Tool
  /** Name of the MCP server that has it. */
  readonly server: string
  /** Its name there. */
  readonly originalName: string
  /** True when no confirmation is needed. */
  readonly autoApply: boolean
}

/** A tool that exists and is not offered, and why. */
export interface HiddenTool {
  readonly server: string
  readonly originalName: string
  readonly reason: "forbidden" | "name_taken" | "no_name"
  /** The name it would have had. */
  readonly name: string
}

/** What a Computer offers: every exposed name leads to exactly one tool. */
export interface Catalogue {
  readonly entries: ReadonlyMap<string, CatalogueEntry>
  /** Names whose call is refused as disabled. */
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
 * The catalogue of a Computer from what its servers list, in configuration order (spec §7.3): a tool goes by its
 * alias or else by its own name; the first tool with a name has it, later ones are hidden; forbidden tools, given by
 * either name, are neither listed nor callable.
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
      const hide = (reason: HiddenTool["reason"]) =>
        hidden.push({ server, originalName, name: tool.name, reason })
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
