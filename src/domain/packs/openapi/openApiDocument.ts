import { sanitizeName } from "../../tools/exposedNames.ts"
import { asObject, isJsonObject, type JsonObject, stringOrEmpty } from "../../json.ts"
import { jsonResponse, responseSchemas, errorResponses, schemaRef, toolCallResponses } from "./responses.ts"
import { embedSchema } from "./embedSchema.ts"
import type { PackRoute } from "../PackManifest.ts"

/** A host of packs, as far as its clients see it. */
export interface OpenApiHost {
  readonly version: string
  /** Base URL; relative to the document by default. */
  readonly url?: string
  /** Calls need a key. */
  readonly requiresKey: boolean
}

/** A pack whose routes can be called. */
export interface OpenApiPack {
  readonly name: string
  readonly description: string
  readonly usage: string
  readonly routes: ReadonlyArray<PackRoute>
  /** Its tools as it lists them: they describe the routes. */
  readonly tools: ReadonlyArray<JsonObject>
}

/** A route in the document. */
interface Operation {
  readonly id: string
  readonly pack: OpenApiPack
  readonly route: PackRoute
}

/** Ids of what every host answers, which no route takes. */
const hostOperationIds = { "/": "getServerInfo", "/health": "getHealth", "/tools": "listTools" } as const

/** Longest id of an operation, in characters: clients make names of functions from it. */
const maxOperationIdLength = 64

/** The path without what all have in common, as a name. */
const operationIdOf = (endpoint: string): string =>
  sanitizeName(endpoint.replace(/^\/(tools\/(?=.))?/, "").replaceAll("/", "_"), maxOperationIdLength)

/** Every endpoint once. An id depends on the endpoint alone, unless two would have the same: then both say more. */
const collectOperations = (packs: ReadonlyArray<OpenApiPack>): ReadonlyArray<Operation> => {
  const routes = new Map<string, Omit<Operation, "id">>()
  for (const pack of packs) {
    for (const route of pack.routes) {
      if (!routes.has(route.endpoint)) routes.set(route.endpoint, { pack, route })
    }
  }
  const ids = [...routes.keys()].map(operationIdOf)
  const isShared = (id: string) =>
    ids.indexOf(id) !== ids.lastIndexOf(id) || Object.values<string>(hostOperationIds).includes(id)
  return [...routes].map(([endpoint, operation]) => {
    const id = operationIdOf(endpoint)
    // No path is a name, so that this one always ends in a mark of the whole path.
    return { ...operation, id: isShared(id) ? sanitizeName(endpoint, maxOperationIdLength) : id }
  })
}

const paramsSchemaName = (id: string): string => `params.${id}`

/** A file as forms carry it, with what its schema says about it. */
const formFileSchema = (schema: unknown, multiple: boolean): JsonObject => {
  const file = { type: "string", format: "binary" }
  const described = isJsonObject(schema) && typeof schema["description"] === "string"
  return {
    ...(multiple ? { type: "array", items: file } : file),
    ...(described && { description: schema["description"] })
  }
}

const paramsSchemaOf = ({ id, route: { files, params, useForm } }: Operation): JsonObject => {
  const schema = embedSchema({ type: "object", ...params }, `#/components/schemas/${paramsSchemaName(id)}`)
  const properties = asObject(schema["properties"])
  if (!useForm || Object.keys(files).length === 0) return schema
  const forms = Object.entries(files).map(([name, { multiple }]) => [
    name,
    formFileSchema(properties[name], multiple)
  ])
  return { ...schema, properties: { ...properties, ...Object.fromEntries(forms) } }
}

const contentTypesOf = ({ files, useForm }: PackRoute): ReadonlyArray<string> => {
  if (!useForm) return ["application/json"]
  const isPlain = Object.keys(files).length === 0
  return ["multipart/form-data", ...(isPlain ? ["application/x-www-form-urlencoded"] : [])]
}

const joinParagraphs = (...texts: ReadonlyArray<string>): string =>
  [...new Set(texts.map((text) => text.trim()))].filter((text) => text !== "").join("\n\n")

const describeOperation = ({ id, pack, route }: Operation, requiresKey: boolean): JsonObject => {
  const tool = pack.tools.find(({ name }) => name === route.tool) ?? {}
  const content = contentTypesOf(route).map((type) => [type, { schema: schemaRef(paramsSchemaName(id)) }])
  return {
    operationId: id,
    tags: [pack.name],
    summary: stringOrEmpty(tool["title"]) || route.tool,
    description: stringOrEmpty(tool["description"]) || pack.description,
    requestBody: { required: true, content: Object.fromEntries(content) },
    responses: toolCallResponses(requiresKey),
    ...(requiresKey && { security })
  }
}

/** Either of the two ways to show the key. */
const security = [{ apiKey: [] }, { bearer: [] }]

const securitySchemes = {
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
  bearer: { type: "http", scheme: "bearer" }
}

const hostPaths = (requiresKey: boolean): JsonObject => ({
  "/": {
    get: {
      operationId: hostOperationIds["/"],
      summary: "Returns the version of the server and the number of tools",
      responses: { 200: jsonResponse("The server is up", "ServerInfo") }
    }
  },
  "/health": {
    get: {
      operationId: hostOperationIds["/health"],
      summary: "Returns the health of the server",
      responses: { 200: jsonResponse("The server is up", "Health") }
    }
  },
  "/tools": {
    get: {
      operationId: hostOperationIds["/tools"],
      summary: "Lists all tools and packs",
      responses: {
        200: jsonResponse("Tools and packs", "ToolList"),
        ...(requiresKey && errorResponses(401))
      },
      ...(requiresKey && { security })
    }
  }
})

/**
 * The OpenAPI 3.1 document of a host and what its packs offer over HTTP. Of two routes with one endpoint the first is
 * described. Schemas keep their definitions, wherever they are used from.
 */
export const makeOpenApiDocument = (host: OpenApiHost, packs: ReadonlyArray<OpenApiPack>): JsonObject => {
  const { requiresKey, url, version } = host
  const operations = collectOperations(packs)
  const tags = new Map(
    packs.map(({ description, name, usage }) => [name, joinParagraphs(description, usage)])
  )
  return {
    openapi: "3.1.0",
    info: { title: "a2c tool packs", version },
    ...(url !== undefined && { servers: [{ url }] }),
    tags: [...tags].map(([name, description]) => ({ name, ...(description !== "" && { description }) })),
    paths: {
      ...hostPaths(requiresKey),
      ...Object.fromEntries(
        operations.map((operation) => [
          operation.route.endpoint,
          { post: describeOperation(operation, requiresKey) }
        ])
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
