import type { JsonObject } from "../../json.ts"

const stringSchema = { type: "string" }
const anyObjectSchema = { type: "object" }

const objectSchema = (
  properties: JsonObject,
  required: ReadonlyArray<string> = Object.keys(properties)
): JsonObject => ({ type: "object", properties, required })

const contentBlockSchema = (
  type: string,
  properties: JsonObject,
  required: ReadonlyArray<string> = Object.keys(properties)
): JsonObject => objectSchema({ type: { const: type }, ...properties }, ["type", ...required])

const binaryProperties = { data: { type: "string", contentEncoding: "base64" }, mimeType: stringSchema }

export const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

export const responseSchemas: { readonly [name: string]: JsonObject } = {
  TextContent: contentBlockSchema("text", { text: stringSchema }),
  ImageContent: contentBlockSchema("image", binaryProperties),
  AudioContent: contentBlockSchema("audio", binaryProperties),
  EmbeddedResource: contentBlockSchema("resource", {
    resource: objectSchema(
      { uri: stringSchema, mimeType: stringSchema, text: stringSchema, blob: binaryProperties.data },
      ["uri"]
    )
  }),
  ResourceLink: contentBlockSchema("resource_link", { uri: stringSchema, name: stringSchema, mimeType: stringSchema }, [
    "uri",
    "name"
  ]),
  ToolResult: objectSchema(
    {
      content: {
        type: "array",
        description: "Content blocks of the result, as in MCP",
        items: {
          oneOf: ["TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"].map(schemaRef)
        }
      },
      structuredContent: { ...anyObjectSchema, description: "Structured result, when the tool returns one" },
      isError: { type: "boolean", description: "True when the tool reports a failure" }
    },
    ["content"]
  ),
  Error: objectSchema({ detail: stringSchema }),
  ValidationError: objectSchema({
    detail: {
      type: "array",
      items: objectSchema({
        loc: { type: "array", items: { anyOf: [stringSchema, { type: "integer" }] } },
        msg: stringSchema,
        type: stringSchema
      })
    }
  }),
  ServerInfo: objectSchema({
    message: stringSchema,
    version: stringSchema,
    tools_count: { type: "integer", minimum: 0 }
  }),
  Health: objectSchema({ status: { const: "healthy" } }),
  ToolList: objectSchema(
    {
      tools: {
        type: "array",
        items: objectSchema({ name: stringSchema, description: stringSchema, inputSchema: anyObjectSchema }, ["name"])
      },
      packs: { type: "array", items: objectSchema({ name: stringSchema, status: stringSchema }) }
    },
    ["tools"]
  )
}

export const jsonResponse = (description: string, schema: string): JsonObject => ({
  description,
  content: { "application/json": { schema: schemaRef(schema) } }
})

const errorDescriptions: { readonly [status: string]: string } = {
  401: "The API key is missing or invalid",
  404: "The tool no longer exists",
  413: "The parameters are too large",
  415: "The endpoint does not support this media type",
  500: "The tool failed",
  502: "The tool process exited",
  503: "Too many requests, or the tool is not loaded",
  504: "The tool timed out"
}

export const errorResponses = (...statuses: ReadonlyArray<number>): JsonObject =>
  Object.fromEntries(statuses.map((status) => [status, jsonResponse(errorDescriptions[status] ?? "", "Error")]))

export const toolCallResponses = (requiresKey: boolean): JsonObject => ({
  200: jsonResponse("Result of the tool", "ToolResult"),
  422: jsonResponse("The parameters are invalid", "ValidationError"),
  ...errorResponses(...(requiresKey ? [401] : []), 404, 413, 415, 500, 502, 503, 504)
})
