import { Schema, String } from "effect"

/** Makes the schema of a message. Members are in snake case on the wire, except those in `names` (spec §1). */
export const wireStruct = <const F extends Schema.Struct.Fields>(
  fields: F,
  names: { readonly [K in keyof F]?: string } = {}
) => {
  const spellings: { readonly [field: string]: string | undefined } = names
  const keys = Object.keys(fields).map((field) => [field, spellings[field] ?? String.camelToSnake(field)] as const)
  const struct: Schema.Struct<Schema.Struct.Fields> = Schema.Struct(fields)
  // The names on the wire concern no other module.
  return struct.pipe(Schema.encodeKeys(Object.fromEntries(keys))) as unknown as Schema.Codec<
    Schema.Struct<F>["Type"],
    object
  > & { readonly fields: F }
}
