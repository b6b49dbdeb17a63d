import { Effect, Result, Schema, SchemaGetter, SchemaIssue } from "effect"
import { isJsonObject, JsonObject } from "../../json.ts"
import { optionalField } from "../../model/fields.ts"

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

const knownToolMetaKeys = new Set(Object.keys(toolMetaFields))

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
          extra: Object.fromEntries(Object.entries(wire).filter(([key]) => !knownToolMetaKeys.has(key)))
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

/** A tool as a Computer offers it (seed 000, `SMCPTool`). */
export const Tool = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  paramsSchema: JsonObject,
  returnSchema: Schema.NullOr(JsonObject).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  meta: optionalField(JsonObject)
}).pipe(Schema.encodeKeys({ paramsSchema: "params_schema", returnSchema: "return_schema" }))
export type Tool = typeof Tool.Type

/**
 * An MCP `CallToolResult`. Everything a tool said is kept; `isError` is always there, and result-level metadata
 * stands under `meta`, wherever the peer put it (spec §6.4).
 */
export interface ToolResult extends JsonObject {
  readonly content: ReadonlyArray<JsonObject>
  readonly isError: boolean
  readonly structuredContent?: unknown
  readonly meta?: JsonObject
}

const isContent = (value: unknown): value is ReadonlyArray<JsonObject> =>
  Array.isArray(value) && value.every(isJsonObject)

const isToolResult = (value: unknown): value is ToolResult =>
  isJsonObject(value) && isContent(value["content"]) && typeof value["isError"] === "boolean"

/** Reads what a peer or an MCP server calls a tool result, or says why it is none. */
export const parseToolResult = (value: unknown): Result.Result<ToolResult, string> => {
  if (!isJsonObject(value)) return Result.fail("a tool result must be an object")
  const { _meta, content = [], isError, meta, ...rest } = value
  if (!isContent(content)) return Result.fail("content: expected an array of objects")
  if (isError !== undefined && isError !== null && typeof isError !== "boolean") {
    return Result.fail("isError: expected a boolean")
  }
  const metadata = isJsonObject(meta) ? meta : isJsonObject(_meta) ? _meta : undefined
  return Result.succeed({
    ...rest,
    content,
    isError: isError === true,
    ...(metadata !== undefined && { meta: metadata })
  })
}

/** {@link parseToolResult} as a schema; it is written as it stands. */
export const ToolResult = Schema.Unknown.pipe(
  Schema.decodeTo(Schema.declare<ToolResult>(isToolResult, { expected: "a tool result" }), {
    decode: SchemaGetter.transformEffect((value, options) =>
      Effect.mapError(
        Effect.fromResult(parseToolResult(value)),
        (message) => new SchemaIssue.InvalidValue({ message }, value, options)
      )
    ),
    encode: SchemaGetter.passthroughSupertype()
  })
)
