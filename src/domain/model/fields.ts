import { Option, Schema, SchemaGetter } from "effect"

/** Longest URI or cursor we accept, in UTF-16 units. */
const maxTextLength = 8192

/** A string that is not an identifier: a URI, a cursor, a filter. */
export const BoundedText = Schema.String.check(Schema.isMaxLength(maxTextLength))

/** Longest time that a tool call may be given, in seconds. */
export const maxTimeoutSeconds = 3600

/** How long a tool call may take: whole seconds, at most an hour (spec §4.3). */
export const TimeoutSeconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxTimeoutSeconds }))

/** An optional wire field: absent and `null` mean the same, and only a present value is ever sent (spec §1). */
export const optionalField = <S extends Schema.Constraint>(schema: S) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(Schema.optionalKey(Schema.toType(schema)), {
      decode: SchemaGetter.transformOptional(Option.filter((value): value is S["Type"] => value !== null)),
      encode: SchemaGetter.passthrough()
    })
  )

/** A field with a default: absent and `null` read as the default, and the field is always sent. */
export const fieldWithDefault = <S extends Schema.Constraint>(schema: S, value: () => S["Type"]) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional((given: Option.Option<S["Type"] | null>) =>
        Option.some(Option.getOrElse(given, () => null) ?? value())
      ),
      encode: SchemaGetter.passthroughSupertype()
    })
  )
