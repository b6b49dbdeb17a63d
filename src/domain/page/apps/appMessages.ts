import { asObject, isJsonObject, parseJson } from "../../json.ts"
import type { RateLimit } from "../../tokenBucket.ts"

/** The version of the protocol between an app and its host. */
export const appProtocolVersion = "2026-01-26"

/** The methods between the office page and the page that frames an app. */
export const sandboxMethods = {
  prefix: "ui/notifications/sandbox-",
  ready: "ui/notifications/sandbox-proxy-ready",
  load: "ui/notifications/sandbox-resource-ready"
} as const

/** The longest message between an app and the page, in UTF-16 units of JSON. Results of tools must fit. */
export const maxAppMessageLength = 4 * 1024 * 1024

/**
 * Parses a message as the page that frames an app sends it, as JSON text: a request has an id and a method, a notification a
 * method, and a response an id. `undefined` for anything else.
 */
export const parseAppMessage = (data: unknown) => {
  if (typeof data !== "string" || data.length > maxAppMessageLength) return undefined
  const { id, jsonrpc, method, params = {} } = asObject(parseJson(data))
  if (jsonrpc !== "2.0" || !isJsonObject(params)) return undefined
  if (id !== undefined && typeof id !== "string" && typeof id !== "number") return undefined
  if (method !== undefined && typeof method !== "string") return undefined
  return { id, method, params }
}

/** Messages of an app at once, and for each second. An app that sends more is stopped. */
export const appRate: RateLimit = { burst: 200, perSecond: 50 }
