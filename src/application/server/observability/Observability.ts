import { Clock, Context, Effect, Layer, Option, Tracer } from "effect"
import { PROTOCOL_VERSION } from "../../../domain/wire/version.ts"
import { packageVersion } from "../../../domain/packageVersion.ts"
import { AuditLog } from "../../ports/AuditLog.ts"
import { auditCall, auditMembership } from "./auditing.ts"
import { CallObservers } from "./observers.ts"
import { makeMemberCounts, type OfficeCount } from "./MemberCounts.ts"
import { MembershipObservers } from "./MembershipObservers.ts"
import { makeEffectMetrics, type MetricTotals } from "./EffectMetrics.ts"
import { makeReadiness, Readiness, type ReadinessState } from "../lifecycle/Readiness.ts"
import { makeLatencyWindow, type RecentCalls } from "./LatencyWindow.ts"
import { ServerMetrics } from "./ServerMetrics.ts"
import { recordCallSpan } from "./traceCalls.ts"

/** How a Server is right now, without anybody's name. */
export interface StatusReport {
  readonly version: string
  readonly protocol: string
  readonly state: "starting" | "ready" | "draining"
  /** Why it is not ready, where somebody said. */
  readonly reason?: string
  /** Parts that a Server may have, such as a registry, and what is wrong with each. */
  readonly parts: { readonly [part: string]: { readonly ok: boolean; readonly fault?: string } }
  /** Milliseconds of the epoch. */
  readonly startedAt: number
  readonly uptimeSeconds: number
  readonly members: { readonly agents: number; readonly computers: number }
  readonly offices: number
  readonly recent: RecentCalls
  readonly totals: MetricTotals
  readonly gauges: { readonly [name: string]: number }
}

const stateNames = { Starting: "starting", Ready: "ready", Draining: "draining" } as const

const formatState = (state: ReadinessState): Pick<StatusReport, "state" | "reason"> => ({
  state: stateNames[state._tag],
  ...(state._tag === "Draining" && { reason: state.reason })
})

/** Sees what a Server does, for those who operate it. */
export class Observability extends Context.Service<
  Observability,
  {
    readonly report: () => StatusReport
    /** The offices of this Server by name, at most so many. */
    readonly offices: (max: number) => ReadonlyArray<OfficeCount>
    readonly readiness: Pick<Readiness, "state" | "components">
  }
>()("a2c-smcp/application/server/Sight") {
  /**
   * Watches the Server that is built on top of this: counts into the metrics of the context, records a span of every
   * call where the context has a tracer, and writes to the {@link AuditLog} if there is one.
   */
  static readonly layer: Layer.Layer<Observability> = Layer.effectContext(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const metrics = yield* makeEffectMetrics
      const audit = yield* Effect.serviceOption(AuditLog)
      const tracer = yield* Tracer.Tracer
      const startedAt = clock.currentTimeMillisUnsafe()
      const latency = makeLatencyWindow(startedAt)
      const memberCounts = makeMemberCounts()
      const readiness = makeReadiness()
      const uptimeSeconds = () => (clock.currentTimeMillisUnsafe() - startedAt) / 1000

      const gauges = [
        {
          name: "members",
          labels: { role: "agent" },
          help: "Who sits in an office",
          read: memberCounts.agents
        },
        {
          name: "members",
          labels: { role: "computer" },
          help: "Who sits in an office",
          read: memberCounts.computers
        },
        { name: "offices", help: "Offices in which somebody sits", read: memberCounts.offices },
        {
          name: "ready",
          help: "1 while the Server takes members",
          read: () => (readiness.state()._tag === "Ready" ? 1 : 0)
        },
        {
          name: "parts_failing",
          help: "Parts of the Server, such as its registry, that do not work",
          read: () => [...readiness.components().values()].filter((error) => error !== undefined).length
        },
        { name: "uptime_seconds", help: "How long the Server has been running", read: uptimeSeconds },
        {
          name: "build_info",
          labels: { version: packageVersion, protocol: PROTOCOL_VERSION },
          help: "Always 1",
          read: () => 1
        }
      ]
      yield* Effect.forEach(gauges, metrics.gauge, { discard: true })
      if (Option.isSome(audit)) {
        yield* metrics.gauge({
          name: "audit_lost",
          help: "Facts that the audit could not keep up with",
          read: audit.value.lostCount
        })
      }

      const callObservers = [
        metrics.onCall,
        ({ endedAt, startedAt: began }: { readonly endedAt: number; readonly startedAt: number }) =>
          latency.record(endedAt, endedAt - began),
        ...(tracer === Tracer.nativeTracer ? [] : [recordCallSpan(tracer)]),
        ...(Option.isSome(audit) ? [auditCall(audit.value.record)] : [])
      ]
      const membershipObservers = [
        metrics.onMembership,
        memberCounts.observe,
        ...(Option.isSome(audit) ? [auditMembership(audit.value.record, clock)] : [])
      ]

      const report = (): StatusReport => ({
        version: packageVersion,
        protocol: PROTOCOL_VERSION,
        ...formatState(readiness.state()),
        parts: Object.fromEntries(
          [...readiness.components()].map(([component, error]) => [
            component,
            error === undefined ? { ok: true } : { ok: false, fault: error }
          ])
        ),
        startedAt,
        uptimeSeconds: uptimeSeconds(),
        members: { agents: memberCounts.agents(), computers: memberCounts.computers() },
        offices: memberCounts.offices(),
        recent: latency.snapshot(clock.currentTimeMillisUnsafe()),
        totals: metrics.totals(),
        gauges: metrics.gauges()
      })

      return Context.make(
        Observability,
        Observability.of({ report, offices: memberCounts.list, readiness })
      ).pipe(
        Context.add(CallObservers, [...(yield* CallObservers), ...callObservers]),
        Context.add(MembershipObservers, [...(yield* MembershipObservers), ...membershipObservers]),
        Context.add(ServerMetrics, metrics),
        Context.add(Readiness, readiness)
      )
    })
  )
}
