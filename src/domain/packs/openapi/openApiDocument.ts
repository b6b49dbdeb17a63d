import { Array, Record, Schema } from "effect"
import { sanitizeName } from "../../tools/exposedNames.ts"
import { asObject, type JsonObject, stringOrEmpty } from "../../json.ts"
import { embedSchema } from "./embedSchema.ts"
import { executionPath, ExecutionRequest } from "../packExecution.ts"
import type { PackRoute } from "../PackManifest.ts"
import { replaceFileParams } from "../params/embeddedFile.ts"

const text = { type: "string" }
const binary = { type: "string", contentEncoding: "base64" }
const anyObject = { type: "object" }

const listSchema = (items: JsonObject): JsonObject => ({ type: "array", items })

/** All members are required but the optional ones. */
const objectSchema = (properties: JsonObject, ...optional: ReadonlyArray<string>): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name))
})

const blockSchema = (type: string, properties: JsonObject, ...optional: ReadonlyArray<string>): JsonObject =>
  objectSchema({ type: { const: type }, ...properties }, ...optional)

const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

const contentSchemas = {
  TextContent: blockSchema("text", { text }),
  ImageContent: blockSchema("image", { data: binary, mimeType: text }),
  AudioContent: blockSchema("audio", { data: binary, mimeType: text }),
  EmbeddedResource: blockSchema("resource", {
    resource: objectSchema({ uri: text, mimeType: text, text, blob: binary }, "mimeType", "text", "blob")
  }),
  ResourceLink: blockSchema("resource_link", { uri: text, name: text, mimeType: text }, "mimeType")
}

const responseSchemas: { readonly [name: string]: JsonObject } = {
  ...contentSchemas,
  ToolResult: objectSchema(
    {
      content: {
        ...listSchema({ oneOf: Object.keys(contentSchemas).map(schemaRef) }),
        description: "Content blocks of the result, as in MCP"
      },
      structuredContent: { ...anyObject, description: "Structured result, when the tool returns one" },
      isError: { type: "boolean", description: "True when the tool reports a failure" }
    },
    "structuredContent",
    "isError"
  ),
  Error: objectSchema({ detail: text }),
  ValidationError: objectSchema({
    detail: listSchema(objectSchema({ loc: listSchema({ anyOf: [text, { type: "integer" }] }), msg: text, type: text }))
  }),
  ServerInfo: objectSchema({ message: text, version: text, tools_count: { type: "integer", minimum: 0 } }),
  Health: objectSchema({ status: { const: "healthy" } }),
  ToolList: objectSchema(
    {
      tools: listSchema(
        objectSchema({ name: text, description: text, inputSchema: anyObject }, "description", "inputSchema")
      ),
      packs: listSchema(objectSchema({ name: text, status: text }))
    },
    "packs"
  )
}

const jsonResponse = (description: string, schema: string): JsonObject => ({
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

const { 401: unauthorized, ...failures } = Record.map(errorDescriptions, (one) => jsonResponse(one, "Error"))

const toolCallResponses: JsonObject = {
  200: jsonResponse("Result of the tool", "ToolResult"),
  422: jsonResponse("The parameters are invalid", "ValidationError"),
  ...failures
}

/** A client can send the key in either way. */
const security = [{ apiKey: [] }, { bearer: [] }]

const withKey = (requiresKey: boolean, responses: JsonObject): JsonObject =>
  requiresKey ? { responses: { ...responses, 401: unauthorized }, security } : { responses }

export interface OpenApiHost {
  readonly version: string
  /** Base URL; relative to the document by default. */
  readonly url?: string
  readonly requiresKey: boolean
}

export interface OpenApiPack {
  readonly name: string
  readonly description: string
  readonly usage: string
  readonly routes: ReadonlyArray<PackRoute>
  /** Tool definitions, which describe the routes. */
  readonly tools: ReadonlyArray<JsonObject>
}

type Operation = ReturnType<typeof collectOperations>[number]

const hostOperationIds = { "/": "getServerInfo", "/health": "getHealth", "/tools": "listTools" } as const

/** Generated clients use operation ids as function names. */
const maxOperationIdLength = 64

const operationIdOf = (endpoint: string): string =>
  sanitizeName(endpoint.replace(/^\/(tools\/(?=.))?/, "").replaceAll("/", "_"), maxOperationIdLength)

/**
 * Collects each endpoint once. Its id depends on the endpoint alone; equal ids get a hash of their path. An execution takes
 * the parameters as its payload.
 */
const collectOperations = (packs: ReadonlyArray<OpenApiPack>) => {
  const routes = packs.flatMap((pack) => pack.routes.map((route) => ({ pack, route, isExecution: false })))
  const calls = Array.dedupeWith(routes, (one, other) => one.route.endpoint === other.route.endpoint)
  const executions = calls.map(({ pack, route }) => ({
    pack,
    route: { ...route, endpoint: `${route.endpoint}${executionPath}`, useForm: false },
    isExecution: true
  }))
  const operations = [...calls, ...executions]
  const ids = operations.map(({ route }) => operationIdOf(route.endpoint))
  const isShared = (id: string) =>
    ids.indexOf(id) !== ids.lastIndexOf(id) || Object.values<string>(hostOperationIds).includes(id)
  return operations.map((operation) => {
    const { endpoint } = operation.route
    const id = operationIdOf(endpoint)
    // A path is not a valid name, so `sanitizeName` always adds the hash.
    return { ...operation, id: isShared(id) ? sanitizeName(endpoint, maxOperationIdLength) : id }
  })
}

const paramsSchemaName = (id: string): string => `params.${id}`

const executionSchema = Schema.toJsonSchemaDocument(ExecutionRequest).schema

const paramsSchemaOf = ({ id, isExecution, route }: Operation): JsonObject => {
  const { files, params, requiresSession, useForm } = route
  const own = `#/components/schemas/${paramsSchemaName(id)}`
  if (isExecution) {
    const payload = embedSchema({ type: "object", ...params }, `${own}/properties/payload`)
    const required = ["task", "payload", ...(requiresSession === true ? ["session"] : [])]
    return { ...executionSchema, properties: { ...asObject(executionSchema["properties"]), payload }, required }
  }
  const schema = embedSchema({ type: "object", ...params }, own)
  return useForm ? replaceFileParams(schema, files, { type: "string", format: "binary" }) : schema
}

const contentTypesOf = ({ files, useForm }: PackRoute): ReadonlyArray<string> => {
  if (!useForm) return ["application/json"]
  const isPlain = Object.keys(files).length === 0
  return ["multipart/form-data", ...(isPlain ? ["application/x-www-form-urlencoded"] : [])]
}

const joinParagraphs = (...texts: ReadonlyArray<string>): string =>
  [...new Set(texts.map((text) => text.trim()))].filter((text) => text !== "").join("\n\n")

const describeOperation = ({ id, isExecution, pack, route }: Operation, requiresKey: boolean): JsonObject => {
  const tool = pack.tools.find(({ name }) => name === route.tool) ?? {}
  const content = contentTypesOf(route).map((type) => [type, { schema: schemaRef(paramsSchemaName(id)) }])
  return {
    operationId: id,
    tags: [pack.name],
    summary: `${stringOrEmpty(tool["title"]) || route.tool}${isExecution ? " with a task" : ""}`,
    description: stringOrEmpty(tool["description"]) || pack.description,
    requestBody: { required: true, content: Object.fromEntries(content) },
    ...withKey(requiresKey, toolCallResponses)
  }
}

const securitySchemes = {
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
  bearer: { type: "http", scheme: "bearer" }
}

const hostPaths = (requiresKey: boolean): JsonObject => {
  const page = (operationId: string, summary: string, responses: JsonObject) => ({
    get: { operationId, summary, ...responses }
  })
  const isUp = (schema: string) => ({ responses: { 200: jsonResponse("The server is up", schema) } })
  const listing = withKey(requiresKey, { 200: jsonResponse("Tools and packs", "ToolList") })
  return {
    "/": page(hostOperationIds["/"], "Returns the version of the server and the number of tools", isUp("ServerInfo")),
    "/health": page(hostOperationIds["/health"], "Returns the health of the server", isUp("Health")),
    "/tools": page(hostOperationIds["/tools"], "Lists all tools and packs", listing)
  }
}

/** Makes the OpenAPI 3.1 document of a host. Of two routes with the same endpoint, the first one counts. */
export const makeOpenApiDocument = (host: OpenApiHost, packs: ReadonlyArray<OpenApiPack>): JsonObject => {
  const { requiresKey, url, version } = host
  const operations = collectOperations(packs)
  const tags = new Map(packs.map(({ description, name, usage }) => [name, joinParagraphs(description, usage)]))
  return {
    openapi: "3.1.0",
    info: { title: "a2c tool packs", version },
    ...(url !== undefined && { servers: [{ url }] }),
    tags: [...tags].map(([name, description]) => ({ name, ...(description !== "" && { description }) })),
    paths: {
      ...hostPaths(requiresKey),
      ...Object.fromEntries(
        operations.map((operation) => [operation.route.endpoint, { post: describeOperation(operation, requiresKey) }])
      )
    },
    components: {
      schemas: {
        ...responseSchemas,
        ...Object.fromEntries(
          operations.map((operation) => [paramsSchemaName(operation.id), paramsSchemaOf(operation)])
        )
      },
      ...(requiresKey && { securitySchemes })
    }
  }
}
