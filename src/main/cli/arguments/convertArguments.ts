import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { coerceForm } from "../../../domain/packs/params/coerceParams.ts"
import { collectSubschemas, propertySchemas } from "../../../domain/schemas/jsonSchema.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import type { GivenArgument } from "./argumentSource.ts"
import { formatSome, truncateQuote } from "../../../domain/errorMessage.ts"

/** True when a schema states that it accepts further keys, or names none at all. */
const isOpen = (parts: ReadonlyArray<JsonObject>, names: ReadonlyArray<string>): boolean =>
  names.length === 0 ||
  parts.some(
    ({ additionalProperties, patternProperties }) =>
      additionalProperties === true || isJsonObject(additionalProperties) || isJsonObject(patternProperties)
  )

/**
 * Converts texts to the types of a tool's schema: numbers, booleans, and arrays and objects as JSON. A text stays a text
 * where the schema accepts one, or where no conversion fits. Fails for a key that the schema does not have.
 */
export const convertArguments = (
  schema: JsonObject,
  given: ReadonlyArray<GivenArgument>
): Result.Result<JsonObject, string> => {
  const parts = collectSubschemas(schema, schema, "all")
  const names = [...propertySchemas(parts).keys()]
  const unknown = given.find(({ key }) => !names.includes(key))
  if (unknown !== undefined && !isOpen(parts, names)) {
    const suggestion = didYouMean(unknown.key, names) || `: it has ${formatSome(names)}`
    return Result.fail(`has no argument '${truncateQuote(unknown.key)}'${suggestion}`)
  }
  const texts = given.flatMap((one) => ("text" in one ? [[one.key, one.text] as const] : []))
  const values = given.flatMap((one) => ("json" in one ? [[one.key, one.json] as const] : []))
  return Result.succeed(
    Object.fromEntries([...Object.entries(coerceForm(schema, Object.fromEntries(texts))), ...values])
  )
}
