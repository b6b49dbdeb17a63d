import { Result, Schema } from "effect"
import { sha256Hex } from "./toolPins.ts"
import type { ServerConfig } from "../config/computerConfig.ts"
import { canonicalJson, checkJsonBody, JsonObject } from "../json.ts"
import { definedOnly } from "../objects.ts"
import { makeDecoder } from "../validation.ts"
import type { ComputerName } from "../model/ids.ts"

const McpInfo = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  protocolVersion: Schema.optional(Schema.String),
  capabilities: Schema.Struct({
    tools: Schema.Boolean,
    resources: Schema.Boolean,
    /** The peer notifies of changed resource contents. */
    subscribe: Schema.Boolean,
    prompts: Schema.optionalKey(Schema.Boolean),
    completions: Schema.optionalKey(Schema.Boolean)
  }),
  instructions: Schema.optional(Schema.String),
  /** Its whole description as it sent it: title, icons and more. */
  implementation: Schema.optionalKey(JsonObject)
})
/** The MCP peer's description of itself. */
export type McpInfo = typeof McpInfo.Type

const ServerCatalogue = Schema.Struct({
  info: McpInfo,
  tools: Schema.Array(JsonObject),
  resources: Schema.Array(JsonObject),
  prompts: Schema.Array(JsonObject),
  /** Resource templates. */
  templates: Schema.Array(JsonObject),
  /** In milliseconds since 1970; missing where the server gave no time. */
  freshUntil: Schema.optionalKey(Schema.Finite)
})
/** What an MCP server told of itself: its info, and its lists in the form that MCP requires. */
export type ServerCatalogue = typeof ServerCatalogue.Type

/** Which catalogue: another configuration of a server has another one. */
export interface CatalogueKey {
  readonly computer: ComputerName
  readonly server: string
  /** A digest of the configuration with its placeholders. */
  readonly config: string
}

const digestOf = (value: unknown): string => sha256Hex(canonicalJson(value))

export const makeCatalogueKey = (computer: ComputerName, { name, parameters, type }: ServerConfig): CatalogueKey => ({
  computer,
  server: name,
  config: digestOf({ type, parameters })
})

/** A text that is the same for the same key. */
export const digestOfKey = ({ computer, config, server }: CatalogueKey): string => digestOf([computer, server, config])

const Sealed = Schema.Struct({ sha256: Schema.String, catalogue: JsonObject })
const decodeSealed = makeDecoder(Sealed)
const decodeCatalogue = makeDecoder(ServerCatalogue)

/** Changes with what catalogues hold: others are not used. */
const format = 2

const sealOf = (key: CatalogueKey, catalogue: JsonObject): string => digestOf([format, digestOfKey(key), catalogue])

/** Leaves out undefined members, which JSON has not. */
const toStored = ({ info, ...listings }: ServerCatalogue): JsonObject => ({
  info: { ...definedOnly(info), capabilities: definedOnly(info.capabilities) },
  ...listings
})

/** A text that is the same for equal catalogues. */
export const catalogueText = (catalogue: ServerCatalogue): string => canonicalJson(toStored(catalogue))

/** Adds a digest over the catalogue and its key. */
export const sealCatalogue = (key: CatalogueKey, catalogue: ServerCatalogue): Result.Result<JsonObject, string> => {
  const stored = toStored(catalogue)
  const problem = checkJsonBody(stored)
  return problem === undefined
    ? Result.succeed({ sha256: sealOf(key, stored), catalogue: stored })
    : Result.fail(problem)
}

/** Verifies the digest, and gives the catalogue. */
export const openCatalogue = (key: CatalogueKey, sealed: JsonObject): Result.Result<ServerCatalogue, string> => {
  const problem = checkJsonBody(sealed)
  if (problem !== undefined) return Result.fail(problem)
  return Result.flatMap(decodeSealed(sealed), ({ catalogue, sha256: seal }) => {
    if (seal !== sealOf(key, catalogue)) return Result.fail("its digest is not that of its content")
    return decodeCatalogue(catalogue)
  })
}
