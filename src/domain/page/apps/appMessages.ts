import { asString, isJsonObject, type JsonObject, parseJson } from "../../json.ts"

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

/** A message of an app, or of the page that frames it. */
export type AppMessage =
  | { readonly _tag: "Request"; readonly id: string | number; readonly method: string; readonly params: JsonObject }
  | { readonly _tag: "Notification"; readonly method: string; readonly params: JsonObject }
  | { readonly _tag: "Response"; readonly id: string | number }

const maxIdLength = 200

const parseId = (id: unknown): string | number | undefined => {
  if (typeof id === "string") return id.length <= maxIdLength ? id : undefined
  return typeof id === "number" && Number.isSafeInteger(id) ? id : undefined
}

/** Parses a message as the page that frames an app sends it: as JSON text. `undefined` for anything else. */
export const parseAppMessage = (data: unknown): AppMessage | undefined => {
  if (typeof data !== "string" || data.length > maxAppMessageLength) return undefined
  const message = parseJson(data)
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") return undefined
  const id = parseId(message["id"])
  if (message["method"] === undefined) return id === undefined ? undefined : { _tag: "Response", id }
  const method = asString(message["method"])
  const { params = {} } = message
  if (method === undefined || !isJsonObject(params)) return undefined
  if (message["id"] === undefined) return { _tag: "Notification", method, params }
  return id === undefined ? undefined : { _tag: "Request", id, method, params }
}

/** Messages of an app at once, and for each second. An app that sends more is stopped. */
export const appRate = { burst: 200, perSecond: 50 } as const

/** Counts the messages of an app; false when it sends more than the rate allows. `now` in milliseconds. */
export const makeAppRate = (now: number) => {
  let permits: number = appRate.burst
  let last = now
  return (at: number): boolean => {
    permits = Math.min(appRate.burst, permits + ((at - last) / 1000) * appRate.perSecond) - 1
    last = at
    return permits >= 0
  }
}
