import { isJsonObject, type JsonObject, formatSpacedJson } from "../json.ts"
import { makeDecoder } from "../validation.ts"
import { ToolMeta, encodeToolMeta } from "../wire/v0_2/tools.ts"
import { Result } from "effect"

/** Key of a tool's `meta` under which the Computer's own settings stand, as a JSON text (spec §7.2). */
const toolMetaKey = "a2c_tool_meta"

/** Key of a tool's `meta` under which its MCP annotations stand, as a JSON text. */
const annotationsKey = "MCP_TOOL_ANNOTATION"

/**
 * The settings that hold for a tool: what is said about the tool itself wins over the default field by field;
 * `undefined` when nothing is said at all (spec §7.4).
 */
export const mergeToolMeta = (fallback: ToolMeta | null, own: ToolMeta | undefined): ToolMeta | undefined => {
  if (fallback === null) return own
  if (own === undefined) return fallback
  const stated = Object.entries(own.extra).filter(([, value]) => value !== null)
  return { ...fallback, ...own, extra: { ...fallback.extra, ...Object.fromEntries(stated) } }
}

const isPrimitive = (value: unknown): boolean =>
  value === null || ["string", "number", "boolean"].includes(typeof value)

const isPrimitiveArray = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((item) => item !== null && isPrimitive(item) && typeof item === typeof value[0])

/** A value as a tool's `meta` may hold it: simple ones and arrays of one simple type as they are, others as JSON. */
const toMetaValue = (value: unknown): unknown =>
  isPrimitive(value) || isPrimitiveArray(value) ? value : JSON.stringify(value)

/**
 * A tool's `meta` as the office sees it: what its MCP server said, and, under keys no MCP server can forge, its
 * annotations and the Computer's own settings (spec §7.2; byte-exact with the seed's examples).
 */
export const formatToolMeta = (
  native: JsonObject | undefined,
  annotations: JsonObject | undefined,
  meta: ToolMeta | undefined
): JsonObject => ({
  ...Object.fromEntries(
    Object.entries(native ?? {})
      .filter(([key]) => key !== toolMetaKey && key !== annotationsKey)
      .map(([key, value]) => [key, toMetaValue(value)])
  ),
  ...(annotations !== undefined && { [annotationsKey]: JSON.stringify(annotations) }),
  ...(meta !== undefined && { [toolMetaKey]: formatSpacedJson(encodeToolMeta(meta)) })
})

const parseJsonObject = (text: unknown): JsonObject | undefined => {
  if (typeof text !== "string") return undefined
  const parsed = Result.try((): unknown => JSON.parse(text))
  return Result.isSuccess(parsed) && isJsonObject(parsed.success) ? parsed.success : undefined
}

const decodeToolMeta = makeDecoder(ToolMeta)

/** The Computer's settings out of a tool's `meta`, or `undefined` when there are none that can be read. */
export const parseToolMeta = (meta: JsonObject | undefined): ToolMeta | undefined => {
  const wire = parseJsonObject(meta?.[toolMetaKey])
  return wire === undefined ? undefined : Result.getOrUndefined(decodeToolMeta(wire))
}

/** The MCP annotations out of a tool's `meta`, or `undefined` when it has none that can be read. */
export const parseAnnotations = (meta: JsonObject | undefined): JsonObject | undefined =>
  parseJsonObject(meta?.[annotationsKey])
