import {
  type McpChange,
  McpSessionError,
  type McpPage,
  type McpProgress,
  type McpWatchOptions
} from "../../../application/ports/McpSession.ts"
import { definedOnly } from "../../../domain/definedOnly.ts"
import {
  asObject,
  asString,
  checkJsonBody,
  isJsonObject,
  type JsonObject,
  parseJson
} from "../../../domain/json.ts"
import { sessionError } from "../sessionError.ts"

/** How many changes wait for a watcher that lags. */
export const maxPendingChanges = 1024

/** Largest message a server may send, in bytes. */
export const maxMessageBytes = 64 * 1024 * 1024

/**
 * The objects of a list that a message can hold: one that none can would cost its office all that is told together
 * with it, and whoever writes it as JSON the stack.
 */
const sendableItems = (name: string, list: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(list)
    ? list.filter(isJsonObject).filter((item) => checkJsonBody({ [name]: [item] }) === undefined)
    : []

/** One page of a listing; what is no object in it, or what no message can hold, is left out. */
export const decodePage = (result: JsonObject, items: "tools" | "resources"): McpPage => {
  const { nextCursor, [items]: found } = result
  return {
    items: sendableItems(items, found),
    nextCursor: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined
  }
}

/** The contents of a resource; what is no object among them, or what no message can hold, is left out. */
export const decodeContents = ({ contents }: JsonObject): ReadonlyArray<JsonObject> =>
  sendableItems("contents", contents)

/** The change that a notification tells of, if it does. */
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

/** All that is watched, as if it had changed: what is told when changes may have been missed. */
export const allChanges = ({ resources, tools, uris }: McpWatchOptions): ReadonlyArray<McpChange> => [
  ...(tools ? [{ _tag: "ToolsChanged" } as const] : []),
  ...(resources ? [{ _tag: "ResourcesChanged" } as const] : []),
  ...uris.map((uri) => ({ _tag: "ResourceUpdated", uri }) as const)
]

/** The progress that the parameters of a notification tell, if they do. */
export const decodeProgress = ({ message, progress, total }: JsonObject): McpProgress | undefined =>
  typeof progress === "number"
    ? definedOnly({
        progress,
        total: typeof total === "number" ? total : undefined,
        message: asString(message)
      })
    : undefined

/** The error in a JSON-RPC error response, if the text is one. */
const parseJsonRpcError = (text: string): McpSessionError | undefined => {
  const { code, message } = asObject(asObject(parseJson(text))["error"])
  return typeof code === "number" && typeof message === "string"
    ? new McpSessionError({ reason: "protocol", code, message })
    : undefined
}

/**
 * What an HTTP status that is no success means. A JSON-RPC error in the body says more than the status does; the text
 * of any other page is left out, it may hold anything.
 */
export const httpStatusToSessionError = (status: number, text: string): McpSessionError => {
  if (status === 401) return sessionError("unauthorized", "HTTP 401")
  if (status === 403) return sessionError("forbidden", "HTTP 403")
  return parseJsonRpcError(text) ?? sessionError("unavailable", `HTTP ${status}`)
}
