import { Result } from "effect"
import { asString, isJsonObject, type JsonObject, stringOrEmpty } from "../json.ts"
import { executionPath } from "./packExecution.ts"
import type { PackRoute } from "./PackManifest.ts"

const reservedEndpoints: ReadonlySet<string> = new Set(
  "/ /health /tools /mcp /docs /redoc /openapi.json /favicon.ico".split(" ")
)

const maxEndpointLength = 256
const endpointHint = "an endpoint is a path such as '/tools/fetch'"

const invalidEndpoints: ReadonlyArray<readonly [pattern: RegExp, error: string]> = [
  [/^(?!\/)/, `the endpoint must start with '/': ${endpointHint}`],
  [new RegExp(`^.{${maxEndpointLength + 1}}`, "s"), `the endpoint is longer than ${maxEndpointLength} characters`],
  [/\/\//, "the endpoint contains '//': segments must not be empty"],
  [/\/$/, "the endpoint must not end with '/'"],
  [new RegExp(`${executionPath}$`), `the endpoint must not end with '${executionPath}': each endpoint has such a path`],
  [/[?#]/, `the endpoint contains '?' or '#': ${endpointHint}, parameters are declared in 'params'`],
  [/(^|\/)\.\.?(\/|$)/, "the endpoint contains '.' or '..' as a segment: it must be absolute"],
  [/%/, "the endpoint contains '%': write every character unescaped"],
  [/[{}:*]/, "the endpoint contains '{', '}', ':' or '*': variable parts are declared in 'params'"],
  [
    /[^A-Za-z0-9/._~!$&'()+,;=@\u00a1-\ud7ff\ue000-\u{10ffff}-]/u,
    "the endpoint contains a space or another character that is invalid in a path"
  ]
]

const endpointError = (endpoint: string): string | undefined =>
  reservedEndpoints.has(endpoint)
    ? "this endpoint is reserved by the host; choose another, such as one below '/tools/'"
    : invalidEndpoints.find(([pattern]) => pattern.test(endpoint))?.[1]

const maxQuotedLength = 64
const maxRoutes = 256

/** Names of members: those of this package, and those of the seed. */
export const memberAliases = {
  endpoint: ["endpoint"],
  params: ["params", "paramsClass", "params_class"],
  useForm: ["useForm", "use_form"],
  toolName: ["toolName", "tool_name"],
  requiresSession: ["requiresSession", "requires_session"]
} as const

/** The last ones are metadata of later versions of Automata, which nothing reads. */
const ignoredMembers = ["platform", "action", "enable_execution"]
const knownMembers: ReadonlySet<string> = new Set([...Object.values(memberAliases).flat(), ...ignoredMembers])

/** Reads a member under any of its names; fails when two names have different values. */
const memberValue = (entry: JsonObject, member: keyof typeof memberAliases): Result.Result<unknown, string> => {
  const present = memberAliases[member].filter((name) => entry[name] !== undefined && entry[name] !== null)
  const values = new Set(present.map((name) => entry[name]))
  return values.size > 1
    ? Result.fail(`${present.map((name) => `'${name}'`).join(" and ")} have different values: keep one of them`)
    : Result.succeed([...values][0])
}

/** Reads a route; its `params` are a schema of any supported kind, never undefined. */
const parseRoute = (pack: string, entry: JsonObject) =>
  Result.gen(function* () {
    const endpoint = yield* memberValue(entry, "endpoint")
    const params = yield* memberValue(entry, "params")
    const useForm = (yield* memberValue(entry, "useForm")) ?? false
    const tool = (yield* memberValue(entry, "toolName")) ?? pack
    const requiresSession = (yield* memberValue(entry, "requiresSession")) === true
    if (endpoint === undefined) return yield* Result.fail(`it has no 'endpoint': ${endpointHint}`)
    if (typeof endpoint !== "string") return yield* Result.fail(`its 'endpoint' must be a string: ${endpointHint}`)
    const error = endpointError(endpoint)
    if (error !== undefined) return yield* Result.fail(error)
    if (typeof useForm !== "boolean") return yield* Result.fail("its 'useForm' must be true or false")
    if (typeof tool !== "string" || tool === "") return yield* Result.fail("its 'toolName' must be a non-empty string")
    const noParams = "it has no 'params': declare the schema of its parameters, an empty object if it has none"
    if (params === undefined) return yield* Result.fail(noParams)
    // Requests contain the encoded form, so lookups need no decoding.
    return { endpoint: encodeURI(endpoint), tool, useForm, params, ...(requiresSession && { requiresSession }) }
  })

/** True for objects, instances of classes included, except arrays. */
export const isObjectLike = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const formatRouteLabel = (entry: unknown, index: number): string => {
  const endpoint = isObjectLike(entry) ? asString(entry["endpoint"]) : undefined
  return `route ${index + 1}${endpoint === undefined ? "" : ` (${endpoint.slice(0, maxQuotedLength)})`}`
}

const parseRouteList = (pack: string, entries: ReadonlyArray<unknown>) => {
  const routes = new Map<string, Result.Result.Success<ReturnType<typeof parseRoute>>>()
  /** Of ignored routes. */
  const errors: Array<string> = []
  const warnings: Array<string> = []
  entries.slice(0, maxRoutes).forEach((entry, index) => {
    const label = formatRouteLabel(entry, index)
    const parsed = isObjectLike(entry) ? parseRoute(pack, entry) : Result.fail("it must be an object")
    const addError = (error: string) => errors.push(`${label}: ${error}`)
    if (Result.isFailure(parsed)) addError(parsed.failure)
    else if (routes.has(parsed.success.endpoint)) addError("another route of this pack has the same endpoint")
    else routes.set(parsed.success.endpoint, parsed.success)
    const unknown = isObjectLike(entry) ? Object.keys(entry).filter((key) => !knownMembers.has(key)) : []
    if (unknown.length > 0) {
      warnings.push(`${label}: unknown members ${unknown.map((key) => `'${key}'`).join(", ")}`)
    }
  })
  if (entries.length > maxRoutes) errors.push(`there are more than ${maxRoutes} routes; the rest is ignored`)
  return { routes: [...routes.values()], errors, warnings }
}

/**
 * Parses the result of `getRouteConfig()`: one route or a list, with names of this package or of the seed (seed 004
 * §2.2). An invalid route does not affect the others.
 */
export const parseRoutes = (pack: string, given: unknown): ReturnType<typeof parseRouteList> => {
  const failedWith = (error: string) => ({ routes: [], errors: [error], warnings: [] })
  if (!Array.isArray(given) && !isObjectLike(given)) {
    return failedWith("getRouteConfig() must return a route, {endpoint, params}, or a list of routes")
  }
  // Getters of foreign objects can throw.
  const parsed = Result.try(() => parseRouteList(pack, Array.isArray(given) ? given : [given]))
  return Result.getOrElse(parsed, () => failedWith("the result of getRouteConfig() cannot be read: a getter throws"))
}

const propertyNames = (schema: unknown): ReadonlyArray<string> | undefined => {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined
  return isJsonObject(properties) ? Object.keys(properties) : undefined
}

/** Parameters that only one of two schemas has; empty when a schema has no plain properties. */
const differingParameters = (one: unknown, other: unknown): ReadonlyArray<string> => {
  const [left, right] = [propertyNames(one), propertyNames(other)]
  if (left === undefined || right === undefined) return []
  return [...left.filter((name) => !right.includes(name)), ...right.filter((name) => !left.includes(name))]
}

/** Lists routes without a tool, tools without a route, and different parameters of both. */
export const findRouteMismatches = (
  routes: ReadonlyArray<Pick<PackRoute, "endpoint" | "tool" | "params">>,
  tools: ReadonlyArray<JsonObject>
): ReadonlyArray<string> => {
  const listed = new Map(tools.map((tool) => [stringOrEmpty(tool["name"]), tool]))
  const routedTools = new Set(routes.map(({ tool }) => tool))
  return [
    ...routes.flatMap(({ endpoint, params, tool }) => {
      const entry = listed.get(tool)
      if (entry === undefined) {
        return `route ${endpoint} calls the tool '${tool}', which listTools() does not list: it is not available over MCP`
      }
      const names = differingParameters(params, entry["inputSchema"]).map((name) => `'${name}'`)
      const both = `route ${endpoint} and the listed tool '${tool}'`
      return names.length === 0 ? [] : `${both} have different parameters; only one of them has ${names.join(", ")}`
    }),
    ...[...listed.keys()]
      .filter((name) => !routedTools.has(name))
      .map((name) => `listTools() lists '${name}', which no route calls: it is not available over HTTP`)
  ]
}

/** Gives the reason by endpoint for routes whose endpoint is taken. `taken` maps endpoints to packs. */
export const findRouteConflicts = (
  routes: ReadonlyArray<Pick<PackRoute, "endpoint">>,
  taken: ReadonlyMap<string, string>
): ReadonlyMap<string, string> =>
  new Map(
    routes.flatMap(({ endpoint }) => {
      const pack = taken.get(endpoint)
      const owner = reservedEndpoints.has(endpoint) ? "the host" : pack === undefined ? undefined : `the pack '${pack}'`
      return owner === undefined ? [] : [[endpoint, `route ${endpoint} is ignored: it belongs to ${owner}`] as const]
    })
  )
