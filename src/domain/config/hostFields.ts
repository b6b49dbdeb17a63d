import { isJsonObject, type JsonObject } from "../json.ts"
import type { ServerType } from "./endpointParameters.ts"

/** Names of transports in hosts, in lower case and without punctuation. */
const transportNames: { readonly [name: string]: ServerType } = {
  stdio: "stdio",
  http: "streamable",
  streamable: "streamable",
  streamablehttp: "streamable",
  sse: "sse",
  httpsse: "sse"
}

/** The fields by which hosts name the transport, the first one first. */
export const transportFields = ["type", "transportType", "transport_type", "transport"] as const

export const isServerType = (type: unknown): type is ServerType =>
  type === "stdio" || type === "streamable" || type === "sse"

/** The transport that a field names; an unknown name stays, for the error. */
export const namedServerType = (entry: JsonObject): unknown => {
  const name = transportFields.map((field) => entry[field]).find((value) => value !== undefined && value !== null)
  if (typeof name !== "string") return name
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, "")
  return Object.hasOwn(transportNames, plain) ? transportNames[plain] : name
}

/** True for a URL whose path ends in `/sse`, which means the older transport. It may contain placeholders. */
const hasSsePath = (url: unknown): boolean =>
  typeof url === "string" && /[^/]\/sse\/?$/i.test(url.split(/[?#]/)[0] ?? "")

/** The type of a flat entry: its field wins over its URL. */
export const inferServerType = (entry: JsonObject): unknown => {
  const { url } = entry
  return namedServerType(entry) ?? (url === undefined ? "stdio" : hasSsePath(url) ? "sse" : "streamable")
}

/** The fields by which hosts turn a server off, and the value that does. */
const offSwitches = { disabled: true, enabled: false, isActive: false } as const

/** A switch as a boolean; some hosts write it as text. Other values stay, for the error. */
const decodeSwitch = (value: unknown): unknown => {
  const text = typeof value === "string" ? value.trim().toLowerCase() : undefined
  return text === "true" ? true : text === "false" ? false : value
}

/** Reads the switches of an entry as `disabled`: one that is off is enough. */
export const decodeSwitches = ({ enabled, isActive, ...rest }: JsonObject): JsonObject => {
  const entry: JsonObject = { ...rest, enabled, isActive }
  const given = Object.entries(offSwitches).flatMap(([field, off]) => {
    const value = decodeSwitch(entry[field])
    if (value === undefined || value === null) return []
    return [typeof value === "boolean" ? value === off : value]
  })
  if (given.length === 0) return rest
  return { ...rest, disabled: given.find((value) => typeof value !== "boolean") ?? given.includes(true) }
}

/** The field of an entry from which a field of A2C's format was read. */
export const originalField = (entry: unknown, field: PropertyKey): PropertyKey => {
  if (!isJsonObject(entry)) return field
  if (field === "type") return transportFields.find((name) => name in entry && entry[name] !== null) ?? field
  if (field !== "disabled") return field
  const isWrong = (name: string) => !["boolean", "undefined"].includes(typeof (decodeSwitch(entry[name]) ?? undefined))
  return Object.keys(offSwitches).find(isWrong) ?? field
}
