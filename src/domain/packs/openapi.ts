import { plainName } from "../bridge/names.ts"
import { isJsonObject, type JsonObject } from "../json.ts"
import { answer, answerSchemas, failuresOf, schemaAt, toolAnswers } from "./answers.ts"
import { embedSchema } from "./document.ts"
import type { PackRoute } from "./offer.ts"

/** A host of packs, as far as its clients see it. */
export interface DescribedHost {
  readonly version: string
  /** Where it is reached; the place that the document comes from unless given. */
  readonly url?: string
  /** Calls need a key. */
  readonly isGuarded: boolean
}

/** A pack whose routes can be called. */
export interface DescribedPack {
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
  readonly pack: DescribedPack
  readonly route: PackRoute
}

/** Ids of what every host answers, which no route takes. */
const ownIds = { "/": "greet", "/health": "checkHealth", "/tools": "listTools" } as const

/** Longest id of an operation, in characters: clients make names of functions from it. */
const longestId = 64

/** The path without what all have in common, as a name. */
const idOf = (endpoint: string): string =>
  plainName(endpoint.replace(/^\/(tools\/(?=.))?/, "").replaceAll("/", "_"), longestId)

/** Every endpoint once. An id depends on the endpoint alone, unless two would have the same: then both say more. */
const operationsOf = (packs: ReadonlyArray<DescribedPack>): ReadonlyArray<Operation> => {
  const routes = new Map<string, Omit<Operation, "id">>()
  for (const pack of packs) {
    for (const route of pack.routes) {
      if (!routes.has(route.endpoint)) routes.set(route.endpoint, { pack, route })
    }
  }
  const taken = [...routes.keys()].map(idOf)
  const isShared = (id: string) =>
    taken.indexOf(id) !== taken.lastIndexOf(id) || Object.values<string>(ownIds).includes(id)
  return [...routes].map(([endpoint, operation]) => {
    const id = idOf(endpoint)
    // No path is a name, so that this one always ends in a mark of the whole path.
    return { ...operation, id: isShared(id) ? plainName(endpoint, longestId) : id }
  })
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const schemaName = (id: string): string => `params.${id}`

/** A file as forms carry it, with what its schema says about it. */
const fileSchema = (schema: unknown, many: boolean): JsonObject => {
  const file = { type: "string", format: "binary" }
  const described = isJsonObject(schema) && typeof schema["description"] === "string"
  return {
    ...(many ? { type: "array", items: file } : file),
    ...(described && { description: schema["description"] })
  }
}

const paramsOf = ({ id, route: { files, params, useForm } }: Operation): JsonObject => {
  const schema = embedSchema({ type: "object", ...params }, `#/components/schemas/${schemaName(id)}`)
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {}
  if (!useForm || Object.keys(files).length === 0) return schema
  const forms = Object.entries(files).map(([name, { many }]) => [name, fileSchema(properties[name], many)])
  return { ...schema, properties: { ...properties, ...Object.fromEntries(forms) } }
}

const bodyTypes = ({ files, useForm }: PackRoute): ReadonlyArray<string> => {
  if (!useForm) return ["application/json"]
  const isPlain = Object.keys(files).length === 0
  return ["multipart/form-data", ...(isPlain ? ["application/x-www-form-urlencoded"] : [])]
}

const paragraphs = (...texts: ReadonlyArray<string>): string =>
  [...new Set(texts.map((text) => text.trim()))].filter((text) => text !== "").join("\n\n")

const describe = ({ id, pack, route }: Operation, isGuarded: boolean): JsonObject => {
  const tool = pack.tools.find(({ name }) => name === route.tool) ?? {}
  const content = bodyTypes(route).map((type) => [type, { schema: schemaAt(schemaName(id)) }])
  return {
    operationId: id,
    tags: [pack.name],
    summary: textOf(tool["title"]) || route.tool,
    description: textOf(tool["description"]) || pack.description,
    requestBody: { required: true, content: Object.fromEntries(content) },
    responses: toolAnswers(isGuarded),
    ...(isGuarded && { security })
  }
}

/** Either of the two ways to show the key. */
const security = [{ apiKey: [] }, { bearer: [] }]

const securitySchemes = {
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
  bearer: { type: "http", scheme: "bearer" }
}

const ownPaths = (isGuarded: boolean): JsonObject => ({
  "/": {
    get: {
      operationId: ownIds["/"],
      summary: "Says that the host is up",
      responses: { 200: answer("It is", "Greeting") }
    }
  },
  "/health": {
    get: {
      operationId: ownIds["/health"],
      summary: "Says whether the host is well",
      responses: { 200: answer("It is", "Health") }
    }
  },
  "/tools": {
    get: {
      operationId: ownIds["/tools"],
      summary: "Lists all tools and packs",
      responses: { 200: answer("What there is", "ToolList"), ...(isGuarded && failuresOf(401)) },
      ...(isGuarded && { security })
    }
  }
})

/**
 * The OpenAPI 3.1 document of a host and what its packs offer over HTTP. Of two routes with one endpoint the first is
 * described. Schemas keep their definitions, wherever they are used from.
 */
export const openApi = (host: DescribedHost, packs: ReadonlyArray<DescribedPack>): JsonObject => {
  const { isGuarded, url, version } = host
  const operations = operationsOf(packs)
  const tags = new Map(packs.map(({ description, name, usage }) => [name, paragraphs(description, usage)]))
  return {
    openapi: "3.1.0",
    info: { title: "a2c tool packs", version },
    ...(url !== undefined && { servers: [{ url }] }),
    tags: [...tags].map(([name, description]) => ({ name, ...(description !== "" && { description }) })),
    paths: {
      ...ownPaths(isGuarded),
      ...Object.fromEntries(
        operations.map((operation) => [operation.route.endpoint, { post: describe(operation, isGuarded) }])
      )
    },
    components: {
      schemas: {
        ...answerSchemas,
        ...Object.fromEntries(operations.map((operation) => [schemaName(operation.id), paramsOf(operation)]))
      },
      ...(isGuarded && { securitySchemes })
    }
  }
}
