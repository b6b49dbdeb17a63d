import { isJsonObject, type JsonObject } from "../../domain/json.ts"

/** A listed tool. Unknown members are kept. */
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

export interface McpResource {
  uri: string
  name: string
  mimeType?: string
  [key: string]: unknown
}

export type McpContents =
  | { uri: string; mimeType?: string; text: string; [key: string]: unknown }
  | { uri: string; mimeType?: string; blob: string; [key: string]: unknown }

/** A content block of a tool result. Unknown types pass unchanged. */
export type McpContent =
  | { type: "text"; text: string; [key: string]: unknown }
  | { type: "image"; data: string; mimeType: string; [key: string]: unknown }
  | { type: "audio"; data: string; mimeType: string; [key: string]: unknown }
  | { type: "resource"; resource: McpContents; [key: string]: unknown }
  | { type: "resource_link"; uri: string; name: string; mimeType?: string; [key: string]: unknown }

/** The result of a tool. A failed tool sets `isError`. */
export interface McpToolResult {
  content: Array<McpContent>
  structuredContent?: Record<string, unknown>
  isError?: boolean
  _meta?: Record<string, unknown>
  [key: string]: unknown
}

const isContent = (value: unknown): value is McpContent => isJsonObject(value) && typeof value["type"] === "string"

const isResult = (value: JsonObject): value is JsonObject & McpToolResult =>
  Array.isArray(value["content"]) && value["content"].every(isContent)

/** Decodes a tool result; missing content becomes empty. Undefined when invalid. */
export const decodeToolResult = (raw: JsonObject): McpToolResult | undefined => {
  const result = raw["content"] === undefined ? { ...raw, content: [] } : raw
  return isResult(result) ? result : undefined
}

const isTool = (value: JsonObject): value is JsonObject & McpTool =>
  typeof value["name"] === "string" && isJsonObject(value["inputSchema"]) && value["inputSchema"]["type"] === "object"

/** Decodes a listed tool; a missing schema type becomes `object`. Undefined when invalid. */
export const decodeTool = (raw: JsonObject): McpTool | undefined => {
  const { inputSchema } = raw
  const untyped = isJsonObject(inputSchema) && inputSchema["type"] === undefined
  const tool = untyped ? { ...raw, inputSchema: { ...inputSchema, type: "object" } } : raw
  return isTool(tool) ? tool : undefined
}

export const isResource = (value: JsonObject): value is JsonObject & McpResource =>
  typeof value["uri"] === "string" && typeof value["name"] === "string"

export const isContents = (value: JsonObject): value is JsonObject & McpContents =>
  typeof value["uri"] === "string" && (typeof value["text"] === "string" || typeof value["blob"] === "string")
