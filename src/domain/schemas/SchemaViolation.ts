import { truncateQuote } from "../errorMessage.ts"

/** The violation of a keyword of JSON Schema by a part of a value. */
export interface SchemaViolation {
  /** JSON Pointer. */
  readonly instancePath: string
  readonly keyword: string
  /** The value of the keyword. */
  readonly argument?: unknown
  /** The member that is missing, or not allowed. */
  readonly member?: string | undefined
  /** What the keyword requires, in words that a model can act on. Short for schemas of any size. */
  readonly message: string
}

/** Describes a violation by the arguments of a call, with its place. */
export const formatArgumentViolation = ({ instancePath, message }: SchemaViolation): string =>
  `${instancePath === "" ? "the arguments" : truncateQuote(instancePath)}: ${message}`
