import type { ServerConfig } from "../config/computerConfig.ts"
import { asObject, type JsonObject } from "../json.ts"
import type { Tool } from "../model/Tool.ts"

/** Between a bundle id, which does not contain it, and the name of a tool. */
const separator = "__"

/** How a Computer names its servers and tools in an office. */
export interface Naming {
  /** The identity of a server in requests, replies and errors. */
  readonly serverId: (server: Pick<ServerConfig, "name" | "bundleId">) => string
  /** The callable name of a tool, from its alias, or else its name at the server. */
  readonly toolName: (server: Pick<ServerConfig, "name" | "bundleId">, tool: string) => string
}

/** The name of a tool of an office without its bundle id, for patterns. */
export const shortToolName = ({ bundleId, name }: Pick<Tool, "name" | "bundleId">): string =>
  bundleId !== undefined && name.startsWith(`${bundleId}${separator}`)
    ? name.slice(bundleId.length + separator.length)
    : name

export interface ToolNames {
  /** The exposed name. */
  readonly tool: string
  /** Its alias, or else its name at the MCP server. */
  readonly shortName: string
  /** Its name at the MCP server. */
  readonly originalName: string
}

/** All names by which rules and patterns know a tool: an alias hides neither its own name nor how that is exposed. */
export const listToolNames = ({ originalName, shortName, tool }: ToolNames): ReadonlyArray<string> =>
  originalName === shortName
    ? [tool, shortName]
    : [tool, shortName, originalName, `${tool.slice(0, tool.length - shortName.length)}${originalName}`]

/** The tool of a published office that calls another tool of the office, by its arguments `name` and `arguments`. */
export const callingTool = "tools_call"

export interface NamedCall extends ToolNames {
  readonly params: JsonObject
}

/**
 * The calls that a published office makes for a call of its tool {@link callingTool}, which an office between them exposes
 * under a longer name. Their tools need not be listed; they have the aliases of the configuration of the MCP server.
 */
export const listCallsWithin = (
  { originalName, params, shortName, tool }: NamedCall,
  config: Pick<ServerConfig, "toolMeta"> | undefined
): ReadonlyArray<NamedCall> => {
  const { arguments: within, name } = params
  if (!originalName.endsWith(callingTool) || typeof name !== "string") return []
  const called = `${originalName.slice(0, originalName.length - callingTool.length)}${name}`
  const { toolMeta = {} } = config ?? {}
  const alias = (Object.hasOwn(toolMeta, called) ? toolMeta[called]?.alias : undefined) ?? called
  const exposed = `${tool.slice(0, tool.length - shortName.length)}${alias}`
  const call = { tool: exposed, shortName: alias, originalName: called, params: asObject(within) }
  return [call, ...listCallsWithin(call, config)]
}

/** Servers and tools go by their own names. */
export const plainNaming: Naming = { serverId: ({ name }) => name, toolName: (_, tool) => tool }

/** Servers go by their bundle ids, and tools by `bundle__tool`. */
export const bundleNaming: Naming = {
  serverId: ({ bundleId }) => bundleId,
  toolName: ({ bundleId }, tool) => `${bundleId}${separator}${tool}`
}
