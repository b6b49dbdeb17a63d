import type { JsonObject } from "../json.ts"

const text = { type: "string" }
const open = { type: "object" }

const object = (
  properties: JsonObject,
  required: ReadonlyArray<string> = Object.keys(properties)
): JsonObject => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required })
})

const block = (type: string, properties: JsonObject, required?: ReadonlyArray<string>): JsonObject => {
  const { properties: own, ...rest } = object(properties, required)
  return {
    ...rest,
    properties: { type: { const: type }, ...(typeof own === "object" && own) },
    required: ["type", ...(required ?? Object.keys(properties))]
  }
}

const binary = { data: { type: "string", contentEncoding: "base64" }, mimeType: text }

/** A reference to a schema of the document. */
export const schemaAt = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/** What the host answers, as JSON Schemas by their names in the document. */
export const answerSchemas: { readonly [name: string]: JsonObject } = {
  TextContent: block("text", { text }),
  ImageContent: block("image", binary),
  AudioContent: block("audio", binary),
  EmbeddedResource: block("resource", {
    resource: object({ uri: text, mimeType: text, text, blob: binary.data }, ["uri"])
  }),
  ResourceLink: block("resource_link", { uri: text, name: text, mimeType: text }, ["uri", "name"]),
  ToolResult: object(
    {
      content: {
        type: "array",
        description: "What the tool said, block by block, as MCP has it",
        items: {
          oneOf: ["TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"].map(
            schemaAt
          )
        }
      },
      structuredContent: { ...open, description: "The same as data, where the tool gives any" },
      isError: { type: "boolean", description: "True when the tool itself says that it failed" }
    },
    ["content"]
  ),
  Failure: object({ detail: text }),
  ParamsProblems: object({
    detail: {
      type: "array",
      items: object({
        loc: { type: "array", items: { anyOf: [text, { type: "integer" }] } },
        msg: text,
        type: text
      })
    }
  }),
  Greeting: object({ message: text, version: text, tools_count: { type: "integer", minimum: 0 } }),
  Health: object({ status: { const: "healthy" } }),
  ToolList: object(
    {
      tools: { type: "array", items: object({ name: text, description: text, inputSchema: open }, ["name"]) },
      packs: { type: "array", items: object({ name: text, status: text }) }
    },
    ["tools"]
  )
}

/** A response of JSON. */
export const answer = (description: string, schema: string): JsonObject => ({
  description,
  content: { "application/json": { schema: schemaAt(schema) } }
})

const failures: { readonly [status: string]: string } = {
  401: "The key is missing or wrong",
  404: "There is no such tool any more",
  413: "The parameters are too large",
  415: "The parameters are of another kind than this endpoint takes",
  500: "The tool failed",
  502: "What ran the tool is gone",
  503: "Too much is going on, or the tool is not there at the moment",
  504: "The tool took too long"
}

/** The responses that say by status what went wrong, for such statuses as can occur. */
export const failuresOf = (...statuses: ReadonlyArray<number>): JsonObject =>
  Object.fromEntries(statuses.map((status) => [status, answer(failures[status] ?? "", "Failure")]))

/** The responses of an endpoint that calls a tool. */
export const toolAnswers = (isGuarded: boolean): JsonObject => ({
  200: answer("What the tool gave", "ToolResult"),
  422: answer("The parameters are wrong", "ParamsProblems"),
  ...failuresOf(...(isGuarded ? [401] : []), 404, 413, 415, 500, 502, 503, 504)
})
