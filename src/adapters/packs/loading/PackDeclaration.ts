import { Effect, Predicate, Result } from "effect"
import { PackError, type PackSource } from "../../../application/ports/packs/PackLoader.ts"
import type { CompileSchema } from "../../../application/ports/SchemaValidator.ts"
import { asObject, type JsonObject, parseJsonOrThrow } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { PackManifest, PackRoute } from "../../../domain/packs/PackManifest.ts"
import { findRouteMismatches, isObjectLike, parseRoutes } from "../../../domain/packs/routes.ts"
import { makeParamsValidator, type ParamsValidator } from "../../tools/ParamsValidator.ts"

type Method = (...args: ReadonlyArray<unknown>) => unknown

export type PackMethods = Result.Result.Success<ReturnType<typeof bindMethods>>

const requiredMethods = [
  ["getRouteConfig", "get_route_config"],
  ["listTools", "list_tools"],
  ["callTool", "call_tool"]
] as const

const memberOf = (holder: unknown, name: string): unknown =>
  Predicate.hasProperty(holder, name) ? holder[name] : undefined

const findMethod = (instance: unknown, names: ReadonlyArray<string>): Method | undefined => {
  for (const name of names) {
    const method = memberOf(instance, name)
    if (typeof method === "function") return (...args) => Reflect.apply(method, instance, args)
  }
  return undefined
}

/** Arrow functions and methods have no prototype. */
const isClass = (value: unknown): value is new () => unknown =>
  typeof value === "function" && Predicate.hasProperty(value, "prototype")

const isInstance = (value: unknown): boolean =>
  typeof value === "object" && requiredMethods.some((names) => findMethod(value, names) !== undefined)

const formatNames = (names: ReadonlyArray<string>): string =>
  names.length === 0 ? "nothing" : names.map((name) => `'${name}'`).join(", ")

/**
 * Finds the pack among the exports of a module: by the name of its class, or as the default export. CommonJS exports
 * are members of the default export. The result gives the instance; it runs the constructor of a class.
 */
export const locatePack = (module: object, className: string): Result.Result<() => unknown, string> => {
  const fallback = memberOf(module, "default")
  for (const value of [memberOf(module, className), memberOf(fallback, className), fallback]) {
    if (isClass(value)) return Result.succeed(() => new value())
    if (isInstance(value)) return Result.succeed(() => value)
  }
  const names = Object.keys(module).filter((name) => name !== "module.exports" && name !== "default")
  return Result.fail(
    `class '${className}' not found: the module exports ${formatNames(names)}. Export the class under this name or as the default`
  )
}

/** Binds the methods of an instance under either of their names, or names the missing ones. */
export const bindMethods = (instance: unknown, name: string) => {
  const [getRouteConfig, listTools, callTool] = requiredMethods.map((names) => findMethod(instance, names))
  if (getRouteConfig === undefined || listTools === undefined || callTool === undefined) {
    const missing = requiredMethods.filter((names) => findMethod(instance, names) === undefined)
    return Result.fail(`${name} lacks ${missing.map(([method, alias]) => `${method}() (or ${alias}())`).join(", ")}`)
  }
  return Result.succeed({ getRouteConfig, listTools, callTool, dispose: findMethod(instance, ["dispose"]) })
}

const maxTools = 256

/** Parses the result of `listTools()`: each tool once, by name, and warnings about the rest. */
const parseListings = (given: unknown) => {
  if (!Array.isArray(given)) return Result.fail("listTools() must return a list of tools, [{ name, description }]")
  const listings = new Map<string, JsonObject>()
  const warnings: Array<string> = []
  given.slice(0, maxTools).forEach((tool: unknown, index) => {
    const name = isObjectLike(tool) ? tool["name"] : undefined
    if (!isObjectLike(tool) || typeof name !== "string" || name === "")
      warnings.push(`tool ${index + 1} of listTools() has no 'name' and is ignored`)
    else if (listings.has(name)) warnings.push(`listTools() lists '${name}' twice; the first one is used`)
    else listings.set(name, tool)
  })
  if (given.length > maxTools) warnings.push(`listTools() lists more than ${maxTools} tools; the rest is ignored`)
  return Result.succeed([listings, warnings] as const)
}

/** Converts a listing to JSON, without its schemas. */
const toPlainListing = (name: string, listing: JsonObject): Result.Result<JsonObject, string> => {
  const { inputSchema: _ours, input_schema: _seeds, outputSchema: _output, ...rest } = listing
  return Result.try({
    try: () => asObject(parseJsonOrThrow(JSON.stringify(rest))),
    catch: () => `tool '${name}' of listTools() cannot be written as JSON`
  })
}

/** Parses the results of `getRouteConfig()` and `listTools()`. */
const parseDeclaration = (
  { name }: PackSource,
  declaredRoutes: unknown,
  declaredTools: unknown,
  compile: CompileSchema
) =>
  Result.gen(function* () {
    const { errors, routes: declared, warnings: routeWarnings } = parseRoutes(name, declaredRoutes)
    const [listings, listWarnings] = yield* parseListings(declaredTools)
    const warnings = [...errors, ...routeWarnings, ...listWarnings]
    const makeValidator = (what: string, where: string, params: unknown, listed?: JsonObject) =>
      Result.gen(function* () {
        const made = makeParamsValidator(params, compile, listed)
        const parameters = yield* Result.mapError(made, (reason) => `${what}: ${reason}`)
        if (parameters.warning !== undefined) warnings.push(`${where}: ${parameters.warning}`)
        return parameters
      })
    const tools = new Map<string, ParamsValidator>()
    const listedSchemas = new Map<string, JsonObject>()
    for (const [tool, listing] of listings) {
      // Automata uses `input_schema`.
      const schema = listing["inputSchema"] ?? listing["input_schema"] ?? undefined
      if (schema === undefined) continue
      const parameters = yield* makeValidator(`inputSchema of the tool '${tool}'`, `tool '${tool}'`, schema)
      listedSchemas.set(tool, parameters.schema)
      tools.set(tool, parameters)
    }
    const routes: Array<PackRoute> = []
    for (const route of declared) {
      const { endpoint, params, requiresSession, tool } = route
      const what = `params of the route ${endpoint}`
      const parameters = yield* makeValidator(what, `route ${endpoint}`, params, listedSchemas.get(tool))
      const { files, schema } = parameters
      // Files require a form.
      const useForm = route.useForm || Object.keys(files).length > 0
      routes.push({ endpoint, tool, useForm, params: schema, files, ...definedOnly({ requiresSession }) })
      const first = declared.find((one) => one.tool === tool) ?? route
      const both = `routes ${first.endpoint} and ${endpoint} call the tool '${tool}'`
      const advice = `those of ${first.endpoint} are used: give each its own 'toolName'`
      if (first === route) tools.set(tool, parameters)
      else if (first.params !== params) warnings.push(`${both} with different parameters; ${advice}`)
    }
    const offered: Array<JsonObject> = []
    for (const [tool, listing] of listings) {
      const parameters = tools.get(tool) ?? (yield* makeParamsValidator({ type: "object" }, compile))
      tools.set(tool, parameters)
      const inputSchema = listedSchemas.get(tool) ?? parameters.schema
      const { outputSchema } = listing
      const what = `outputSchema of the tool '${tool}'`
      const output = outputSchema === undefined ? undefined : yield* makeValidator(what, `tool '${tool}'`, outputSchema)
      const plain = yield* toPlainListing(tool, listing)
      offered.push({ ...plain, inputSchema, ...definedOnly({ outputSchema: output?.schema }) })
    }
    if (tools.size === 0) {
      const reason = warnings.length === 0 ? "getRouteConfig() and listTools() return nothing" : warnings.join("; ")
      return yield* Result.fail(`it has no tools: ${reason}`)
    }
    const allWarnings = [...warnings, ...findRouteMismatches(routes, offered)]
    return { manifest: { routes, tools: offered, warnings: allWarnings } satisfies PackManifest, tools }
  })

/** Builds the manifest of a pack and the validators of its tools. Fails for a pack without tools. */
export const decodeDeclaration = (...declared: Parameters<typeof parseDeclaration>) =>
  Effect.suspend(() => Effect.fromResult(parseDeclaration(...declared))).pipe(
    // Getters of foreign objects can throw.
    Effect.catchDefect(() => Effect.fail("its declaration cannot be read")),
    Effect.mapError((message) => new PackError({ reason: "unusable", message }))
  )
