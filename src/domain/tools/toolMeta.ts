import { Result } from "effect"
import { encodeToolMeta, ToolMeta } from "../config/toolMeta.ts"
import { asObject, asStrings, formatSpacedJson, type JsonObject, parseJsonObject } from "../json.ts"
import { makeDecoder } from "../validation.ts"
import { annotationsKey } from "./toolAnnotations.ts"

/** The key of a tool's `meta` for the Computer's settings as JSON text (spec §7.2). */
export const toolMetaKey = "a2c_tool_meta"

/**
 * Parses the tags that an MCP server declares for a tool, the only setting that it may declare. Fails when they are no
 * list of texts; `undefined` without tags.
 */
export const parseDeclaredTags = (native: JsonObject | undefined) => {
  const { tags } = asObject(native?.[toolMetaKey])
  if (tags === undefined || tags === null) return Result.succeed(undefined)
  const texts = asStrings(tags)
  return texts === undefined ? Result.fail("tags: expected a list of texts") : Result.succeed(texts)
}

/** Adds the tags that the MCP server declares, unless the configuration sets tags. */
export const withDeclaredTags = (meta: ToolMeta | undefined, tags: ReadonlyArray<string> | undefined) =>
  tags === undefined || meta?.tags !== undefined ? meta : { extra: {}, ...meta, tags }

const isPrimitive = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value)

const isPrimitiveArray = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => isPrimitive(item) && typeof item === typeof value[0])

/**
 * Converts a value for `meta`: primitives and arrays of one primitive type stay, others become JSON text. So does null:
 * published Servers drop a whole list of tools with one.
 */
const toMetaValue = (value: unknown): unknown =>
  isPrimitive(value) || isPrimitiveArray(value) ? value : JSON.stringify(value)

/**
 * Formats a tool's `meta` for the office (spec §7.2). It holds the `_meta` of the MCP server, and under reserved keys
 * the annotations and the Computer's settings. MCP servers cannot forge the reserved keys. Byte-exact with the
 * examples of the protocol.
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

const decodeToolMeta = makeDecoder(ToolMeta)

/** Parses the Computer's settings in a tool's `meta`; `undefined` when absent or invalid. */
export const parseToolMeta = (meta: JsonObject | undefined): ToolMeta | undefined =>
  Result.getOrUndefined(decodeToolMeta(parseJsonObject(meta?.[toolMetaKey])))
