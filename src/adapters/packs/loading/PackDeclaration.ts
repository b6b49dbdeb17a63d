import { Effect, Result } from "effect"
import { type PackSource, PackError } from "../../../application/ports/packs/PackLoader.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import type { PackManifest, PackRoute } from "../../../domain/packs/PackManifest.ts"
import { findRouteMismatches, isObjectLike, type DeclaredRoute, parseRoutes } from "../../../domain/packs/routes.ts"
import { fileParamsOf } from "../../../domain/packs/params/jsonSchema.ts"
import { type CompileSchema, type ParamsValidator, makeParamsValidator } from "./ParamsValidator.ts"

export interface ToolValidator extends ParamsValidator {
  readonly files: PackRoute["files"]
}

/** Manifest of a pack, and validators by tool. */
export interface PackDeclaration {
  readonly manifest: PackManifest
  readonly tools: ReadonlyMap<string, ToolValidator>
}

const maxTools = 256

const anyObjectSchema: JsonObject = { type: "object" }

interface ListedEntry {
  readonly name: string
  readonly entry: JsonObject
}

/** Parses the result of `listTools()`: each tool once, and warnings about the rest. */
const parseListings = (
  given: unknown
): Result.Result<readonly [ReadonlyArray<ListedEntry>, ReadonlyArray<string>], string> => {
  if (!Array.isArray(given)) {
    return Result.fail("listTools() must return a list of tools, [{ name, description }]")
  }
  const listings = new Map<string, ListedEntry>()
  const warnings: Array<string> = []
  given.slice(0, maxTools).forEach((tool: unknown, index) => {
    const name = isObjectLike(tool) ? tool["name"] : undefined
    if (!isObjectLike(tool) || typeof name !== "string" || name === "") {
      warnings.push(`tool ${index + 1} of listTools() has no 'name' and is ignored`)
    } else if (listings.has(name)) {
      warnings.push(`listTools() lists '${name}' twice; the first one is used`)
    } else {
      listings.set(name, { name, entry: tool })
    }
  })
  if (given.length > maxTools) warnings.push(`listTools() lists more than ${maxTools} tools; the rest is ignored`)
  return Result.succeed([[...listings.values()], warnings])
}

/** Automata uses `input_schema`. */
const inputSchemaOf = ({ entry }: ListedEntry): unknown => entry["inputSchema"] ?? entry["input_schema"] ?? undefined

/** Converts a listing to JSON, without its schema. */
const toPlainListing = (listing: ListedEntry): Result.Result<JsonObject, string> => {
  const { inputSchema: _ours, input_schema: _seeds, ...rest } = listing.entry
  return Result.try({
    try: () => {
      const value: unknown = JSON.parse(JSON.stringify(rest))
      return isJsonObject(value) ? value : {}
    },
    catch: () => `tool '${listing.name}' of listTools() cannot be written as JSON`
  })
}

const withFileParams = (parameters: ParamsValidator): ToolValidator => ({
  ...parameters,
  files: fileParamsOf(parameters.schema)
})

const parseDeclaration = (
  { name }: PackSource,
  declaredRoutes: unknown,
  declaredTools: unknown,
  compile: CompileSchema
): Result.Result<PackDeclaration, string> =>
  Result.gen(function* () {
    const { errors, routes: declared, warnings: routeWarnings } = parseRoutes(name, declaredRoutes)
    const [listings, listWarnings] = yield* parseListings(declaredTools)
    const warnings = [...errors, ...routeWarnings, ...listWarnings]
    const tools = new Map<string, ToolValidator>()
    const listedSchemas = new Map<string, JsonObject>()
    for (const listing of listings) {
      const schema = inputSchemaOf(listing)
      if (schema === undefined) continue
      const parameters = makeParamsValidator(schema, compile)
      if (Result.isFailure(parameters)) {
        return yield* Result.fail(`inputSchema of the tool '${listing.name}': ${parameters.failure}`)
      }
      warnings.push(...parameters.success.warnings.map((warning) => `tool '${listing.name}': ${warning}`))
      listedSchemas.set(listing.name, parameters.success.schema)
      tools.set(listing.name, withFileParams(parameters.success))
    }
    const routes: Array<PackRoute> = []
    const firstRouteOfTool = new Map<string, DeclaredRoute>()
    for (const route of declared) {
      const parameters = makeParamsValidator(route.params, compile, listedSchemas.get(route.tool))
      if (Result.isFailure(parameters)) {
        return yield* Result.fail(`params of the route ${route.endpoint}: ${parameters.failure}`)
      }
      const { files, ...rest } = withFileParams(parameters.success)
      warnings.push(...rest.warnings.map((warning) => `route ${route.endpoint}: ${warning}`))
      routes.push({
        endpoint: route.endpoint,
        tool: route.tool,
        // Files require a form.
        useForm: route.useForm || Object.keys(files).length > 0,
        params: rest.schema,
        files
      })
      const first = firstRouteOfTool.get(route.tool)
      if (first === undefined) {
        firstRouteOfTool.set(route.tool, route)
        tools.set(route.tool, { ...rest, files })
      } else if (first.params !== route.params) {
        warnings.push(
          `routes ${first.endpoint} and ${route.endpoint} call the tool '${route.tool}' with different parameters; ` +
            `those of ${first.endpoint} are used: give each its own 'toolName'`
        )
      }
    }
    const offered: Array<JsonObject> = []
    for (const listing of listings) {
      const inputSchema = listedSchemas.get(listing.name) ?? tools.get(listing.name)?.schema ?? anyObjectSchema
      offered.push({ ...(yield* toPlainListing(listing)), inputSchema })
      if (!tools.has(listing.name)) {
        tools.set(listing.name, withFileParams(yield* makeParamsValidator(anyObjectSchema, compile)))
      }
    }
    if (tools.size === 0) {
      const reason = warnings.length === 0 ? "getRouteConfig() and listTools() return nothing" : warnings.join("; ")
      return yield* Result.fail(`it has no tools: ${reason}`)
    }
    return {
      manifest: { routes, tools: offered, warnings: [...warnings, ...findRouteMismatches(routes, offered)] },
      tools
    }
  })

/** Builds the declaration of a pack from the results of its methods. Fails for a pack without tools. */
export const decodeDeclaration = (
  source: PackSource,
  declaredRoutes: unknown,
  declaredTools: unknown,
  compile: CompileSchema
): Effect.Effect<PackDeclaration, PackError> =>
  Effect.suspend(() => Effect.fromResult(parseDeclaration(source, declaredRoutes, declaredTools, compile))).pipe(
    Effect.mapError((message) => new PackError({ reason: "unusable", message })),
    // Getters of foreign objects can throw.
    Effect.catchDefect(() =>
      Effect.fail(new PackError({ reason: "unusable", message: "its declaration cannot be read" }))
    )
  )
