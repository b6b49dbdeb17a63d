import { isJsonObject, type JsonObject } from "../../domain/json.ts"

/** A tool as an MCP server lists it; what else it says of itself stands beside these members. */
export interface McpTool {
  name: string
  title?: string
  description?: string
  inputSchema: {
    type: "object"
    properties?: Record<string, unknown>
    required?: Array<string>
    [key: string]: unknown
  }
  outputSchema?: Record<string, unknown>
  annotations?: Record<string, unknown>
  _meta?: Record<string, unknown>
  [key: string]: unknown
}

/** A resource as an MCP server lists it. */
export interface McpResource {
  uri: string
  name: string
  mimeType?: string
  [key: string]: unknown
}

/** The contents of a resource: text, or bytes in base64. */
export type McpContents =
  | { uri: string; mimeType?: string; text: string; [key: string]: unknown }
  | { uri: string; mimeType?: string; blob: string; [key: string]: unknown }

/** A block of a tool's result. Blocks of kinds that MCP gets later pass, too: whoever converts them decides. */
export type McpContent =
  | { type: "text"; text: string; [key: string]: unknown }
  | { type: "image"; data: string; mimeType: string; [key: string]: unknown }
  | { type: "audio"; data: string; mimeType: string; [key: string]: unknown }
  | { type: "resource"; resource: McpContents; [key: string]: unknown }
  | { type: "resource_link"; uri: string; name: string; mimeType?: string; [key: string]: unknown }

/** What a tool answered. A tool that failed says so in `isError`; that is a result like any other. */
export interface McpToolResult {
  content: Array<McpContent>
  structuredContent?: Record<string, unknown>
  isError?: boolean
  _meta?: Record<string, unknown>
  [key: string]: unknown
}

const isContent = (value: unknown): value is McpContent =>
  isJsonObject(value) && typeof value["type"] === "string"

const isResult = (value: JsonObject): value is JsonObject & McpToolResult =>
  Array.isArray(value["content"]) && value["content"].every(isContent)

/** Reads a tool's result, or gives `undefined` for what is none. One without content gets an empty one. */
export const decodeToolResult = (raw: JsonObject): McpToolResult | undefined => {
  const result = raw["content"] === undefined ? { ...raw, content: [] } : raw
  return isResult(result) ? result : undefined
}

const isTool = (value: JsonObject): value is JsonObject & McpTool =>
  typeof value["name"] === "string" &&
  isJsonObject(value["inputSchema"]) &&
  value["inputSchema"]["type"] === "object"

/**
 * Reads a listed tool, or gives `undefined` for what is none. A schema of parameters that names no type gets the only
 * one that MCP allows.
 */
export const decodeTool = (raw: JsonObject): McpTool | undefined => {
  const { inputSchema } = raw
  const untyped = isJsonObject(inputSchema) && inputSchema["type"] === undefined
  const tool = untyped ? { ...raw, inputSchema: { ...inputSchema, type: "object" } } : raw
  return isTool(tool) ? tool : undefined
}

/** Is this a listed resource? */
export const isResource = (value: JsonObject): value is JsonObject & McpResource =>
  typeof value["uri"] === "string" && typeof value["name"] === "string"

/** Are these contents of a resource? */
export const isContents = (value: JsonObject): value is JsonObject & McpContents =>
  typeof value["uri"] === "string" && (typeof value["text"] === "string" || typeof value["blob"] === "string")
