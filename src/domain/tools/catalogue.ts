import { Result } from "effect"
import { asObject, isJsonObject, type JsonObject, stringOrEmpty } from "../json.ts"
import { mergeToolMeta } from "../config/toolMeta.ts"
import type { ServerConfig } from "../config/computerConfig.ts"
import type { Tool } from "../model/Tool.ts"
import { listToolNames, type Naming, plainNaming, type ToolNames } from "./naming.ts"
import { formatToolMeta, parseDeclaredTags, withDeclaredTags } from "./toolMeta.ts"

export interface ServerTools {
  readonly config: ServerConfig
  readonly tools: ReadonlyArray<JsonObject>
}

/** A tool that the office can call. */
export interface CatalogueEntry extends Omit<ToolNames, "tool"> {
  readonly tool: Tool
  readonly server: string
  /** The identity of the server in the office. */
  readonly serverId: string
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
  /** Tools whose declared tags are malformed, and ignored. */
  readonly invalidTags: ReadonlyArray<{ readonly server: string; readonly originalName: string }>
}

/** A tool of an MCP server as the office may see it, and whether its declared tags are malformed, and ignored. */
const toCatalogueTool = (config: ServerConfig, listed: JsonObject, naming: Naming) => {
  const { _meta, annotations, inputSchema, outputSchema } = listed
  const originalName = stringOrEmpty(listed["name"])
  const configured = mergeToolMeta(
    config.defaultToolMeta,
    Object.hasOwn(config.toolMeta, originalName) ? config.toolMeta[originalName] : undefined
  )
  const declared = parseDeclaredTags(asObject(_meta))
  const meta = withDeclaredTags(configured, Result.getOrUndefined(declared))
  const shortName = meta?.alias ?? originalName
  const entry: CatalogueEntry = {
    tool: {
      name: naming.toolName(config, shortName),
      bundleId: config.bundleId,
      description: stringOrEmpty(listed["description"]),
      paramsSchema: asObject(inputSchema),
      returnSchema: isJsonObject(outputSchema) ? outputSchema : null,
      meta: formatToolMeta(asObject(_meta), isJsonObject(annotations) ? annotations : undefined, meta)
    },
    server: config.name,
    serverId: naming.serverId(config),
    originalName,
    shortName,
    autoApply: meta?.autoApply === true
  }
  return { entry, hasInvalidTags: Result.isFailure(declared) }
}

/** The tools of one MCP server. */
export const listTools = ({ config, tools }: ServerTools, naming: Naming) =>
  tools.map((listed) => toCatalogueTool(config, listed, naming))

/**
 * Builds the catalogue of a Computer from the tools of its servers, in configuration order (spec §7.3). The naming makes
 * the exposed name of a tool of its alias, or else of its name. The first tool with a name gets it; later ones are
 * hidden. A tool that is forbidden by any of its names is neither listed nor callable. `list` gives the tools of a server.
 */
export const buildCatalogue = (
  servers: ReadonlyArray<ServerTools>,
  naming = plainNaming,
  list = listTools
): Catalogue => {
  const entries = new Map<string, CatalogueEntry>()
  const forbidden = new Set<string>(
    servers.flatMap(({ config }) => config.forbiddenTools.map((tool) => naming.toolName(config, tool)))
  )
  const hidden: Array<HiddenTool> = []
  const invalidTags: Array<Catalogue["invalidTags"][number]> = []
  for (const from of servers) {
    const { config } = from
    const forbiddenHere = new Set(config.forbiddenTools)
    for (const { entry, hasInvalidTags } of list(from, naming)) {
      const { originalName, server, shortName, tool } = entry
      if (hasInvalidTags) invalidTags.push({ server, originalName })
      const hide = (reason: HiddenTool["reason"]) => hidden.push({ server, originalName, name: tool.name, reason })
      if (originalName === "") hide("no_name")
      else if (listToolNames({ originalName, shortName, tool: tool.name }).some((name) => forbiddenHere.has(name))) {
        forbidden.add(naming.toolName(config, originalName)).add(tool.name)
        hide("forbidden")
      } else if (entries.has(tool.name)) hide("name_taken")
      else entries.set(tool.name, entry)
    }
  }
  return { entries, forbidden, hidden, invalidTags }
}
