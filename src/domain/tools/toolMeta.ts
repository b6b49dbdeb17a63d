import { Result, Schema, SchemaGetter } from "effect"
import { asObject, asStrings, formatSpacedJson, isJsonObject, JsonObject, parseJsonObject } from "../json.ts"
import { makeDecoder } from "../validation.ts"
import { annotationsKey } from "./toolAnnotations.ts"

/** The wire fields of `ToolMeta` (seed 000). */
const toolMetaFields = {
  auto_apply: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  ret_object_mapper: Schema.optionalKey(Schema.NullOr(JsonObject)),
  alias: Schema.optionalKey(Schema.NullOr(Schema.NonEmptyString)),
  tags: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String)))
}

/** The settings of a tool in the configuration of a Computer. `null` means absent. */
export interface ToolMeta {
  /** `true`: calls need no confirmation. */
  readonly autoApply?: boolean
  /** Maps original to target fields. Sent to the Agent; this project does not apply it. */
  readonly retObjectMapper?: JsonObject
  /** The exposed name. */
  readonly alias?: string
  readonly tags?: ReadonlyArray<string>
  /** Unknown members. */
  readonly extra: JsonObject
}

export const toolMetaKeys: ReadonlyArray<string> = Object.keys(toolMetaFields)

const WireToolMeta = Schema.StructWithRest(Schema.Struct(toolMetaFields), [
  Schema.Record(Schema.String, Schema.Unknown)
])

/** The codec of `ToolMeta` for configuration files and the wire. */
export const ToolMeta = WireToolMeta.pipe(
  Schema.decodeTo(
    Schema.declare<ToolMeta>((value): value is ToolMeta => isJsonObject(value)),
    {
      decode: SchemaGetter.transform(
        (wire: typeof WireToolMeta.Type): ToolMeta => ({
          ...(wire.auto_apply != null && { autoApply: wire.auto_apply }),
          ...(wire.ret_object_mapper != null && { retObjectMapper: wire.ret_object_mapper }),
          ...(wire.alias != null && { alias: wire.alias }),
          ...(wire.tags != null && { tags: wire.tags }),
          extra: Object.fromEntries(Object.entries(wire).filter(([key]) => !toolMetaKeys.includes(key)))
        })
      ),
      encode: SchemaGetter.transform(encodeToolMeta)
    }
  )
)

/** Encodes a tool meta in the seed's order with all known keys; unset ones are `null` (spec §7.2). */
function encodeToolMeta(meta: ToolMeta): typeof WireToolMeta.Type {
  return {
    auto_apply: meta.autoApply ?? null,
    alias: meta.alias ?? null,
    tags: meta.tags ?? null,
    ret_object_mapper: meta.retObjectMapper ?? null,
    ...meta.extra
  }
}

/** The key of a tool's `meta` for the Computer's settings as JSON text (spec §7.2). */
export const toolMetaKey = "a2c_tool_meta"

/** Merges the settings of a tool with the default, field by field; the tool's own settings win (spec §7.4). */
export const mergeToolMeta = (fallback: ToolMeta | null, own: ToolMeta | undefined): ToolMeta | undefined => {
  if (fallback === null) return own
  if (own === undefined) return fallback
  const stated = Object.entries(own.extra).filter(([, value]) => value !== null)
  return { ...fallback, ...own, extra: { ...fallback.extra, ...Object.fromEntries(stated) } }
}

/**
 * Parses the tags that an MCP server declares for a tool, the only setting that it may declare. Fails when they are no
 * list of texts; `undefined` without tags.
 */
export const parseDeclaredTags = (
  native: JsonObject | undefined
): Result.Result<ReadonlyArray<string> | undefined, string> => {
  const { tags } = asObject(native?.[toolMetaKey])
  if (tags === undefined || tags === null) return Result.succeed(undefined)
  const texts = asStrings(tags)
  return texts === undefined ? Result.fail("tags: expected a list of texts") : Result.succeed(texts)
}

/** Adds the tags that the MCP server declares, unless the configuration sets tags. */
export const withDeclaredTags = (
  meta: ToolMeta | undefined,
  tags: ReadonlyArray<string> | undefined
): ToolMeta | undefined => (tags === undefined || meta?.tags !== undefined ? meta : { extra: {}, ...meta, tags })

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
 * the annotations and the Computer's settings. MCP servers cannot forge the reserved keys. Byte-exact with the seed's
 * examples.
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
