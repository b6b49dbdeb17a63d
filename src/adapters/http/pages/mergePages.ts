import { asObject, isJsonObject, type JsonObject, objectsIn, parseJson } from "../../../domain/json.ts"

/** Joins texts in the format of Prometheus, whose series have different labels: the lines of each metric stand together. */
export const joinMetrics = (texts: ReadonlyArray<string>): string => {
  const parts = texts.flatMap((text) => text.split(/^(?=# (?:HELP|TYPE) )/m))
  const metrics = Map.groupBy(parts, (part) => part.split(/[ \n]/, 3)[2])
  return [...metrics.values()].map((same) => [...new Set(same.join("").split(/^/m))].join("")).join("")
}

/** The numbers of several processes that do not add up, by their names without labels. */
const mergeRules: { readonly [name: string]: (one: number, other: number) => number } = {
  uptimeSeconds: Math.max,
  startedAt: Math.min,
  offices: Math.max,
  p50: Math.max,
  p90: Math.max,
  p99: Math.max,
  build_info: Math.max,
  components_unhealthy: Math.max,
  event_loop_lag_seconds: Math.max,
  nodes: Math.max,
  ready: Math.min,
  registry_offices: Math.max,
  registry_up: Math.min,
  uptime_seconds: Math.max
}

const sum = (one: number, other: number): number => one + other

/** Merges the values of a name: numbers by their rule, and objects by their members. Other values are those of the first. */
const mergeValues = (name: string, one: unknown, other: unknown): unknown => {
  if (typeof one === "number" && typeof other === "number") {
    return (mergeRules[name.split("{", 1)[0] ?? ""] ?? sum)(one, other)
  }
  if (typeof one === "boolean") return one && other
  return isJsonObject(one) && isJsonObject(other) ? mergeObjects(one, other) : one
}

const mergeObjects = (one: JsonObject, other: JsonObject): JsonObject => {
  const merged = new Map(Object.entries(one))
  for (const [name, value] of Object.entries(other)) {
    merged.set(name, merged.has(name) ? mergeValues(name, merged.get(name), value) : value)
  }
  return Object.fromEntries(merged)
}

/** A status with its offices by their ids and lines. */
const withOfficesByKey = (status: JsonObject): JsonObject => ({
  ...status,
  officeList: Object.fromEntries(
    objectsIn(status["officeList"]).map((office) => [JSON.stringify([office["line"], office["office"]]), office])
  )
})

/** Merges the status of this process, and the texts of others. All list their offices, whose members add up. */
export const mergeStatuses = (own: JsonObject, others: ReadonlyArray<string>): JsonObject => {
  if (others.length === 0) return own
  const statuses = [own, ...others.map((text) => asObject(parseJson(text)))].map(withOfficesByKey)
  const merged = statuses.reduce(mergeObjects)
  const officeList = Object.values(asObject(merged["officeList"]))
  // The lists are limited.
  const offices = Math.max(officeList.length, Number(merged["offices"]))
  return { ...merged, offices, gauges: { ...asObject(merged["gauges"]), offices }, officeList }
}
