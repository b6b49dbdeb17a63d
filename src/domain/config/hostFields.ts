import { isJsonObject, type JsonObject } from "../json.ts"
import type { ServerType } from "./endpointParameters.ts"

/** Names of transports in hosts, in lower case and without punctuation. */
const transportNames: { readonly [name: string]: ServerType } = {
  stdio: "stdio",
  http: "streamable",
  streamable: "streamable",
  streamablehttp: "streamable",
  sse: "sse",
  httpsse: "sse",
  local: "stdio"
}

/** The fields by which hosts name the transport, the first one first. */
export const transportFields = ["type", "transportType", "transport_type", "transport"] as const

export const isServerType = (type: unknown): type is ServerType =>
  type === "stdio" || type === "streamable" || type === "sse"

/** True for a URL whose path ends in `/sse`, which means the older transport. It may contain placeholders. */
const hasSsePath = (url: unknown) => typeof url === "string" && /[^/]\/sse\/?$/i.test(url.split(/[?#]/)[0] ?? "")

/** The transport that a field names; an unknown name stays, for the error. */
export const namedServerType = (entry: JsonObject): unknown => {
  const name = transportFields.map((field) => entry[field]).find((value) => value !== undefined && value !== null)
  if (typeof name !== "string") return name
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, "")
  // Any transport with a URL.
  if (plain === "remote") return hasSsePath(entry["url"]) ? "sse" : "streamable"
  return Object.hasOwn(transportNames, plain) ? transportNames[plain] : name
}

/** The type of a flat entry: its field wins over its URL. */
export const inferServerType = (entry: JsonObject): unknown => {
  const { url } = entry
  return namedServerType(entry) ?? (url === undefined ? "stdio" : hasSsePath(url) ? "sse" : "streamable")
}

/** The fields of hosts that mean a parameter of A2C's format, and the transport that a field implies. */
const parameterFields: { readonly [field: string]: { readonly means: string; readonly type?: ServerType } } = {
  httpUrl: { means: "url", type: "streamable" },
  serverUrl: { means: "url" },
  environment: { means: "env" }
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** A command that is a list with its arguments. */
const argumentsInCommand = ({ args, command }: JsonObject): ReadonlyArray<unknown> | undefined =>
  Array.isArray(command) && command.length > 0 && isAbsent(args) ? command : undefined

/** The fields of an entry that mean a parameter, by its name, where the entry lacks this name; the first of several. */
const renamedFields = (entry: JsonObject): ReadonlyMap<string, string> => {
  const given = Object.entries(parameterFields).filter(
    ([field, { means }]) => !isAbsent(entry[field]) && isAbsent(entry[means])
  )
  return new Map(given.reverse().map(([field, { means }]) => [means, field]))
}

/** Reads the parameters of a flat entry by their names in A2C's format. */
export const decodeParameters = (entry: JsonObject): JsonObject => {
  const decoded: Record<string, JsonObject[string]> = { ...entry }
  for (const [means, field] of renamedFields(entry)) {
    const { type } = parameterFields[field] ?? {}
    decoded[means] = entry[field]
    delete decoded[field]
    if (type !== undefined && transportFields.every((name) => isAbsent(entry[name]))) decoded["type"] = type
  }
  const list = argumentsInCommand(entry)
  return list === undefined ? decoded : { ...decoded, command: list[0], args: list.slice(1) }
}

/** The path within an entry from which a path within its parameters was read. */
export const originalParameterPath = (entry: unknown, path: ReadonlyArray<PropertyKey>): ReadonlyArray<PropertyKey> => {
  const [parameter, index, ...rest] = path
  if (!isJsonObject(entry) || parameter === undefined) return path
  if (argumentsInCommand(entry) !== undefined) {
    if (parameter === "command") return ["command", 0]
    if (parameter === "args") return typeof index === "number" ? ["command", index + 1, ...rest] : ["command"]
  }
  return [renamedFields(entry).get(String(parameter)) ?? parameter, ...path.slice(1)]
}

/** True for an entry with a parameter beside its settings. */
export const hasFlatParameters = (entry: JsonObject): boolean =>
  ["command", "url", "httpUrl", "serverUrl"].some((field) => field in entry)

/** The fields by which hosts turn a server off, and the value that does. */
const offSwitches = { disabled: true, enabled: false, isActive: false } as const

/** A switch as a boolean; some hosts write it as text. Other values stay, for the error. */
const decodeSwitch = (value: unknown): unknown => {
  const text = typeof value === "string" ? value.trim().toLowerCase() : undefined
  return text === "true" ? true : text === "false" ? false : value
}

/** Reads the switches of an entry as `disabled`: one that is off is enough. */
export const decodeSwitches = (entry: JsonObject): JsonObject => {
  const { enabled: _enabled, isActive: _isActive, ...rest } = entry
  const given = Object.entries(offSwitches).flatMap(([field, off]) => {
    const value = decodeSwitch(entry[field])
    return isAbsent(value) ? [] : [typeof value === "boolean" ? value === off : value]
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
