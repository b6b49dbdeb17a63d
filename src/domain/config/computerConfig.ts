import { Record, Schema, SchemaGetter, Duration } from "effect"
import { JsonObject } from "../json.ts"
import { fieldWithDefault, Identifier, isIdentifier, maxIdentifierLength, optionalField } from "../model/fields.ts"
import { withParameterDefaults, checkParameters, type ServerType } from "./endpointParameters.ts"
import { ToolMeta } from "./toolMeta.ts"
import { checkBundleId, deriveBundleId } from "./bundleId.ts"
import { parseShortDuration } from "../time/shortDuration.ts"

/** When an MCP server runs: as long as its Computer, or from a request until it has been idle for a time. */
export const lifecycles = ["eager", "lazy"] as const
export const Lifecycle = Schema.Literals(lifecycles)
export type Lifecycle = typeof Lifecycle.Type

const maxIdle = Duration.days(7)

/** Parses the time after which an idle server stops: up to a week, such as `5m`. */
export const parseIdle = (text: string): Duration.Duration | undefined => {
  const idle = parseShortDuration(text)
  return idle !== undefined && Duration.isLessThanOrEqualTo(idle, maxIdle) ? idle : undefined
}

export const expectedIdle = "a time up to 7d, such as 90s, 5m or 2h"

/** Rust peers write `http` for what the protocol calls `streamable`; it is only decoded (spec §8.2). */
const WireServerType = Schema.Literals(["stdio", "streamable", "sse", "http"]).pipe(
  Schema.decodeTo(Schema.Literals(["stdio", "streamable", "sse"]), {
    decode: SchemaGetter.transform((type: ServerType | "http") => (type === "http" ? "streamable" : type)),
    encode: SchemaGetter.passthroughSupertype()
  })
)

const BundleId = Identifier.check(Schema.makeFilter((text: string) => checkBundleId(text) ?? true))

const sharedFields = {
  name: Identifier,
  type: WireServerType,
  disabled: fieldWithDefault(Schema.Boolean, () => false),
  forbiddenTools: fieldWithDefault(Schema.Array(Schema.String), () => []),
  toolMeta: fieldWithDefault(Schema.Record(Schema.String, ToolMeta), () => ({})),
  defaultToolMeta: fieldWithDefault(Schema.NullOr(ToolMeta), () => null),
  vrl: fieldWithDefault(Schema.NullOr(Schema.String), () => null),
  parameters: JsonObject
}

const IdleTime = Schema.String.check(
  Schema.makeFilter((text: string) => parseIdle(text) !== undefined || `expected ${expectedIdle}`)
)

const reportedFields = { ...sharedFields, bundleId: optionalField(BundleId) }

const WireServerConfig = Schema.Struct({
  ...reportedFields,
  lifecycle: optionalField(Lifecycle),
  idle: optionalField(IdleTime)
})

const ServerConfigFields = Schema.toType(
  Schema.Struct({
    ...sharedFields,
    bundleId: Schema.String,
    displayName: Schema.optionalKey(Schema.String),
    /** When the server runs; the setting of the Computer by default. */
    lifecycle: Schema.optionalKey(Lifecycle),
    /** How long a lazy server runs without a request, such as `5m`; the setting of the Computer by default. */
    idle: Schema.optionalKey(Schema.String)
  })
)
type ServerConfigFields = typeof ServerConfigFields.Type

const wireKeys = {
  bundleId: "bundle_id",
  forbiddenTools: "forbidden_tools",
  toolMeta: "tool_meta",
  defaultToolMeta: "default_tool_meta",
  parameters: "server_parameters"
} as const

export const serverFieldNames: ReadonlyArray<string> = Object.keys(
  WireServerConfig.pipe(Schema.encodeKeys(wireKeys)).from.fields
)

/**
 * The configuration of one MCP server (seed 000, `MCPServerConfig`). `parameters` keep their wire names and their `${…}`
 * placeholders; `decodeEndpoint` reads them after rendering. `bundleId` identifies the server on protocol lines with
 * bundle ids; it is derived when it is not given.
 */
export const ServerConfig = WireServerConfig.pipe(
  Schema.encodeKeys(wireKeys),
  Schema.decodeTo(ServerConfigFields, {
    decode: SchemaGetter.transform((config: typeof WireServerConfig.Type) => ({
      ...config,
      bundleId: config.bundleId ?? deriveBundleId(config.name, config.type, config.parameters),
      parameters: withParameterDefaults(config.type, config.parameters)
    })),
    encode: SchemaGetter.transform(({ displayName, ...config }: ServerConfigFields) => ({
      ...config,
      name: displayName ?? config.name
    }))
  }),
  Schema.check(
    Schema.makeFilter(({ defaultToolMeta, parameters, type }: ServerConfigFields) => [
      ...(defaultToolMeta?.alias === undefined
        ? []
        : [{ path: ["default_tool_meta", "alias"], issue: "alias must not be set for all tools" }]),
      ...checkParameters(type, parameters).map(({ issue, path }) => ({ path: ["server_parameters", ...path], issue }))
    ])
  )
)
export type ServerConfig = typeof ServerConfig.Type

const inputFields = { id: Identifier, description: fieldWithDefault(Schema.String, () => "") }

const LabelledOption = Schema.Struct({ label: Schema.String, value: Schema.String })

/** An option of a `pickString`: a value, or a value with the label that people see. */
const PickOption = Schema.Union([Schema.String, LabelledOption]).pipe(
  Schema.decodeTo(LabelledOption, {
    decode: SchemaGetter.transform((option: string | typeof LabelledOption.Type) =>
      typeof option === "string" ? { label: option, value: option } : option
    ),
    encode: SchemaGetter.transform((option: typeof LabelledOption.Type) =>
      option.label === option.value ? option.value : option
    )
  })
)

/** A value that a configuration requests by `${input:id}` (seed 000, `MCPServerInput`). */
export const Input = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("promptString"),
    ...inputFields,
    default: optionalField(Schema.String),
    password: optionalField(Schema.Boolean)
  }),
  Schema.Struct({
    type: Schema.Literal("pickString"),
    ...inputFields,
    options: Schema.Array(PickOption),
    default: optionalField(Schema.String)
  }),
  Schema.Struct({
    type: Schema.Literal("command"),
    ...inputFields,
    command: Schema.NonEmptyString,
    args: optionalField(Schema.Record(Schema.String, Schema.String))
  })
])
export type Input = typeof Input.Type

const uniqueInputIds = Schema.makeFilter((inputs: ReadonlyArray<Input>) =>
  inputs.flatMap(({ id }, index) =>
    inputs.findIndex((other) => other.id === id) < index
      ? [{ path: [index, "id"], issue: `duplicate input "${id}"` }]
      : []
  )
)

const Servers = Schema.Record(Schema.String, ServerConfig)

const keysAreIdentifiers = Schema.makeFilter((servers: typeof Servers.Type) =>
  Object.keys(servers).flatMap((key) =>
    isIdentifier(key) ? [] : [{ path: [key], issue: `expected 1 to ${maxIdentifierLength} characters` }]
  )
)

/** Servers by their unique keys, which are their names here. A `name` that differs is the name for people. */
const KeyedServers = Servers.pipe(
  Schema.decodeTo(Schema.toType(Servers).check(keysAreIdentifiers), {
    decode: SchemaGetter.transform((servers: typeof Servers.Type) =>
      Record.map(servers, (server, name) =>
        server.name === name ? server : { ...server, name, displayName: server.name }
      )
    ),
    encode: SchemaGetter.passthrough()
  })
)

const Inputs = fieldWithDefault(Schema.Array(Input).check(uniqueInputIds), () => [])

/** The configuration of a Computer (seed 000, `GetComputerConfigRet`). */
export const ComputerConfig = Schema.Struct({ inputs: Inputs, servers: KeyedServers })
export type ComputerConfig = typeof ComputerConfig.Type

const encodeComputerConfig = Schema.encodeSync(ComputerConfig)

export const ReportedConfig = Schema.Struct({
  inputs: Inputs,
  servers: Schema.Record(Schema.String, Schema.Struct(reportedFields).pipe(Schema.encodeKeys(wireKeys)))
})

/** Leaves out the keys of a server that only its Computer reads; the protocol has no such fields. */
export const withoutLocalKeys = <S extends object>({
  idle: _idle,
  lifecycle: _lifecycle,
  ...server
}: S & { readonly idle?: unknown; readonly lifecycle?: unknown }) => server

/** Encodes a configuration with bundle ids and the names for people, without the keys that only its Computer reads. */
export const encodeReportedConfig = (config: ComputerConfig) => {
  const { servers, ...rest } = encodeComputerConfig(config)
  return { ...rest, servers: Record.map(servers, withoutLocalKeys) }
}
