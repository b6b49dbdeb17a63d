import { Schema, SchemaGetter } from "effect"
import { JsonObject } from "../json.ts"
import { fieldWithDefault, Identifier, optionalField } from "../model/fields.ts"
import { withParameterDefaults, checkParameters, type ServerType } from "./endpointParameters.ts"
import { ToolMeta } from "../tools/toolMeta.ts"

/** Rust peers write `http` for what the protocol calls `streamable`; it is only decoded (spec §8.2). */
const WireServerType = Schema.Literals(["stdio", "streamable", "sse", "http"]).pipe(
  Schema.decodeTo(Schema.Literals(["stdio", "streamable", "sse"]), {
    decode: SchemaGetter.transform((type: ServerType | "http") => (type === "http" ? "streamable" : type)),
    encode: SchemaGetter.passthroughSupertype()
  })
)

const ServerConfigFields = Schema.Struct({
  name: Identifier,
  type: WireServerType,
  disabled: fieldWithDefault(Schema.Boolean, () => false),
  forbiddenTools: fieldWithDefault(Schema.Array(Schema.String), () => []),
  toolMeta: fieldWithDefault(Schema.Record(Schema.String, ToolMeta), () => ({})),
  defaultToolMeta: fieldWithDefault(Schema.NullOr(ToolMeta), () => null),
  vrl: fieldWithDefault(Schema.NullOr(Schema.String), () => null),
  parameters: JsonObject
})
type ServerConfigFields = typeof ServerConfigFields.Type

const wireKeys = {
  forbiddenTools: "forbidden_tools",
  toolMeta: "tool_meta",
  defaultToolMeta: "default_tool_meta",
  parameters: "server_parameters"
} as const

export const serverFieldNames: ReadonlyArray<string> = Object.keys(
  ServerConfigFields.pipe(Schema.encodeKeys(wireKeys)).from.fields
)

/**
 * The configuration of one MCP server (seed 000, `MCPServerConfig`). `parameters` keep their wire names and their `${…}`
 * placeholders; `decodeEndpoint` reads them after rendering.
 */
export const ServerConfig = ServerConfigFields.pipe(
  Schema.encodeKeys(wireKeys),
  Schema.decodeTo(Schema.toType(ServerConfigFields), {
    decode: SchemaGetter.transform((config: ServerConfigFields) => ({
      ...config,
      parameters: withParameterDefaults(config.type, config.parameters)
    })),
    encode: SchemaGetter.passthrough()
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
    options: Schema.Array(Schema.String),
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

const namesMatchKeys = Schema.makeFilter((servers: { readonly [name: string]: ServerConfig }) =>
  Object.entries(servers).flatMap(([key, { name }]) =>
    key === name ? [] : [{ path: [key, "name"], issue: `must be "${key}", like its key` }]
  )
)

/** The configuration of a Computer, and the reply to `client:get_config` (seed 000, `GetComputerConfigRet`). */
export const ComputerConfig = Schema.Struct({
  inputs: fieldWithDefault(Schema.Array(Input).check(uniqueInputIds), () => []),
  servers: Schema.Record(Schema.String, ServerConfig).check(namesMatchKeys)
})
export type ComputerConfig = typeof ComputerConfig.Type
