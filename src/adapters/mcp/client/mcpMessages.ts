import {
  type McpChange,
  type McpInfo,
  McpSessionError,
  type McpPage,
  type McpProgress,
  type McpWatchOptions
} from "../../../application/ports/McpSession.ts"
import { definedOnly } from "../../../domain/definedOnly.ts"
import { asObject, asString, checkJsonBody, isJsonObject, type JsonObject, parseJson } from "../../../domain/json.ts"
import { sessionError } from "../sessionError.ts"

export const maxPendingChanges = 1024

/** Largest message that a server may send, in bytes. */
export const maxMessageBytes = 64 * 1024 * 1024

/** The objects that a message can hold. One excessively nested item would cost the whole listing. */
const sendableItems = (name: string, list: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(list) ? list.filter(isJsonObject).filter((item) => checkJsonBody({ [name]: [item] }) === undefined) : []

export const decodeInfo = (
  protocolVersion: string | undefined,
  { capabilities, instructions, serverInfo }: JsonObject
): McpInfo => {
  const { name, version } = asObject(serverInfo)
  const { resources, tools } = asObject(capabilities)
  return {
    name: asString(name) ?? "unknown",
    version: asString(version) ?? "unknown",
    protocolVersion,
    capabilities: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      subscribe: asObject(resources)["subscribe"] === true
    },
    instructions: asString(instructions)
  }
}

/** Decodes one page of a listing. Invalid items are omitted. */
export const decodePage = (result: JsonObject, items: "tools" | "resources"): McpPage => {
  const { nextCursor, [items]: found } = result
  return {
    items: sendableItems(items, found),
    nextCursor: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined
  }
}

export const decodeContents = ({ contents }: JsonObject): ReadonlyArray<JsonObject> =>
  sendableItems("contents", contents)

export const decodeChange = (method: string, params: unknown): McpChange | undefined => {
  switch (method) {
    case "notifications/tools/list_changed":
      return { _tag: "ToolsChanged" }
    case "notifications/resources/list_changed":
      return { _tag: "ResourcesChanged" }
    case "notifications/resources/updated":
      return isJsonObject(params) && typeof params["uri"] === "string"
        ? { _tag: "ResourceUpdated", uri: params["uri"] }
        : undefined
    default:
      return undefined
  }
}

/** Every change that a watch can report, for the time after missed notifications. */
export const allChanges = ({ resources, tools, uris }: McpWatchOptions): ReadonlyArray<McpChange> => [
  ...(tools ? [{ _tag: "ToolsChanged" } as const] : []),
  ...(resources ? [{ _tag: "ResourcesChanged" } as const] : []),
  ...uris.map((uri) => ({ _tag: "ResourceUpdated", uri }) as const)
]

export const decodeProgress = ({ message, progress, total }: JsonObject): McpProgress | undefined =>
  typeof progress === "number"
    ? definedOnly({
        progress,
        total: typeof total === "number" ? total : undefined,
        message: asString(message)
      })
    : undefined

const parseJsonRpcError = (text: string): McpSessionError | undefined => {
  const { code, message } = asObject(asObject(parseJson(text))["error"])
  return typeof code === "number" && typeof message === "string"
    ? new McpSessionError({ reason: "protocol", code, message })
    : undefined
}

/**
 * Converts an HTTP error status. Only JSON-RPC errors in the body are quoted; others may contain anything.
 */
export const httpStatusToSessionError = (status: number, text: string): McpSessionError => {
  if (status === 401) return sessionError("unauthorized", "HTTP 401")
  if (status === 403) return sessionError("forbidden", "HTTP 403")
  return parseJsonRpcError(text) ?? sessionError("unavailable", `HTTP ${status}`)
}
