import { Effect } from "effect"
import { noMetrics, type ServerMetrics } from "../src/application/server/observability/ServerMetrics.ts"

/** Metrics that count nothing, and the gauges of the Server that uses them. */
export const recordGauges = () => {
  const gauges = new Map<string, () => number>()
  const metrics: ServerMetrics["Service"] = {
    ...noMetrics,
    gauge: ({ labels, name, read }) =>
      Effect.sync(() => void gauges.set(labels === undefined ? name : `${name}${JSON.stringify(labels)}`, read))
  }
  return { metrics, read: (name: string): number => gauges.get(name)?.() ?? Number.NaN }
}
