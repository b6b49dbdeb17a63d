import { Array, Predicate, Result } from "effect"
import { asObject, asString, checkJsonBody, isJsonObject, type JsonObject, stringOrEmpty } from "../../json.ts"
import { definedOnly } from "../../objects.ts"
import { repairSchema } from "../../schemas/repairSchema.ts"
import { withoutRoundedIntegers } from "../../schemas/roundedIntegers.ts"
import { toolMetaKey } from "../toolMeta.ts"
import type { Tool } from "../../model/Tool.ts"
import type { ComputerName } from "../../model/ids.ts"

/** Gives a value in the form that MCP requires; `undefined` where its meaning is not plain. */
type Repair = (value: unknown) => unknown

export type Fields = { readonly [member: string]: Repair }

export const text: Repair = asString

/** Keeps the values that pass a test. */
export const valueIf =
  (isKept: (value: unknown) => boolean): Repair =>
  (value) =>
    isKept(value) ? value : undefined

export const booleanValue = valueIf(Predicate.isBoolean)

const oneOf = (...names: ReadonlyArray<unknown>) => valueIf((value) => names.includes(value))

/** A list without its odd items; a single item is a list of one. */
export const listOf =
  (repair: Repair): Repair =>
  (value) => {
    const items = [value].flat().flatMap((item: unknown) => repair(item) ?? [])
    return items.length > 0 || (Array.isArray(value) && value.length === 0) ? items : undefined
  }

/** Gives the same object when it has the same members. */
export const unlessEqual = <A extends JsonObject>(original: JsonObject, repaired: A): A =>
  Object.keys(original).length === Object.keys(repaired).length &&
  Object.entries(original).every(([name, value]) => repaired[name] === value)
    ? (original as A)
    : repaired

/** Leaves out the odd members of an object. Members that MCP does not know stay. */
export const repairMembers = (fields: Fields, value: JsonObject): JsonObject =>
  unlessEqual(
    value,
    Object.fromEntries(
      Object.entries(value).flatMap(([member, found]) => {
        const repaired = Object.hasOwn(fields, member) ? fields[member]?.(found) : found
        return repaired === undefined ? [] : [[member, repaired]]
      })
    )
  )

export const objectOf =
  (fields: Fields, required?: string): Repair =>
  (value) => {
    if (!isJsonObject(value)) return undefined
    const repaired = repairMembers(fields, value)
    return required === undefined || repaired[required] !== undefined ? repaired : undefined
  }

const themes: ReadonlyArray<unknown> = ["light", "dark", null, undefined]

/** An icon for an unknown theme fits nowhere. */
const icon: Repair = (value) =>
  themes.includes(asObject(value)["theme"])
    ? objectOf({ src: text, mimeType: text, sizes: listOf(text), theme: oneOf("light", "dark") }, "src")(value)
    : undefined

const size: Repair = (value) => {
  const bytes = typeof value === "string" && value.trim() !== "" ? Number(value) : value
  return typeof bytes === "number" && Number.isFinite(bytes) ? bytes : undefined
}

const isTimestamp = (value: string): boolean =>
  /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/.test(value) &&
  // A day that its month has not becomes another one.
  new Date(value.slice(0, 10)).getUTCDate() === Number(value.slice(8, 10))

/** Repairs the annotations of a resource or a content block. */
export const repairAnnotations = objectOf({
  audience: listOf(oneOf("user", "assistant")),
  priority: valueIf((value) => typeof value === "number" && value >= 0 && value <= 1),
  lastModified: valueIf((value) => typeof value === "string" && isTimestamp(value))
})

const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]

/** A tool gets its arguments as an object: a schema of another type has no plain meaning. */
const isOfOtherType = (schema: unknown): boolean => {
  const { type = "object" } = repairSchema(asObject(schema))
  return ![type].flat().includes("object")
}

const inputSchema: Repair = (value) => {
  if (!isJsonObject(value)) return undefined
  const schema = repairSchema(value)
  return Object.hasOwn(value, "type") ? { ...schema, type: "object" } : schema
}

const argument = objectOf({ name: text, title: text, description: text, required: booleanValue }, "name")

const shared: Fields = { title: text, description: text, icons: listOf(icon), _meta: objectOf({}) }

/** The form of the items of all lists of MCP servers; an item goes by its first field. */
const listings = {
  tools: {
    name: text,
    ...shared,
    inputSchema,
    outputSchema: (value: unknown) => (isJsonObject(value) ? repairSchema(value) : undefined),
    annotations: objectOf({ title: text, ...Object.fromEntries(hints.map((hint) => [hint, booleanValue])) }),
    execution: objectOf({ taskSupport: oneOf("required", "optional", "forbidden") })
  },
  resources: { uri: text, name: text, ...shared, mimeType: text, size, annotations: repairAnnotations },
  resourceTemplates: { uriTemplate: text, name: text, ...shared, mimeType: text, annotations: repairAnnotations },
  prompts: { name: text, ...shared, arguments: listOf(argument) }
} satisfies { readonly [list: string]: Fields }

export type ListName = keyof typeof listings

/** The member by which the items of a list go. */
const identityOf = (list: ListName): string => Object.keys(listings[list])[0] ?? "name"

/** An item of a list that is left out. */
export interface OmittedItem {
  /** Empty for an item without a name. */
  readonly name: string
  readonly reason: string
}

/**
 * Gives an item of a list in the form that MCP requires: odd optional members are left out, at every depth. Fails with the
 * reason where the item makes no sense without one. Clients reject a whole list for one odd item.
 */
export const repairListed = (list: ListName, item: unknown): Result.Result<JsonObject, OmittedItem> => {
  const fields: Fields = listings[list]
  const identity = identityOf(list)
  const fail = (reason: string) => Result.fail({ name: stringOrEmpty(asObject(item)[identity]), reason })
  if (!isJsonObject(item)) return fail("not an object")
  const problem = checkJsonBody({ [list]: [item] })
  if (problem !== undefined) return fail(problem)
  if (list === "tools" && isOfOtherType(item["inputSchema"])) return fail("inputSchema: its type is not object")
  const repaired = repairMembers(fields, item)
  return repaired[identity] === undefined ? fail(`${identity}: not a text`) : Result.succeed(repaired)
}

/** Leaves out the keys of metadata that only this project sets, except some. */
export const withoutReservedKeys = (meta: JsonObject, isKept = (_key: string): boolean => false): JsonObject =>
  Object.fromEntries(Object.entries(meta).filter(([key]) => !key.startsWith("a2c_") || isKept(key)))

/** {@link withoutReservedKeys} for the metadata of a listed item, or of a part of a reply. */
export const withoutReservedMeta = (item: JsonObject, isKept?: (key: string) => boolean): JsonObject =>
  isJsonObject(item["_meta"]) ? { ...item, _meta: withoutReservedKeys(item["_meta"], isKept) } : item

/**
 * The reserved keys that an MCP server of this name may set: the tags of its tools. An office or a gateway of this project
 * tells more, which has a meaning for its own tools alone.
 */
export const reservedKeysOf =
  (serverName: string) =>
  (key: string): boolean =>
    key === toolMetaKey || serverName.startsWith("a2c-")

/** A switch; some servers write it as text. */
const switchValue: Repair = (value) => (value === "true" ? true : value === "false" ? false : booleanValue(value))

/** What a server offers; some languages write an empty object as an empty list. */
const capabilityOf =
  (fields: Fields): Repair =>
  (value) => {
    if (value === null || value === false || value === undefined) return undefined
    return isJsonObject(value) ? repairMembers(fields, value) : {}
  }

const capability = capabilityOf({})

const capabilityMap: Repair = (value) =>
  definedOnly(Object.fromEntries(Object.entries(asObject(value)).map(([name, member]) => [name, capability(member)])))

const notified = { listChanged: switchValue }

const capabilities: Repair = capabilityOf({
  tools: capabilityOf(notified),
  prompts: capabilityOf(notified),
  resources: capabilityOf({ ...notified, subscribe: switchValue }),
  logging: capability,
  completions: capability,
  experimental: capabilityMap,
  extensions: capabilityMap,
  tasks: capabilityOf({
    list: capability,
    cancel: capability,
    requests: capabilityOf({ tools: capabilityOf({ call: capability }) })
  })
})

const implementation: Fields = {
  name: text,
  version: (value) => (typeof value === "number" ? String(value) : text(value)),
  title: text,
  description: text,
  websiteUrl: text,
  icons: listOf(icon)
}

/** MCP assumes this revision of a peer that states none. */
const assumedRevision = "2025-03-26"

/**
 * Repairs the result of a handshake. Members that clients require have a default: a server that states no capabilities is
 * asked for its tools.
 */
export const repairDescription = ({
  capabilities: offered,
  instructions,
  protocolVersion,
  serverInfo,
  ...others
}: JsonObject): JsonObject => ({
  ...others,
  ...definedOnly({ instructions: asString(instructions) }),
  // The newer handshake names several revisions, and its server in its metadata.
  ...((protocolVersion !== undefined || !("supportedVersions" in others)) && {
    protocolVersion: asString(protocolVersion) ?? assumedRevision,
    serverInfo: {
      name: asString(serverInfo) ?? "unknown",
      version: "unknown",
      ...repairMembers(implementation, asObject(serverInfo))
    }
  }),
  capabilities: capabilities(offered) ?? { tools: {} }
})

/** An item of a list with integers that its parser may have rounded, at these JSON pointers. */
interface RoundedItem {
  readonly name: string
  readonly places: ReadonlyArray<string>
}

/** A list of an MCP server with the items that clients accept, and what is left out. */
export interface RepairedListing {
  readonly items: ReadonlyArray<JsonObject>
  readonly omitted: ReadonlyArray<OmittedItem>
  /** The items without some members. */
  readonly rounded?: ReadonlyArray<RoundedItem>
}

/** {@link repairListed} for all items of a list, without reserved keys and rounded integers. */
export const repairListing = (list: ListName, items: ReadonlyArray<unknown>, isKept?: (key: string) => boolean) => {
  const results = items.map((item) => repairListed(list, item))
  const exact = Array.getSuccesses(results).map(withoutRoundedIntegers)
  return {
    items: exact.map(({ value }) => withoutReservedMeta(value, isKept)),
    omitted: Array.getFailures(results),
    rounded: exact.flatMap(({ places, value }) =>
      places.length === 0 ? [] : [{ name: stringOrEmpty(value[identityOf(list)]), places }]
    )
  }
}

/** The tools of a Computer of any implementation without rounded integers, and those that had some. */
export const toExactTools = (computer: ComputerName, tools: ReadonlyArray<Tool>) => {
  const rounded: Array<RoundedItem> = []
  const toExact = (tool: Tool): Tool => {
    const { meta, name, paramsSchema, returnSchema } = tool
    const { places, value } = withoutRoundedIntegers({ paramsSchema, returnSchema, ...definedOnly({ meta }) })
    if (places.length === 0) return tool
    rounded.push({ name: `${computer}/${name}`, places })
    return {
      ...tool,
      paramsSchema: asObject(value["paramsSchema"]),
      ...(returnSchema !== null && { returnSchema: asObject(value["returnSchema"]) }),
      ...(meta !== undefined && { meta: asObject(value["meta"]) })
    }
  }
  return { tools: tools.map(toExact), rounded }
}
