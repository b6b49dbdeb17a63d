import { Duration, Result, Schema, SchemaGetter } from "effect"
import { formatSchemaError, type ValidationIssue, toValidationIssues } from "../validation.ts"
import { isJsonObject, type JsonObject } from "../json.ts"

/** The three ways to reach an MCP server; `streamable` is MCP's Streamable HTTP (spec §8.2). */
export type ServerType = "stdio" | "streamable" | "sse"

/** A text into which a number or a flag may have been rendered. */
const RenderedText = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]).pipe(
  Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transform((value: string | number | boolean) => String(value)),
    encode: SchemaGetter.passthroughSupertype()
  })
)

const nonNegative = Schema.makeFilter((duration: Duration.Duration) => !Duration.isNegative(duration), {
  expected: "a duration that is not negative"
})

const DurationFromSeconds = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).pipe(
  Schema.decodeTo(Schema.Duration, {
    decode: SchemaGetter.transform((seconds: number) => Duration.seconds(seconds)),
    encode: SchemaGetter.transform((duration: Duration.Duration) => Duration.toSeconds(duration))
  })
)

const IsoDuration = Schema.DurationFromIsoString.check(nonNegative)

/** How to start an MCP server that talks over its standard streams. */
export const StdioParameters = Schema.Struct({
  command: RenderedText.check(Schema.isNonEmpty()),
  args: Schema.Array(RenderedText),
  env: Schema.NullOr(Schema.Record(Schema.String, RenderedText)),
  cwd: Schema.NullOr(RenderedText),
  encoding: RenderedText,
  encodingErrorHandler: Schema.Literals(["strict", "ignore", "replace"])
}).pipe(Schema.encodeKeys({ encodingErrorHandler: "encoding_error_handler" }))
export type StdioParameters = typeof StdioParameters.Type

const Headers = Schema.NullOr(Schema.Record(Schema.String, RenderedText))

/** Where an MCP server answers over Streamable HTTP; durations are ISO 8601 texts on the wire. */
export const StreamableParameters = Schema.Struct({
  url: RenderedText.check(Schema.isNonEmpty()),
  headers: Headers,
  timeout: IsoDuration,
  sseReadTimeout: IsoDuration,
  terminateOnClose: Schema.Boolean
}).pipe(Schema.encodeKeys({ sseReadTimeout: "sse_read_timeout", terminateOnClose: "terminate_on_close" }))
export type StreamableParameters = typeof StreamableParameters.Type

/** Where an MCP server answers over the older HTTP with SSE; durations are seconds on the wire. */
export const SseParameters = Schema.Struct({
  url: RenderedText.check(Schema.isNonEmpty()),
  headers: Headers,
  timeout: DurationFromSeconds,
  sseReadTimeout: DurationFromSeconds
}).pipe(Schema.encodeKeys({ sseReadTimeout: "sse_read_timeout" }))
export type SseParameters = typeof SseParameters.Type

/** Every known parameter in wire order, with its default; `undefined` has none (spec §8.3). */
const parameterDefaults: { readonly [T in ServerType]: { readonly [field: string]: unknown } } = {
  stdio: {
    command: undefined,
    args: [],
    env: null,
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict"
  },
  streamable: {
    url: undefined,
    headers: null,
    timeout: "PT30S",
    sse_read_timeout: "PT300S",
    terminate_on_close: true
  },
  sse: { url: undefined, headers: null, timeout: 5, sse_read_timeout: 300 }
}

/** The names of all parameters of a type, as they are written. */
export const parameterNames = (type: ServerType): ReadonlyArray<string> =>
  Object.keys(parameterDefaults[type])

/** The parameters as they go on the wire: known fields only, defaults filled in, placeholders as written. */
export const withParameterDefaults = (type: ServerType, given: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(parameterDefaults[type]).flatMap(([field, fallback]) => {
      const value = (Object.hasOwn(given, field) ? given[field] : undefined) ?? fallback
      return value === undefined ? [] : [[field, value]]
    })
  )

const valueAt = (value: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>(
    (at, key) => (Array.isArray(at) || isJsonObject(at) ? Reflect.get(at, key) : undefined),
    value
  )

const hasPlaceholder = (value: unknown): boolean => typeof value === "string" && value.includes("${")

/** An MCP server that can be reached: its parameters with every placeholder rendered. */
export type Endpoint =
  | ({ readonly type: "stdio" } & StdioParameters)
  | ({ readonly type: "streamable" } & StreamableParameters)
  | ({ readonly type: "sse" } & SseParameters)

type Decode = (parameters: unknown) => Result.Result<Endpoint, Schema.SchemaError>

const decodeOptions = { errors: "all" } as const
const decodeStdio = Schema.decodeUnknownResult(StdioParameters, decodeOptions)
const decodeStreamable = Schema.decodeUnknownResult(StreamableParameters, decodeOptions)
const decodeSse = Schema.decodeUnknownResult(SseParameters, decodeOptions)

const decoders: { readonly [T in ServerType]: Decode } = {
  stdio: (parameters) => Result.map(decodeStdio(parameters), (fields) => ({ type: "stdio", ...fields })),
  streamable: (parameters) =>
    Result.map(decodeStreamable(parameters), (fields) => ({ type: "streamable", ...fields })),
  sse: (parameters) => Result.map(decodeSse(parameters), (fields) => ({ type: "sse", ...fields }))
}

/** Reads rendered parameters, or says in one line which of them is not what it must be. */
export const decodeEndpoint = (type: ServerType, parameters: unknown): Result.Result<Endpoint, string> =>
  Result.mapError(decoders[type](parameters), formatSchemaError)

/**
 * What is wrong with parameters that may still hold `${…}` placeholders: a fault that stands where a placeholder
 * stands is forgiven until the placeholder is rendered.
 */
export const checkParameters = (type: ServerType, parameters: JsonObject): ReadonlyArray<ValidationIssue> => {
  const outcome = decoders[type](parameters)
  if (Result.isSuccess(outcome)) return []
  return toValidationIssues(outcome.failure).filter(({ path }) => !hasPlaceholder(valueAt(parameters, path)))
}
