import { Result, Schema, SchemaIssue } from "effect"

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
  path
    .map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`))
    .join("")

/** Formats errors in one line: `server_parameters.timeout: Expected …; name: Missing key`. */
export const formatIssues = (issues: ReadonlyArray<ValidationIssue>): string =>
  issues.map(({ issue, path }) => (path.length === 0 ? issue : `${formatPath(path)}: ${issue}`)).join("; ")

export const formatSchemaError = (error: Schema.SchemaError): string => formatIssues(toValidationIssues(error))

/** Makes a decoder that never throws and fails with all errors in one line. */
export const makeDecoder = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all" })
  return (input: unknown): Result.Result<S["Type"], string> => Result.mapError(decode(input), formatSchemaError)
}

export interface Codec<A> {
  /** Decodes a message of a peer; fails with all errors in one line. */
  readonly decode: (wire: unknown) => Result.Result<A, string>
  readonly encode: (value: A) => unknown
}

export const makeCodec = <A, I>(schema: Schema.Codec<A, I>): Codec<A> => ({
  decode: makeDecoder(schema),
  encode: Schema.encodeSync(schema)
})
