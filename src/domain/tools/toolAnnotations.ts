import { type JsonObject, parseJsonObject } from "../json.ts"

/** The member of a tool's `meta` that holds the MCP annotations as JSON text. */
export const annotationsKey = "MCP_TOOL_ANNOTATION"

/** Parses the MCP annotations in a tool's `meta`; `undefined` when absent or invalid. */
export const parseAnnotations = (meta: JsonObject | undefined): JsonObject | undefined =>
  parseJsonObject(meta?.[annotationsKey])

/** What each hint says when it is true, and when it is false. */
const hints: { readonly [hint: string]: readonly [yes: string, no: string] } = {
  readOnlyHint: ["only reads", "changes data"],
  destructiveHint: ["may delete or overwrite data", "deletes and overwrites no data"],
  idempotentHint: ["may be repeated without another effect", "has another effect with each call"],
  openWorldHint: ["reaches other systems", "reaches no other systems"]
}

/** Says in words what a hint of a tool states, such as "only reads"; `undefined` for other annotations and values. */
export const describeHint = (name: string, value: unknown): string | undefined =>
  typeof value === "boolean" && Object.hasOwn(hints, name) ? hints[name]?.[value ? 0 : 1] : undefined
