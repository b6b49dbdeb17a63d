import { Effect, Result } from "effect"
import { type PackSource, PackError } from "../../../application/ports/packs/PackLoader.ts"
import { asObject, type JsonObject, parseJsonOrThrow } from "../../../domain/json.ts"
import type { PackManifest, PackRoute } from "../../../domain/packs/PackManifest.ts"
import { findRouteMismatches, isObjectLike, type DeclaredRoute, parseRoutes } from "../../../domain/packs/routes.ts"
import { fileParamsOf } from "../../../domain/schemas/jsonSchema.ts"
import { type CompileSchema, type ParamsValidator, makeParamsValidator } from "./ParamsValidator.ts"

export interface ToolValidator extends ParamsValidator {
  readonly files: PackRoute["files"]
}

interface PackDeclaration {
  readonly manifest: PackManifest
  /** Validators by tool. */
  readonly tools: ReadonlyMap<string, ToolValidator>
}

const maxTools = 256

const anyObjectSchema: JsonObject = { type: "object" }

/** Parses the result of `listTools()`: each tool once, by name, and warnings about the rest. */
const parseListings = (given: unknown) => {
  if (!Array.isArray(given)) return Result.fail("listTools() must return a list of tools, [{ name, description }]")
  const listings = new Map<string, JsonObject>()
  const warnings: Array<string> = []
  given.slice(0, maxTools).forEach((tool: unknown, index) => {
    const name = isObjectLike(tool) ? tool["name"] : undefined
    if (!isObjectLike(tool) || typeof name !== "string" || name === "") {
      warnings.push(`tool ${index + 1} of listTools() has no 'name' and is ignored`)
    } else if (listings.has(name)) {
      warnings.push(`listTools() lists '${name}' twice; the first one is used`)
    } else {
      listings.set(name, tool)
    }
  })
  if (given.length > maxTools) warnings.push(`listTools() lists more than ${maxTools} tools; the rest is ignored`)
  return Result.succeed([listings, warnings] as const)
}

/** Converts a listing to JSON, without its schema. */
const toPlainListing = (name: string, listing: JsonObject): Result.Result<JsonObject, string> => {
  const { inputSchema: _ours, input_schema: _seeds, ...rest } = listing
  return Result.try({
    try: () => asObject(parseJsonOrThrow(JSON.stringify(rest))),
    catch: () => `tool '${name}' of listTools() cannot be written as JSON`
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
    for (const [tool, listing] of listings) {
      // Automata uses `input_schema`.
      const schema = listing["inputSchema"] ?? listing["input_schema"] ?? undefined
      if (schema === undefined) continue
      const parameters = yield* Result.mapError(
        makeParamsValidator(schema, compile),
        (reason) => `inputSchema of the tool '${tool}': ${reason}`
      )
      warnings.push(...parameters.warnings.map((warning) => `tool '${tool}': ${warning}`))
      listedSchemas.set(tool, parameters.schema)
      tools.set(tool, withFileParams(parameters))
    }
    const routes: Array<PackRoute> = []
    const firstRouteOfTool = new Map<string, DeclaredRoute>()
    for (const route of declared) {
      const { endpoint, params, tool } = route
      const parameters = yield* Result.mapError(
        makeParamsValidator(params, compile, listedSchemas.get(tool)),
        (reason) => `params of the route ${endpoint}: ${reason}`
      )
      const validator = withFileParams(parameters)
      const { files, schema } = validator
      warnings.push(...validator.warnings.map((warning) => `route ${endpoint}: ${warning}`))
      // Files require a form.
      const useForm = route.useForm || Object.keys(files).length > 0
      routes.push({ endpoint, tool, useForm, params: schema, files })
      const first = firstRouteOfTool.get(tool)
      if (first === undefined) {
        firstRouteOfTool.set(tool, route)
        tools.set(tool, validator)
      } else if (first.params !== params) {
        warnings.push(
          `routes ${first.endpoint} and ${endpoint} call the tool '${tool}' with different parameters; ` +
            `those of ${first.endpoint} are used: give each its own 'toolName'`
        )
      }
    }
    const offered: Array<JsonObject> = []
    for (const [tool, listing] of listings) {
      const inputSchema = listedSchemas.get(tool) ?? tools.get(tool)?.schema ?? anyObjectSchema
      offered.push({ ...(yield* toPlainListing(tool, listing)), inputSchema })
      if (!tools.has(tool)) tools.set(tool, withFileParams(yield* makeParamsValidator(anyObjectSchema, compile)))
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
    // Getters of foreign objects can throw.
    Effect.catchDefect(() => Effect.fail("its declaration cannot be read")),
    Effect.mapError((message) => new PackError({ reason: "unusable", message }))
  )
