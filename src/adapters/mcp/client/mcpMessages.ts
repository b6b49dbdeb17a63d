import {
  type McpChange,
  type McpInfo,
  McpSessionError,
  type McpWatchOptions
} from "../../../application/ports/McpSession.ts"
import { asObject, asString, isJsonObject, type JsonObject, parseJson } from "../../../domain/json.ts"
import { appCapability } from "../../../domain/tools/appTools.ts"
import { repairMessage } from "../jsonRpcMessages.ts"
import { sessionError } from "../sessionError.ts"

export const maxPendingChanges = 1024

/** Largest message that a server may send, in bytes. */
export const maxMessageBytes = 64 * 1024 * 1024

/** What MCP servers may ask of the user of a call: forms, and pages to open. Hosts of the office may show their apps. */
export const clientCapabilities = { elicitation: { form: {}, url: {} }, extensions: appCapability }

/** The least severe messages that MCP servers are asked to log. */
export const logLevel = "info"

export const decodeInfo = (
  protocolVersion: string | undefined,
  { capabilities, instructions, serverInfo }: JsonObject
): McpInfo => {
  const { name, version } = asObject(serverInfo)
  const { completions, prompts, resources, tools } = asObject(capabilities)
  return {
    name: asString(name) ?? "unknown",
    version: asString(version) ?? "unknown",
    protocolVersion,
    capabilities: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      subscribe: asObject(resources)["subscribe"] === true,
      prompts: prompts !== undefined,
      completions: completions !== undefined
    },
    instructions: asString(instructions),
    implementation: asObject(serverInfo)
  }
}

export const decodeChange = (method: string, params: unknown): McpChange | undefined => {
  switch (method) {
    case "notifications/tools/list_changed":
      return { _tag: "ToolsChanged" }
    case "notifications/resources/list_changed":
      return { _tag: "ResourcesChanged" }
    case "notifications/prompts/list_changed":
      return { _tag: "PromptsChanged" }
    case "notifications/message": {
      const { data, level, logger } = asObject(params)
      return { _tag: "Logged", level: asString(level) ?? "info", logger: asString(logger), data }
    }
    case "notifications/resources/updated": {
      const uri = asString(asObject(params)["uri"])
      return uri === undefined ? undefined : { _tag: "ResourceUpdated", uri }
    }
    default:
      return undefined
  }
}

/** Every change that a watch can report, for the time after missed notifications. */
export const allChanges = ({ prompts = false, resources, tools, uris }: McpWatchOptions): ReadonlyArray<McpChange> => [
  ...(tools ? [{ _tag: "ToolsChanged" } as const] : []),
  ...(prompts ? [{ _tag: "PromptsChanged" } as const] : []),
  ...(resources ? [{ _tag: "ResourcesChanged" } as const] : []),
  ...uris.map((uri) => ({ _tag: "ResourceUpdated", uri }) as const)
]

/** Converts an HTTP error status. Only JSON-RPC errors in the body are quoted; others may contain anything. */
export const httpStatusToSessionError = (status: number, text: string): McpSessionError => {
  if (status === 401) return sessionError("unauthorized", "HTTP 401")
  if (status === 403) return sessionError("forbidden", "HTTP 403")
  const redirect = /redirect to .+? not followed/i.exec(text)?.[0]
  if (status < 400 && redirect !== undefined) return sessionError("unavailable", `HTTP ${status}: ${redirect}`)
  const json = asObject(parseJson(text))
  const message = "jsonrpc" in json || isJsonObject(json["error"]) ? repairMessage(json) : undefined
  if (message === undefined || !("error" in message)) return sessionError("unavailable", `HTTP ${status}`)
  const { code, data, message: reason } = message.error
  return new McpSessionError({ reason: "protocol", code, message: reason, ...(isJsonObject(data) && { data }) })
}
