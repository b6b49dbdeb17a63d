import { Context, Effect, Layer, Metric, Queue, type Scope } from "effect"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as Memory from "../../../src/adapters/memory/MemoryTransport.ts"
import { AuditLog, type AuditEvent } from "../../../src/application/ports/AuditLog.ts"
import { allowAll, Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { type NodeTransport, TransportClient } from "../../../src/application/ports/Transport.ts"
import type { OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { Limits, ServerSettings } from "../../../src/application/server/Limits.ts"
import { Readiness } from "../../../src/application/server/observability/Readiness.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { Observability } from "../../../src/application/server/observability/Observability.ts"
import { ServerMetrics } from "../../../src/application/server/observability/ServerMetrics.ts"

/** A watched Server in memory, and its metrics and audit events. */
export interface Seen {
  readonly client: Layer.Layer<TransportClient>
  readonly logging: Layer.Layer<never>
  readonly observability: Observability["Service"]
  readonly metrics: ServerMetrics["Service"]
  readonly readiness: Readiness["Service"]
  /** Every series as `name{label=value}`: its count or value; for a histogram, the number of records. */
  readonly series: () => { readonly [series: string]: number }
  /** The recorded audit events. */
  readonly audited: Queue.Queue<AuditEvent>
}

const formatSeries = ({ attributes, id }: Metric.Metric.Snapshot): string => {
  const pairs = Object.entries(attributes ?? {}).map(([name, value]) => `${name}=${value}`)
  return pairs.length === 0 ? id : `${id}{${pairs.join(",")}}`
}

const valueOf = (snapshot: Metric.Metric.Snapshot): number => {
  switch (snapshot.type) {
    case "Counter":
    case "Histogram":
      return Number(snapshot.state.count)
    case "Gauge":
      return Number(snapshot.state.value)
    case "Frequency":
    case "Summary":
      return Number.NaN
  }
}

/** Runs a watched Server with a separate metric registry. */
export const seenServer = Effect.fnUntraced(function* (
  settings: Partial<ServerSettings> = {},
  authenticator: Authenticator["Service"] = allowAll,
  limits: Partial<Limits> = {},
  cluster: Layer.Layer<OfficeRegistry | NodeTransport> = MemoryCluster.layer
): Effect.fn.Return<Seen, never, Scope.Scope> {
  const audited = yield* Queue.unbounded<AuditEvent>()
  const registry = new Map()
  const audit = AuditLog.of({ record: (event) => void Queue.offerUnsafe(audited, event), lostCount: () => 0 })
  const context = yield* Server.layer.pipe(
    Layer.provideMerge(Memory.layer()),
    Layer.provide(cluster),
    Layer.provide(Layer.succeed(ServerSettings, { ...ServerSettings.defaultValue(), ...settings })),
    Layer.provide(Layer.succeed(Limits, { ...Limits.defaultValue(), ...limits })),
    Layer.provideMerge(Observability.layer),
    Layer.provide(Layer.succeed(AuditLog, audit)),
    Layer.provide(Layer.succeed(Authenticator, authenticator)),
    Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, registry)),
    Layer.fresh,
    Layer.build,
    Effect.orDie
  )
  return {
    client: Layer.succeed(TransportClient, Context.get(context, TransportClient)),
    logging: Layer.empty,
    observability: Context.get(context, Observability),
    metrics: Context.get(context, ServerMetrics),
    readiness: Context.get(context, Readiness),
    series: () => Object.fromEntries(Metric.snapshotUnsafe(context).map((one) => [formatSeries(one), valueOf(one)])),
    audited
  }
})
