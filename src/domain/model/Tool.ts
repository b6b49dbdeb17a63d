import { Effect, Schema } from "effect"
import { JsonObject } from "../json.ts"
import { optionalField } from "./fields.ts"

/** A tool as a Computer offers it (seed 000, `SMCPTool`). Its name is opaque to Agents. */
export const Tool = Schema.Struct({
  name: Schema.String,
  /** The MCP server of the tool; missing on protocol lines without bundle ids. */
  bundleId: optionalField(Schema.String),
  description: Schema.String,
  paramsSchema: JsonObject,
  returnSchema: Schema.NullOr(JsonObject).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  meta: optionalField(JsonObject)
})
export type Tool = typeof Tool.Type
