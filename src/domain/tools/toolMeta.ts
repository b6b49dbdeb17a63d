import { Result, Schema, SchemaGetter } from "effect"
import { formatSpacedJson, isJsonObject, JsonObject, parseJsonObject } from "../json.ts"
import { makeDecoder } from "../validation.ts"

/** Settings the Computer's owner gives to a tool (seed 000, `ToolMeta`). */
const toolMetaFields = {
  auto_apply: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  ret_object_mapper: Schema.optionalKey(Schema.NullOr(JsonObject)),
  alias: Schema.optionalKey(Schema.NullOr(Schema.NonEmptyString)),
  tags: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String)))
}

/** What the owner of a Computer says about a tool. `null` and absent both mean: nothing said. */
export interface ToolMeta {
  /** `true`: run without asking for confirmation. */
  readonly autoApply?: boolean
  /** Original field → target field; carried to the Agent, applied by nobody here. */
  readonly retObjectMapper?: JsonObject
  /** The name under which the tool is exposed instead of its own. */
  readonly alias?: string
  readonly tags?: ReadonlyArray<string>
  /** Members this version does not know. */
  readonly extra: JsonObject
}

/** The known fields of a tool meta, as configuration files spell them. */
export const toolMetaKeys: ReadonlyArray<string> = Object.keys(toolMetaFields)

const WireToolMeta = Schema.StructWithRest(Schema.Struct(toolMetaFields), [
  Schema.Record(Schema.String, Schema.Unknown)
])

/** `ToolMeta` as it is written in configuration and on the wire. */
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

/** A tool meta in the seed's order, every known key present, unset ones `null` (spec §7.2). */
export function encodeToolMeta(meta: ToolMeta): typeof WireToolMeta.Type {
  return {
    auto_apply: meta.autoApply ?? null,
    alias: meta.alias ?? null,
    tags: meta.tags ?? null,
    ret_object_mapper: meta.retObjectMapper ?? null,
    ...meta.extra
  }
}

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

const decodeToolMeta = makeDecoder(ToolMeta)

/** The Computer's settings out of a tool's `meta`, or `undefined` when there are none that can be read. */
export const parseToolMeta = (meta: JsonObject | undefined): ToolMeta | undefined => {
  const wire = parseJsonObject(meta?.[toolMetaKey])
  return wire === undefined ? undefined : Result.getOrUndefined(decodeToolMeta(wire))
}

/** The MCP annotations out of a tool's `meta`, or `undefined` when it has none that can be read. */
export const parseAnnotations = (meta: JsonObject | undefined): JsonObject | undefined =>
  parseJsonObject(meta?.[annotationsKey])
