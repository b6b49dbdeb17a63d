import { Schema, SchemaGetter } from "effect"
import { isJsonObject, JsonObject } from "../json.ts"

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
export function encodeToolMeta(meta: ToolMeta): typeof WireToolMeta.Type {
  return {
    auto_apply: meta.autoApply ?? null,
    alias: meta.alias ?? null,
    tags: meta.tags ?? null,
    ret_object_mapper: meta.retObjectMapper ?? null,
    ...meta.extra
  }
}

/** Merges the settings of a tool with the default, field by field; the tool's own settings win (spec §7.4). */
export const mergeToolMeta = (fallback: ToolMeta | null, own: ToolMeta | undefined): ToolMeta | undefined => {
  if (fallback === null) return own
  if (own === undefined) return fallback
  const stated = Object.entries(own.extra).filter(([, value]) => value !== null)
  return { ...fallback, ...own, extra: { ...fallback.extra, ...Object.fromEntries(stated) } }
}
