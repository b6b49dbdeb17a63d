import { Option, Schema, SchemaGetter } from "effect"

/** The maximum length of a name, office id or request id, in UTF-16 units. */
export const maxIdentifierLength = 256

/** The name of a member, office, request or tool. */
export const Identifier = Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(maxIdentifierLength))

/** As `Schema.is(Identifier)`, but faster. */
export const isIdentifier = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= maxIdentifierLength

/** A string that is not an identifier, such as a URI or a cursor: at most 8192 UTF-16 units. */
export const BoundedText = Schema.String.check(Schema.isMaxLength(8192))

export const maxTimeoutSeconds = 3600

/** The default timeout of an Agent's tool calls. */
export const defaultToolTimeoutSeconds = 60

/** The default timeout of a call of a published office, in seconds. */
export const defaultOfficeCallSeconds = 300

/** The timeout of a request for the location of a document that states none. */
export const defaultDpeTimeoutSeconds = 60

/** The timeout of a tool call in whole seconds (spec §4.3). */
export const TimeoutSeconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxTimeoutSeconds }))

/** Modes of questions that an Agent answers, more than there are: a newer Agent may know others. */
export const InputModes = Schema.Array(Identifier).check(Schema.isMaxLength(8))

/** An optional wire field: `null` means absent, and absent values are not sent (spec §1). */
export const optionalField = <S extends Schema.Constraint>(schema: S) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(Schema.optionalKey(Schema.toType(schema)), {
      decode: SchemaGetter.transformOptional(Option.filter((value): value is S["Type"] => value !== null)),
      encode: SchemaGetter.passthrough()
    })
  )

/** A field with a default for absent and `null`. It is always sent. */
export const fieldWithDefault = <S extends Schema.Constraint>(schema: S, value: () => S["Type"]) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional((given: Option.Option<S["Type"] | null>) =>
        Option.some(Option.getOrElse(given, () => null) ?? value())
      ),
      encode: SchemaGetter.passthroughSupertype()
    })
  )
