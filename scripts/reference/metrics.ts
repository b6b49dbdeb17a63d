import { metricDefinitions, metricPrefix } from "../../src/application/server/observability/ServerMetrics.ts"
import { code, codes, page, plain, table } from "./markdown.ts"

const kinds = {
  counter: "counter",
  histogram: "histogram",
  observable_counter: "counter",
  observable_gauge: "gauge"
} as const

export const metricsPage = (): string =>
  page(
    "Metrics",
    "Every metric of a Server, at `/metrics` and by OTLP. [server.md](../server.md#metrics) explains access and labels.",
    table(
      ["metric", "kind", "labels", "content"],
      Object.entries(metricDefinitions).map(([name, { help, kind, labels }]) => [
        code(`${metricPrefix}${name}`),
        kinds[kind],
        codes(labels),
        plain(help)
      ])
    )
  )
