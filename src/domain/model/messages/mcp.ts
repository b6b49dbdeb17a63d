import { Schema } from "effect"
import { asObject, asString, isJsonObject, JsonObject, objectsIn } from "../../json.ts"
import { makeListCodec } from "../../validation.ts"
import { Identifier, isIdentifier, optionalField } from "../fields.ts"

/** The word by which Agents and Computers announce that they send and serve `client:mcp`. */
export const mcpFeature = "mcp"

/** The word by which a Computer announces that Agents may decide about their calls. */
export const approvalsFeature = "approvals"

/** The timeout of a request that states none. */
export const defaultMcpTimeoutSeconds = 30

/** The result of an MCP server, or its error. */
export const McpOutcome = Schema.Struct({
  result: optionalField(JsonObject),
  /** Not `error`: that member marks an error of the protocol. */
  failure: optionalField(Schema.Struct({ code: Schema.Int, message: Schema.String, data: optionalField(JsonObject) }))
})
export type McpOutcome = typeof McpOutcome.Type

/** A tool with what the protocol's list of tools does not carry: title, icons, `_meta` and more, as the server sent it. */
const McpToolDetails = Schema.Struct({
  name: Identifier,
  /** Its name at the MCP server, when it differs. */
  originalName: optionalField(Schema.String),
  details: JsonObject
})

/** An MCP server as its Computer describes it. */
export const McpServerInfo = Schema.Struct({
  id: Identifier,
  /** The `serverInfo` of the server: name, version, title, icons. */
  implementation: JsonObject,
  instructions: optionalField(Schema.String),
  tools: Schema.Array(McpToolDetails),
  prompts: Schema.Array(JsonObject),
  templates: Schema.Array(JsonObject),
  /** The resources that are apps. */
  apps: optionalField(Schema.Array(JsonObject)),
  /** Changes with the list of its plain resources; missing without any. */
  resourcesHash: optionalField(Schema.String),
  /** True when the server completes arguments. */
  completions: Schema.Boolean
})
export type McpServerInfo = typeof McpServerInfo.Type

/** Gives the members of a server that its tools do not need the right form, and leaves out odd items of its lists. */
const repairServer = (server: unknown): unknown => {
  if (!isJsonObject(server)) return server
  const { apps, completions, implementation, instructions, prompts, resourcesHash, templates, tools } = server
  return {
    ...server,
    implementation: asObject(implementation),
    instructions: asString(instructions) ?? null,
    tools: objectsIn(tools)
      .map(
        (tool): JsonObject => ({
          ...tool,
          originalName: asString(tool["originalName"]) ?? null,
          details: asObject(tool["details"])
        })
      )
      .filter(({ name }) => isIdentifier(name)),
    prompts: objectsIn(prompts),
    templates: objectsIn(templates),
    apps: objectsIn(apps),
    resourcesHash: asString(resourcesHash) ?? null,
    completions: completions === true
  }
}

export const mcpServerListCodec = makeListCodec(
  Schema.Struct({ servers: Schema.Array(McpServerInfo) }),
  "servers",
  repairServer
)
