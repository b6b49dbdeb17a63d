import { Result } from "effect"
import { isJsonObject, type JsonObject, stringOrEmpty } from "../json.ts"
import { endpointHint, endpointError, reservedEndpoints } from "./endpoint.ts"
import type { PackRoute } from "./PackManifest.ts"

/** A way to call a tool over HTTP as a pack declares it: its parameters are not understood yet. */
export interface DeclaredRoute extends Pick<PackRoute, "endpoint" | "tool" | "useForm"> {
  /** A schema of any kind; something, at least. */
  readonly params: unknown
}

/** The routes that a pack declares. */
export interface ParsedRoutes {
  readonly routes: ReadonlyArray<DeclaredRoute>
  /** What is wrong with those that were left out, in words. */
  readonly errors: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
}

/** So much of an endpoint is said in a fault, in characters. */
const maxQuotedLength = 64

/** More routes of one pack are a mistake, and would flood the list of all. */
const maxRoutes = 256

/** The members of an entry, and the names they may have: the seed's own, too. */
const memberAliases = {
  endpoint: ["endpoint"],
  params: ["params", "paramsClass", "params_class"],
  useForm: ["useForm", "use_form"],
  toolName: ["toolName", "tool_name"]
} as const

type RouteMember = keyof typeof memberAliases

const knownMembers: ReadonlySet<string> = new Set(Object.values(memberAliases).flat())

/** The value of a member under whichever of its names it stands; fails when two of them say different things. */
const memberValue = (entry: JsonObject, member: RouteMember): Result.Result<unknown, string> => {
  const present = memberAliases[member].filter((name) => entry[name] !== undefined && entry[name] !== null)
  const values = new Set(present.map((name) => entry[name]))
  return values.size > 1
    ? Result.fail(
        `${present.map((name) => `'${name}'`).join(" and ")} have different values: keep one of them`
      )
    : Result.succeed([...values][0])
}

const parseRoute = (pack: string, entry: JsonObject): Result.Result<DeclaredRoute, string> =>
  Result.gen(function* () {
    const endpoint = yield* memberValue(entry, "endpoint")
    const params = yield* memberValue(entry, "params")
    const useForm = (yield* memberValue(entry, "useForm")) ?? false
    const tool = (yield* memberValue(entry, "toolName")) ?? pack
    if (endpoint === undefined) return yield* Result.fail(`it has no 'endpoint': ${endpointHint}`)
    if (typeof endpoint !== "string")
      return yield* Result.fail(`its 'endpoint' must be a string: ${endpointHint}`)
    const error = endpointError(endpoint)
    if (error !== undefined) return yield* Result.fail(error)
    if (typeof useForm !== "boolean") return yield* Result.fail("its 'useForm' must be true or false")
    if (typeof tool !== "string" || tool === "")
      return yield* Result.fail("its 'toolName' must be a non-empty string")
    if (params === undefined) {
      return yield* Result.fail(
        "it has no 'params': declare the schema of its parameters, an empty object if it has none"
      )
    }
    // Requests name other characters in this form; and so nobody else has to think about it.
    return { endpoint: encodeURI(endpoint), tool, useForm, params }
  })

/** Any object will do: instances of classes come, too. */
export const isObjectLike = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Names an entry to a person who looks for it. */
const formatRouteLabel = (entry: unknown, index: number): string => {
  const endpoint = isObjectLike(entry) ? entry["endpoint"] : undefined
  return typeof endpoint === "string"
    ? `route ${index + 1} (${endpoint.slice(0, maxQuotedLength)})`
    : `route ${index + 1}`
}

const parseRouteList = (pack: string, entries: ReadonlyArray<unknown>): ParsedRoutes => {
  const routes = new Map<string, DeclaredRoute>()
  const errors: Array<string> = []
  const warnings: Array<string> = []
  entries.slice(0, maxRoutes).forEach((entry, index) => {
    const parsed = isObjectLike(entry) ? parseRoute(pack, entry) : Result.fail("it must be an object")
    const error = Result.isFailure(parsed)
      ? parsed.failure
      : routes.has(parsed.success.endpoint)
        ? "another route of this pack has the same endpoint"
        : undefined
    if (error !== undefined) errors.push(`${formatRouteLabel(entry, index)}: ${error}`)
    if (Result.isSuccess(parsed) && error === undefined) routes.set(parsed.success.endpoint, parsed.success)
    const unknown = isObjectLike(entry) ? Object.keys(entry).filter((key) => !knownMembers.has(key)) : []
    if (unknown.length > 0) {
      warnings.push(
        `${formatRouteLabel(entry, index)}: unknown members ${unknown.map((key) => `'${key}'`).join(", ")}`
      )
    }
  })
  if (entries.length > maxRoutes) errors.push(`there are more than ${maxRoutes} routes; the rest is ignored`)
  return { routes: [...routes.values()], errors, warnings }
}

/**
 * Reads what `getRouteConfig()` of a pack gave: one route or a list of them, in this project's words or the seed's
 * (seed 004 §2.2). A bad route costs nobody but itself.
 */
export const parseRoutes = (pack: string, given: unknown): ParsedRoutes => {
  const failedWith = (error: string): ParsedRoutes => ({ routes: [], errors: [error], warnings: [] })
  if (!Array.isArray(given) && !isObjectLike(given)) {
    return failedWith("getRouteConfig() must return a route, {endpoint, params}, or a list of routes")
  }
  // Members of a stranger's object may throw when they are read.
  const parsed = Result.try(() => parseRouteList(pack, Array.isArray(given) ? given : [given]))
  return Result.getOrElse(parsed, () =>
    failedWith("the result of getRouteConfig() cannot be read: a getter throws")
  )
}

const propertyNames = (schema: unknown): ReadonlyArray<string> | undefined => {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined
  return isJsonObject(properties) ? Object.keys(properties) : undefined
}

/** Parameters that only one of two schemas knows; none when one of them is not so simple. */
const differingParameters = (one: unknown, other: unknown): ReadonlyArray<string> => {
  const [left, right] = [propertyNames(one), propertyNames(other)]
  if (left === undefined || right === undefined) return []
  return [...left.filter((name) => !right.includes(name)), ...right.filter((name) => !left.includes(name))]
}

/**
 * Where the routes of a pack and the tools it lists contradict each other, in words: a route without its tool, a tool
 * without a route, parameters that only one of them knows.
 */
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
        return [
          `route ${endpoint} calls the tool '${tool}', which listTools() does not list: it is not available over MCP`
        ]
      }
      const stray = differingParameters(params, entry["inputSchema"])
      return stray.length === 0
        ? []
        : [
            `route ${endpoint} and the listed tool '${tool}' have different parameters; only one of them has ` +
              stray.map((name) => `'${name}'`).join(", ")
          ]
    }),
    ...[...listed.keys()]
      .filter((name) => !routedTools.has(name))
      .map((name) => `listTools() lists '${name}', which no route calls: it is not available over HTTP`)
  ]
}

/** The routes of a pack that others have taken before, by endpoint, with the reason. `taken` names the owners. */
export const findRouteConflicts = (
  routes: ReadonlyArray<Pick<PackRoute, "endpoint">>,
  taken: ReadonlyMap<string, string>
): ReadonlyMap<string, string> =>
  new Map(
    routes.flatMap(({ endpoint }): ReadonlyArray<readonly [string, string]> => {
      const owner = reservedEndpoints.has(endpoint) ? "the host" : taken.get(endpoint)
      return owner === undefined
        ? []
        : [
            [
              endpoint,
              `route ${endpoint} is ignored: it belongs to ${owner === "the host" ? owner : `the pack '${owner}'`}`
            ]
          ]
    })
  )
