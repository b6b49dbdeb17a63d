import { Effect, Result } from "effect"
import { type PackSource, PackFailure } from "../../application/ports/PackLoader.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import type { PackOffer, PackRoute } from "../../domain/packs/offer.ts"
import { compareRoutes, type DeclaredRoute, readRoutes } from "../../domain/packs/routes.ts"
import { fileParams } from "../../domain/packs/schemas.ts"
import { type Compile, type Parameters, readParameters } from "./parameters.ts"

/** What a call of one tool is checked by. */
export interface ToolParameters extends Parameters {
  readonly files: PackRoute["files"]
}

/** What a pack offers, and how calls of its tools are checked. */
export interface Surface {
  readonly offer: PackOffer
  readonly tools: ReadonlyMap<string, ToolParameters>
}

/** More tools of one pack are a mistake. */
const mostTools = 256

/** Parameters of a tool that says nothing about them: anything. */
const anything: JsonObject = { type: "object" }

interface Listing {
  readonly name: string
  readonly entry: JsonObject
}

/** Any object will do: instances of classes come, too. */
const isEntry = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Reads what `listTools()` gave: each tool once, and what is wrong with the others. */
const readListings = (
  given: unknown
): Result.Result<readonly [ReadonlyArray<Listing>, ReadonlyArray<string>], string> => {
  if (!Array.isArray(given)) {
    return Result.fail("listTools() has to give a list of tools, [{ name, description }]")
  }
  const listings = new Map<string, Listing>()
  const warnings: Array<string> = []
  given.slice(0, mostTools).forEach((tool: unknown, index) => {
    const name = isEntry(tool) ? tool["name"] : undefined
    if (!isEntry(tool) || typeof name !== "string" || name === "") {
      warnings.push(`tool ${index + 1} of listTools() has no 'name' and is left out`)
    } else if (listings.has(name)) {
      warnings.push(`listTools() lists '${name}' twice; only the first counts`)
    } else {
      listings.set(name, { name, entry: tool })
    }
  })
  if (given.length > mostTools)
    warnings.push(`listTools() lists more than ${mostTools} tools; the others are left out`)
  return Result.succeed([[...listings.values()], warnings])
}

/** The schema that a listing gives itself, in the words of Automata, too. */
const schemaOf = ({ entry }: Listing): unknown => entry["inputSchema"] ?? entry["input_schema"] ?? undefined

/** What is left of a listing when it has been sent to somebody. */
const plain = (listing: Listing): Result.Result<JsonObject, string> => {
  const { inputSchema: _ours, input_schema: _seeds, ...rest } = listing.entry
  return Result.try({
    try: () => {
      const value: unknown = JSON.parse(JSON.stringify(rest))
      return isJsonObject(value) ? value : {}
    },
    catch: () => `tool '${listing.name}' of listTools() cannot be written as JSON`
  })
}

const withFiles = (parameters: Parameters): ToolParameters => ({
  ...parameters,
  files: fileParams(parameters.schema)
})

/** Reads everything that has been declared, or says what is wrong with the pack as a whole. */
const readSurface = (
  { name }: PackSource,
  declaredRoutes: unknown,
  declaredTools: unknown,
  compile: Compile
): Result.Result<Surface, string> =>
  Result.gen(function* () {
    const { faults, routes: declared, warnings: routeWarnings } = readRoutes(name, declaredRoutes)
    const [listings, listWarnings] = yield* readListings(declaredTools)
    const warnings = [...faults, ...routeWarnings, ...listWarnings]
    const tools = new Map<string, ToolParameters>()
    const listedSchemas = new Map<string, JsonObject>()
    for (const listing of listings) {
      const schema = schemaOf(listing)
      if (schema === undefined) continue
      const parameters = readParameters(schema, compile)
      if (Result.isFailure(parameters)) {
        return yield* Result.fail(`inputSchema of the tool '${listing.name}': ${parameters.failure}`)
      }
      warnings.push(...parameters.success.warnings.map((warning) => `tool '${listing.name}': ${warning}`))
      listedSchemas.set(listing.name, parameters.success.schema)
      tools.set(listing.name, withFiles(parameters.success))
    }
    const routes: Array<PackRoute> = []
    const routed = new Map<string, DeclaredRoute>()
    for (const route of declared) {
      const parameters = readParameters(route.params, compile, listedSchemas.get(route.tool))
      if (Result.isFailure(parameters)) {
        return yield* Result.fail(`params of the route ${route.endpoint}: ${parameters.failure}`)
      }
      const { files, ...rest } = withFiles(parameters.success)
      warnings.push(...rest.warnings.map((warning) => `route ${route.endpoint}: ${warning}`))
      routes.push({
        endpoint: route.endpoint,
        tool: route.tool,
        // JSON carries no files.
        useForm: route.useForm || Object.keys(files).length > 0,
        params: rest.schema,
        files
      })
      const first = routed.get(route.tool)
      if (first === undefined) {
        routed.set(route.tool, route)
        tools.set(route.tool, { ...rest, files })
      } else if (first.params !== route.params) {
        warnings.push(
          `routes ${first.endpoint} and ${route.endpoint} call the tool '${route.tool}' with different parameters; ` +
            `those of ${first.endpoint} are checked: give each its own 'toolName'`
        )
      }
    }
    const offered: Array<JsonObject> = []
    for (const listing of listings) {
      const inputSchema = listedSchemas.get(listing.name) ?? tools.get(listing.name)?.schema ?? anything
      offered.push({ ...(yield* plain(listing)), inputSchema })
      if (!tools.has(listing.name)) {
        tools.set(listing.name, withFiles(yield* readParameters(anything, compile)))
      }
    }
    if (tools.size === 0) {
      const reason =
        warnings.length === 0 ? "getRouteConfig() and listTools() give nothing" : warnings.join("; ")
      return yield* Result.fail(`it has no tools: ${reason}`)
    }
    return {
      offer: { routes, tools: offered, warnings: [...warnings, ...compareRoutes(routes, offered)] },
      tools
    }
  })

/** What a pack offers by what its methods gave. A pack that has nothing to offer cannot be used. */
export const surfaceOf = (
  source: PackSource,
  declaredRoutes: unknown,
  declaredTools: unknown,
  compile: Compile
): Effect.Effect<Surface, PackFailure> =>
  Effect.suspend(() => Effect.fromResult(readSurface(source, declaredRoutes, declaredTools, compile))).pipe(
    Effect.mapError((message) => new PackFailure({ kind: "unusable", message })),
    // Members of a stranger's object may throw when they are read.
    Effect.catchDefect(() =>
      Effect.fail(new PackFailure({ kind: "unusable", message: "what it declares cannot be read" }))
    )
  )
