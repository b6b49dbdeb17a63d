import { Duration, Record, Result, Schema, SchemaGetter } from "effect"
import { formatSchemaError, type ValidationIssue, toValidationIssues } from "../validation.ts"
import { asString, isJsonObject, type JsonObject } from "../json.ts"
import { definedOnly } from "../objects.ts"

/** The transports of MCP servers; `streamable` is Streamable HTTP (spec §8.2). */
export type ServerType = "stdio" | "streamable" | "sse"

/** The MCP revisions that servers over Streamable HTTP are asked for first: one of each era. */
export const mcpRevisions = ["2025-11-25", "2026-07-28"] as const
export type McpRevision = (typeof mcpRevisions)[number]

/** A string; a placeholder may have rendered to a number or a boolean. */
const RenderedText = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]).pipe(
  Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transform((value: string | number | boolean) => String(value)),
    encode: SchemaGetter.passthroughSupertype()
  })
)

const DurationFromSeconds = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).pipe(
  Schema.decodeTo(Schema.Duration, {
    decode: SchemaGetter.transform((seconds: number) => Duration.seconds(seconds)),
    encode: SchemaGetter.transform((duration: Duration.Duration) => Duration.toSeconds(duration))
  })
)

const IsoDuration = Schema.DurationFromIsoString.check(
  Schema.makeFilter((duration) => !Duration.isNegative(duration), { expected: "a non-negative duration" })
)

export const StdioParameters = Schema.Struct({
  command: RenderedText.check(Schema.isNonEmpty()),
  args: Schema.Array(RenderedText),
  env: Schema.NullOr(Schema.Record(Schema.String, RenderedText)),
  /** Names of variables, or their start with `*`, that the server inherits beside those that programs need. */
  inherit: Schema.optionalKey(Schema.Array(RenderedText)),
  cwd: Schema.NullOr(RenderedText),
  encoding: RenderedText,
  encodingErrorHandler: Schema.Literals(["strict", "ignore", "replace"])
}).pipe(Schema.encodeKeys({ encodingErrorHandler: "encoding_error_handler" }))
export type StdioParameters = typeof StdioParameters.Type

const OAuthClientParameters = Schema.Struct({
  clientId: RenderedText.check(Schema.isNonEmpty()),
  clientSecret: Schema.optionalKey(RenderedText.check(Schema.isNonEmpty()))
}).pipe(Schema.encodeKeys({ clientId: "client_id", clientSecret: "client_secret" }))
/** A client that is registered at the authorization server of an MCP server. */
export type OAuthClientParameters = typeof OAuthClientParameters.Type

const httpFields = {
  url: RenderedText.check(Schema.isNonEmpty()),
  headers: Schema.NullOr(Schema.Record(Schema.String, RenderedText)),
  oauth: Schema.optionalKey(OAuthClientParameters)
}

/** Parameters of an MCP server over Streamable HTTP; durations are ISO 8601 strings on the wire. */
export const StreamableParameters = Schema.Struct({
  ...httpFields,
  timeout: IsoDuration,
  sseReadTimeout: IsoDuration,
  terminateOnClose: Schema.Boolean
}).pipe(Schema.encodeKeys({ sseReadTimeout: "sse_read_timeout", terminateOnClose: "terminate_on_close" }))
export type StreamableParameters = typeof StreamableParameters.Type

/** Parameters of an MCP server over HTTP with SSE; durations are seconds on the wire. */
export const SseParameters = Schema.Struct({
  ...httpFields,
  timeout: DurationFromSeconds,
  sseReadTimeout: DurationFromSeconds
}).pipe(Schema.encodeKeys({ sseReadTimeout: "sse_read_timeout" }))
export type SseParameters = typeof SseParameters.Type

const httpDefaults = { url: undefined, headers: null, oauth: undefined }

/** All parameters in wire order with their defaults; `undefined` marks a required one, or one that may be missing (spec §8.3). */
const parameterDefaults: { readonly [T in ServerType]: { readonly [field: string]: unknown } } = {
  stdio: {
    command: undefined,
    args: [],
    env: null,
    inherit: undefined,
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict"
  },
  streamable: { ...httpDefaults, timeout: "PT30S", sse_read_timeout: "PT300S", terminate_on_close: true },
  sse: { ...httpDefaults, timeout: 5, sse_read_timeout: 300 }
}

export const parameterNames = (type: ServerType): ReadonlyArray<string> => Object.keys(parameterDefaults[type])

/** Encodes parameters for the wire: known fields only, with defaults, placeholders unchanged. */
export const withParameterDefaults = (type: ServerType, given: JsonObject): JsonObject =>
  definedOnly(Record.map(parameterDefaults[type], (fallback, field) => given[field] ?? fallback))

const valueAt = (value: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>((at, key) => (Array.isArray(at) || isJsonObject(at) ? Reflect.get(at, key) : undefined), value)

/** The type and rendered parameters of an MCP server. */
export type Endpoint =
  | ({ readonly type: "stdio" } & StdioParameters)
  | ({ readonly type: "streamable" } & StreamableParameters)
  | ({ readonly type: "sse" } & SseParameters)

const makeDecode = <A>(schema: Schema.Codec<A, unknown>, toEndpoint: (parameters: A) => Endpoint) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all" })
  return (parameters: unknown) => Result.map(decode(parameters), toEndpoint)
}

const decoders = {
  stdio: makeDecode(StdioParameters, (parameters) => ({ type: "stdio", ...parameters })),
  streamable: makeDecode(StreamableParameters, (parameters) => ({ type: "streamable", ...parameters })),
  sse: makeDecode(SseParameters, (parameters) => ({ type: "sse", ...parameters }))
}

/** Decodes rendered parameters; fails with the errors in one line. */
export const decodeEndpoint = (type: ServerType, parameters: unknown): Result.Result<Endpoint, string> =>
  Result.mapError(decoders[type](parameters), formatSchemaError)

/** Checks parameters before rendering: ignores errors at `${…}` placeholders. */
export const checkParameters = (type: ServerType, parameters: JsonObject): ReadonlyArray<ValidationIssue> => {
  const outcome = decoders[type](parameters)
  if (Result.isSuccess(outcome)) return []
  return toValidationIssues(outcome.failure).filter(({ path }) => !asString(valueAt(parameters, path))?.includes("${"))
}
