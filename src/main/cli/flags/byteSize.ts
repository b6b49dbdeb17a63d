import { Effect, Option, Schema, SchemaGetter, SchemaIssue } from "effect"

const units: { readonly [unit: string]: number } = {
  "": 1,
  b: 1,
  kb: 1000,
  mb: 1000 ** 2,
  gb: 1000 ** 3,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3
}

/** What an error message expects instead of a text that is no size. */
export const expectedSize = "a size such as 64KiB, 1MB or 65536"

/** Parses a size in bytes: `64KiB`, `1MB`, or bytes without a unit. */
export const parseByteSize = (text: string): Option.Option<number> => {
  const [, digits, unit = ""] = /^(\d{1,12})\s*([a-z]*)$/i.exec(text.trim()) ?? []
  const factor = Object.hasOwn(units, unit.toLowerCase()) ? units[unit.toLowerCase()] : undefined
  const size = digits === undefined || factor === undefined ? Number.NaN : Number(digits) * factor
  return Number.isSafeInteger(size) ? Option.some(size) : Option.none()
}

/** {@link parseByteSize} as a schema, for variables. */
export const ByteSize = Schema.String.pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transformEffect((text: string, options) =>
      Option.match(parseByteSize(text), {
        onNone: () => Effect.fail(new SchemaIssue.InvalidValue({ message: `expected ${expectedSize}` }, text, options)),
        onSome: Effect.succeed
      })
    ),
    encode: SchemaGetter.String()
  })
)
