import { type JsonObject, parseJsonObject } from "../json.ts"

/** The member of a tool's `meta` that holds the MCP annotations as JSON text. */
export const annotationsKey = "MCP_TOOL_ANNOTATION"

/** Parses the MCP annotations in a tool's `meta`; `undefined` when absent or invalid. */
export const parseAnnotations = (meta: JsonObject | undefined): JsonObject | undefined =>
  parseJsonObject(meta?.[annotationsKey])
