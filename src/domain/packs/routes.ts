import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../json.ts"
import { endpointAdvice, endpointFault, reservedEndpoints } from "./endpoint.ts"
import type { PackRoute } from "./offer.ts"

/** A way to call a tool over HTTP as a pack declares it: its parameters are not understood yet. */
export interface DeclaredRoute extends Pick<PackRoute, "endpoint" | "tool" | "useForm"> {
  /** A schema of any kind; something, at least. */
  readonly params: unknown
}

/** The routes that a pack declares. */
export interface RouteReading {
  readonly routes: ReadonlyArray<DeclaredRoute>
  /** What is wrong with those that were left out, in words. */
  readonly faults: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
}

/** So much of an endpoint is said in a fault, in characters. */
const longestSpelling = 64

/** More routes of one pack are a mistake, and would flood the list of all. */
const mostRoutes = 256

/** The members of an entry, and the names they may have: the seed's own, too. */
const names = {
  endpoint: ["endpoint"],
  params: ["params", "paramsClass", "params_class"],
  useForm: ["useForm", "use_form"],
  toolName: ["toolName", "tool_name"]
} as const

type Member = keyof typeof names

const knownNames: ReadonlySet<string> = new Set(Object.values(names).flat())

/** The value of a member under whichever of its names it stands; fails when two of them say different things. */
const memberOf = (entry: JsonObject, member: Member): Result.Result<unknown, string> => {
  const present = names[member].filter((name) => entry[name] !== undefined && entry[name] !== null)
  const values = new Set(present.map((name) => entry[name]))
  return values.size > 1
    ? Result.fail(
        `${present.map((name) => `'${name}'`).join(" and ")} say different things: keep one of them`
      )
    : Result.succeed([...values][0])
}

const readEntry = (pack: string, entry: JsonObject): Result.Result<DeclaredRoute, string> =>
  Result.gen(function* () {
    const endpoint = yield* memberOf(entry, "endpoint")
    const params = yield* memberOf(entry, "params")
    const useForm = (yield* memberOf(entry, "useForm")) ?? false
    const tool = (yield* memberOf(entry, "toolName")) ?? pack
    if (endpoint === undefined) return yield* Result.fail(`it has no 'endpoint': ${endpointAdvice}`)
    if (typeof endpoint !== "string")
      return yield* Result.fail(`its 'endpoint' is no text: ${endpointAdvice}`)
    const fault = endpointFault(endpoint)
    if (fault !== undefined) return yield* Result.fail(fault)
    if (typeof useForm !== "boolean") return yield* Result.fail("its 'useForm' is neither true nor false")
    if (typeof tool !== "string" || tool === "") return yield* Result.fail("its 'toolName' is no name")
    if (params === undefined) {
      return yield* Result.fail(
        "it has no 'params': give the schema of its parameters, an empty object if it has none"
      )
    }
    // Requests name other characters in this form; and so nobody else has to think about it.
    return { endpoint: encodeURI(endpoint), tool, useForm, params }
  })

/** Any object will do: instances of classes come, too. */
const isEntry = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Names an entry to a person who looks for it. */
const spell = (entry: unknown, index: number): string => {
  const endpoint = isEntry(entry) ? entry["endpoint"] : undefined
  return typeof endpoint === "string"
    ? `route ${index + 1} (${endpoint.slice(0, longestSpelling)})`
    : `route ${index + 1}`
}

const readEntries = (pack: string, entries: ReadonlyArray<unknown>): RouteReading => {
  const routes = new Map<string, DeclaredRoute>()
  const faults: Array<string> = []
  const warnings: Array<string> = []
  entries.slice(0, mostRoutes).forEach((entry, index) => {
    const read = isEntry(entry) ? readEntry(pack, entry) : Result.fail("it is no object")
    const fault = Result.isFailure(read)
      ? read.failure
      : routes.has(read.success.endpoint)
        ? "another route of this pack has the same endpoint"
        : undefined
    if (fault !== undefined) faults.push(`${spell(entry, index)}: ${fault}`)
    if (Result.isSuccess(read) && fault === undefined) routes.set(read.success.endpoint, read.success)
    const unknown = isEntry(entry) ? Object.keys(entry).filter((key) => !knownNames.has(key)) : []
    if (unknown.length > 0) {
      warnings.push(
        `${spell(entry, index)}: nothing is known about ${unknown.map((key) => `'${key}'`).join(", ")}`
      )
    }
  })
  if (entries.length > mostRoutes)
    faults.push(`there are more than ${mostRoutes} routes; the others are left out`)
  return { routes: [...routes.values()], faults, warnings }
}

/**
 * Reads what `getRouteConfig()` of a pack gave: one route or a list of them, in this project's words or the seed's
 * (seed 004 §2.2). A bad route costs nobody but itself.
 */
export const readRoutes = (pack: string, given: unknown): RouteReading => {
  const nothing = (fault: string): RouteReading => ({ routes: [], faults: [fault], warnings: [] })
  if (!Array.isArray(given) && !isEntry(given)) {
    return nothing("getRouteConfig() has to give a route, {endpoint, params}, or a list of them")
  }
  // Members of a stranger's object may throw when they are read.
  const read = Result.try(() => readEntries(pack, Array.isArray(given) ? given : [given]))
  return Result.getOrElse(read, () =>
    nothing("what getRouteConfig() gave cannot be read: a member of it throws")
  )
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const propertiesOf = (schema: unknown): ReadonlyArray<string> | undefined => {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined
  return isJsonObject(properties) ? Object.keys(properties) : undefined
}

/** Parameters that only one of two schemas knows; none when one of them is not so simple. */
const strayParameters = (one: unknown, other: unknown): ReadonlyArray<string> => {
  const [left, right] = [propertiesOf(one), propertiesOf(other)]
  if (left === undefined || right === undefined) return []
  return [...left.filter((name) => !right.includes(name)), ...right.filter((name) => !left.includes(name))]
}

/**
 * Where the routes of a pack and the tools it lists contradict each other, in words: a route without its tool, a tool
 * without a route, parameters that only one of them knows.
 */
export const compareRoutes = (
  routes: ReadonlyArray<Pick<PackRoute, "endpoint" | "tool" | "params">>,
  tools: ReadonlyArray<JsonObject>
): ReadonlyArray<string> => {
  const listed = new Map(tools.map((tool) => [textOf(tool["name"]), tool]))
  const routed = new Set(routes.map(({ tool }) => tool))
  return [
    ...routes.flatMap(({ endpoint, params, tool }) => {
      const entry = listed.get(tool)
      if (entry === undefined) {
        return [
          `route ${endpoint} calls the tool '${tool}', which listTools() does not list: not there over MCP`
        ]
      }
      const stray = strayParameters(params, entry["inputSchema"])
      return stray.length === 0
        ? []
        : [
            `route ${endpoint} and the listed tool '${tool}' have different parameters; only one of them knows ` +
              stray.map((name) => `'${name}'`).join(", ")
          ]
    }),
    ...[...listed.keys()]
      .filter((name) => !routed.has(name))
      .map((name) => `listTools() lists '${name}', which no route calls: not there over HTTP`)
  ]
}

/** The routes of a pack that others have taken before, by endpoint, with the reason. `taken` names the owners. */
export const refusedRoutes = (
  routes: ReadonlyArray<Pick<PackRoute, "endpoint">>,
  taken: ReadonlyMap<string, string>
): ReadonlyMap<string, string> =>
  new Map(
    routes.flatMap(({ endpoint }): ReadonlyArray<readonly [string, string]> => {
      const owner = reservedEndpoints.has(endpoint) ? "the host itself" : taken.get(endpoint)
      return owner === undefined
        ? []
        : [
            [
              endpoint,
              `route ${endpoint} is left out: it belongs to ${owner === "the host itself" ? owner : `the pack '${owner}'`}`
            ]
          ]
    })
  )
