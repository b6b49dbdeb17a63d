import { Array, Result, Schema, SchemaIssue, UndefinedOr } from "effect"
import { truncateQuote } from "./errorMessage.ts"
import { hasAtMostParts, isJsonObject } from "./json.ts"

/** One error of an input with its path. Never contains the rejected value: it may be a secret. */
export interface ValidationIssue {
  readonly path: ReadonlyArray<PropertyKey>
  readonly issue: string
}

const formatStandardIssues = SchemaIssue.makeFormatterStandardSchemaV1()

export const toValidationIssues = (error: Schema.SchemaError): ReadonlyArray<ValidationIssue> =>
  formatStandardIssues(error.issue).issues.map(({ message, path }) => ({
    path: (path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment)),
    issue: message.replaceAll("\n", " ").trim()
  }))

export const formatPath = (path: ReadonlyArray<PropertyKey>): string =>
  truncateQuote(
    path
      .map((key, index) => (typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${String(key)}`))
      .join("")
  )

/** Errors that one line has; more say the same. */
const maxFormattedIssues = 10

/** Formats the first errors in one line: `server_parameters.timeout: Expected …; name: Missing key`. */
export const formatIssues = (issues: ReadonlyArray<ValidationIssue>): string => {
  const shown = issues
    .slice(0, maxFormattedIssues)
    .map(({ issue, path }) => (path.length === 0 ? issue : `${formatPath(path)}: ${issue}`))
  const others = issues.length - shown.length
  return `${shown.join("; ")}${others === 0 ? "" : `; and ${others} more`}`
}

export const formatSchemaError = (error: Schema.SchemaError): string => formatIssues(toValidationIssues(error))

/** A larger input can have millions of errors. */
const maxPartsForAllErrors = 1000

/** All errors of a small input, and the first error of a large one. */
export const errorsFor = (input: unknown): "all" | "first" =>
  hasAtMostParts(input, maxPartsForAllErrors) ? "all" : "first"

/** Makes a decoder that never throws. Fails with all errors in one line, or with the first one of a large input. */
export const makeDecoder = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (input: unknown): Result.Result<S["Type"], string> => {
    const decoded = decode(input)
    if (Result.isSuccess(decoded) || errorsFor(input) === "first") return Result.mapError(decoded, formatSchemaError)
    return Result.mapError(decode(input, { errors: "all" }), formatSchemaError)
  }
}

export interface Codec<A> {
  /** Describes the messages; the reference in docs is generated from it. */
  readonly schema: Schema.Top
  /** Decodes a message of a peer; fails with its errors in one line. */
  readonly decode: (wire: unknown) => Result.Result<A, string>
  readonly encode: (value: A) => unknown
}

/** `decodeFast` decodes frequent valid messages without the schema; `undefined` falls back to it. */
export const makeCodec = <A, I>(
  schema: Schema.Codec<A, I>,
  decodeFast: (wire: unknown) => NoInfer<A> | undefined = () => undefined
): Codec<A> => {
  const decode = makeDecoder(schema)
  return {
    schema,
    decode: (wire) =>
      UndefinedOr.match(decodeFast(wire), { onUndefined: () => decode(wire), onDefined: Result.succeed }),
    encode: Schema.encodeSync(schema)
  }
}

/** A message with a list, and why items of the list are left out. */
export type Lenient<A> = A & { readonly omitted?: ReadonlyArray<string> }

/**
 * Makes a codec for a message with a list of a peer. Items that do not decode are left out, after `repair`; a list of which
 * no item decodes is rejected.
 */
export const makeListCodec = <A extends object, I>(
  schema: Schema.Codec<A, I>,
  list: string,
  repair = (item: unknown): unknown => item
): Codec<Lenient<A>> => {
  const { decode, ...codec } = makeCodec(schema)
  return {
    ...codec,
    decode: (wire) => {
      const whole = decode(wire)
      if (Result.isSuccess(whole) || !isJsonObject(wire)) return whole
      const { [list]: listed } = wire
      if (!Array.isArray(listed)) return whole
      const [valid, omitted] = Array.partition(listed.map(repair), (item) =>
        Result.map(decode({ ...wire, [list]: [item] }), () => item)
      )
      if (valid.length === 0) return whole
      return Result.map(decode({ ...wire, [list]: valid }), (decoded) =>
        omitted.length === 0 ? decoded : { ...decoded, omitted }
      )
    }
  }
}
