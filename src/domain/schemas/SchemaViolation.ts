import { Result } from "effect"
import { formatSome, truncateQuote } from "../errorMessage.ts"
import type { JsonObject } from "../json.ts"

/** The violation of a keyword of JSON Schema by a part of a value, with the params and messages of Ajv. */
export interface SchemaViolation {
  /** JSON Pointer. */
  readonly instancePath: string
  readonly keyword: string
  readonly params: JsonObject
  readonly message?: string | undefined
}

/** A schema made by a program can contain values that JSON cannot represent. */
const formatValue = (value: unknown): string =>
  Result.getOrElse(
    Result.try(() => String(JSON.stringify(value))),
    () => "another value"
  )

/** Describes the violation of a keyword with the values that it allows. Short for schemas of any size. */
export const formatViolation = ({ keyword, message = "is invalid", params }: SchemaViolation): string => {
  const text = truncateQuote(message)
  const { allowedValue, allowedValues } = params
  if (keyword === "enum" && Array.isArray(allowedValues)) {
    return `${text}: [${formatSome(allowedValues.map(formatValue), ",")}]`
  }
  return keyword === "const" ? `${text}: ${truncateQuote(formatValue(allowedValue))}` : text
}

/** Describes a violation by the arguments of a call, with its place, in words that a model can act on. */
export const formatArgumentViolation = (violation: SchemaViolation): string => {
  const { instancePath, keyword, params } = violation
  const where = instancePath === "" ? "the arguments" : truncateQuote(instancePath)
  return keyword === "additionalProperties"
    ? `${where}: unknown argument "${truncateQuote(String(params["additionalProperty"]))}"`
    : `${where}: ${formatViolation(violation)}`
}
