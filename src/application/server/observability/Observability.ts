import { Clock, Context, Effect, Layer, String, Tracer, Iterable } from "effect"
import { type OfficeKey, officeKeyOfLine } from "../../../domain/model/ids.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { packageVersion } from "../../../domain/packageVersion.ts"
import { ServedLines } from "../../ports/Transport.ts"
import { AuditLog } from "../../ports/AuditLog.ts"
import { auditCall, makeMembershipAudit, recordCallSpan } from "./auditing.ts"
import { CallObservers, type CompletedCall, MembershipObservers, type ObservedEvent } from "./observers.ts"
import { makeEffectMetrics } from "./EffectMetrics.ts"
import { Readiness } from "./Readiness.ts"
import { makeLatencyWindow } from "./LatencyWindow.ts"
import type { OfficeCount, StatusReport } from "./statusReport.ts"
import { type Gauge, ServerMetrics } from "./ServerMetrics.ts"

/** The members of an office. */
interface Counts {
  readonly office: string
  readonly line: string
  agent: number
  computer: number
}

/** Counts the members of this Server from its membership events. */
const makeMemberCounts = (lines: ReadonlyArray<string>) => {
  const offices = new Map<OfficeKey, Counts>()
  const total = { agent: 0, computer: 0 }

  const observe = (event: ObservedEvent) => {
    if (event._tag !== "Entered" && event._tag !== "Left") return
    const { line, membership } = event
    const { office, role } = membership
    const step = event._tag === "Entered" ? 1 : -1
    const key = officeKeyOfLine(line, office)
    const counts = offices.get(key) ?? { office, line, agent: 0, computer: 0 }
    counts[role] += step
    total[role] += step
    if (counts.agent + counts.computer > 0) offices.set(key, counts)
    else offices.delete(key)
  }

  const toOfficeCount = ({ agent, computer, line, office }: Counts): OfficeCount => {
    const otherLines = lines.filter((other) => other !== line && offices.has(officeKeyOfLine(other, office)))
    const shown = otherLines.length === 0 ? {} : { otherLines }
    return { office, line, agents: agent, computers: computer, ...shown }
  }

  return {
    observe,
    agents: () => total.agent,
    computers: () => total.computer,
    offices: () => offices.size,
    /** At most `max` offices, without the names of their members. */
    list: (max: number): ReadonlyArray<OfficeCount> => Array.from(Iterable.take(offices.values(), max), toOfficeCount)
  }
}

/** Metrics, status and readiness of one Server, for its operators. */
export class Observability extends Context.Service<
  Observability,
  {
    readonly report: () => StatusReport
    readonly offices: (max: number) => ReadonlyArray<OfficeCount>
    readonly readiness: Pick<Readiness["Service"], "state" | "components">
  }
>()("a2c-smcp/application/server/observability/Observability") {
  /**
   * Observes the Server that this layer is provided to. Updates the metrics in the registry of the context. Records a
   * span for every call when the context has a tracer, and audit events in its {@link AuditLog}. Every Server
   * gets its own instance.
   */
  static readonly layer: Layer.Layer<Observability | ServerMetrics | Readiness, never, AuditLog> = Layer.effectContext(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const metrics = yield* makeEffectMetrics
      const audit = yield* AuditLog
      const tracer = yield* Tracer.Tracer
      const lines = (yield* ServedLines).map(({ name }) => name)
      const startedAt = clock.currentTimeMillisUnsafe()
      const latency = makeLatencyWindow(startedAt)
      const memberCounts = makeMemberCounts(lines)
      const readiness = yield* Readiness
      const uptimeSeconds = () => (clock.currentTimeMillisUnsafe() - startedAt) / 1000

      const gauges: ReadonlyArray<Gauge> = [
        { name: "members", labels: { role: "agent" }, read: memberCounts.agents },
        { name: "members", labels: { role: "computer" }, read: memberCounts.computers },
        { name: "offices", read: memberCounts.offices },
        { name: "ready", read: () => (readiness.state()._tag === "Ready" ? 1 : 0) },
        {
          name: "components_unhealthy",
          read: () => [...readiness.components().values()].filter((error) => error !== undefined).length
        },
        { name: "uptime_seconds", read: uptimeSeconds },
        { name: "build_info", labels: { version: packageVersion, lines: lines.join(",") }, read: () => 1 },
        ...(audit === undefined ? [] : [{ name: "audit_events_dropped_total", read: audit.lostCount } as const])
      ]
      yield* Effect.forEach(gauges, metrics.service.gauge, { discard: true })

      const callObservers = [
        metrics.onCall,
        (call: CompletedCall) => latency.record(call.endedAt, call.endedAt - call.startedAt),
        ...(tracer === Tracer.nativeTracer ? [] : [recordCallSpan(tracer)]),
        ...(audit === undefined ? [] : [auditCall(audit)])
      ]
      const membershipObservers = [
        metrics.onMembership,
        memberCounts.observe,
        ...(audit === undefined ? [] : [makeMembershipAudit(audit, clock)])
      ]

      const report = (): StatusReport => {
        const state = readiness.state()
        const components = [...readiness.components()].map(
          ([component, error]) => [component, definedOnly({ ok: error === undefined, error })] as const
        )
        return {
          version: packageVersion,
          lines,
          state: String.toLowerCase(state._tag),
          ...(state._tag === "Draining" && { reason: state.reason }),
          components: Object.fromEntries(components),
          startedAt,
          uptimeSeconds: uptimeSeconds(),
          members: { agents: memberCounts.agents(), computers: memberCounts.computers() },
          offices: memberCounts.offices(),
          recent: latency.snapshot(clock.currentTimeMillisUnsafe()),
          totals: metrics.totals(),
          gauges: metrics.gauges()
        }
      }

      return Context.make(Observability, Observability.of({ report, offices: memberCounts.list, readiness })).pipe(
        Context.add(CallObservers, [...(yield* CallObservers), ...callObservers]),
        Context.add(MembershipObservers, [...(yield* MembershipObservers), ...membershipObservers]),
        Context.add(ServerMetrics, metrics.service)
      )
    })
  ).pipe(Layer.provideMerge(Readiness.layer), Layer.fresh)

  /** Counts nothing and observes nothing, for one Server. */
  static readonly layerNone: Layer.Layer<ServerMetrics | Readiness> = Layer.fresh(
    Layer.merge(ServerMetrics.layerNone, Readiness.layer)
  )
}
