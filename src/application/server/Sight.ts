import { Clock, Context, Effect, Layer, Option, Tracer } from "effect"
import { PROTOCOL_VERSION } from "../../domain/protocol/version.ts"
import { version } from "../../version.ts"
import { Audit } from "../ports/Audit.ts"
import { callFact, entryFact } from "./auditing.ts"
import { CallObservers } from "./CallObservers.ts"
import { makeCensus, type OfficeCount } from "./Census.ts"
import { EntryObservers } from "./EntryObservers.ts"
import { makeMetrics, type Totals } from "./Metrics.ts"
import { makeReadiness, Readiness, type ReadyState } from "./Readiness.ts"
import { makeRecent, type RecentCalls } from "./Recent.ts"
import { Tally } from "./Tally.ts"
import { recordCall } from "./traceCalls.ts"

/** How a Server is right now, without anybody's name. */
export interface Report {
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
  readonly totals: Totals
  readonly gauges: { readonly [name: string]: number }
}

const states = { Starting: "starting", Ready: "ready", Draining: "draining" } as const

const spellState = (state: ReadyState): Pick<Report, "state" | "reason"> => ({
  state: states[state._tag],
  ...(state._tag === "Draining" && { reason: state.reason })
})

/** Sees what a Server does, for those who operate it. */
export class Sight extends Context.Service<
  Sight,
  {
    readonly report: () => Report
    /** The offices of this Server by name, at most so many. */
    readonly offices: (most: number) => ReadonlyArray<OfficeCount>
    readonly readiness: Pick<Readiness, "state" | "parts">
  }
>()("a2c-smcp/application/server/Sight") {
  /**
   * Watches the Server that is built on top of this: counts into the metrics of the context, records a span of every
   * call where the context has a tracer, and writes to the {@link Audit} if there is one.
   */
  static readonly layer: Layer.Layer<Sight> = Layer.effectContext(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const metrics = yield* makeMetrics
      const audit = yield* Effect.serviceOption(Audit)
      const tracer = yield* Tracer.Tracer
      const startedAt = clock.currentTimeMillisUnsafe()
      const recent = makeRecent(startedAt)
      const census = makeCensus()
      const readiness = makeReadiness()
      const uptimeSeconds = () => (clock.currentTimeMillisUnsafe() - startedAt) / 1000

      const numbers = [
        { name: "members", labels: { role: "agent" }, help: "Who sits in an office", read: census.agents },
        {
          name: "members",
          labels: { role: "computer" },
          help: "Who sits in an office",
          read: census.computers
        },
        { name: "offices", help: "Offices in which somebody sits", read: census.offices },
        {
          name: "ready",
          help: "1 while the Server takes members",
          read: () => (readiness.state()._tag === "Ready" ? 1 : 0)
        },
        {
          name: "parts_failing",
          help: "Parts of the Server, such as its registry, that do not work",
          read: () => [...readiness.parts().values()].filter((fault) => fault !== undefined).length
        },
        { name: "uptime_seconds", help: "How long the Server has been running", read: uptimeSeconds },
        {
          name: "build_info",
          labels: { version, protocol: PROTOCOL_VERSION },
          help: "Always 1",
          read: () => 1
        }
      ]
      yield* Effect.forEach(numbers, metrics.gauge, { discard: true })
      if (Option.isSome(audit)) {
        yield* metrics.gauge({
          name: "audit_lost",
          help: "Facts that the audit could not keep up with",
          read: audit.value.lost
        })
      }

      const watchers = [
        metrics.call,
        ({ endedAt, startedAt: began }: { readonly endedAt: number; readonly startedAt: number }) =>
          recent.note(endedAt, endedAt - began),
        ...(tracer === Tracer.nativeTracer ? [] : [recordCall(tracer)]),
        ...(Option.isSome(audit) ? [callFact(audit.value.note)] : [])
      ]
      const greeters = [
        metrics.entry,
        census.observe,
        ...(Option.isSome(audit) ? [entryFact(audit.value.note, clock)] : [])
      ]

      const report = (): Report => ({
        version,
        protocol: PROTOCOL_VERSION,
        ...spellState(readiness.state()),
        parts: Object.fromEntries(
          [...readiness.parts()].map(([part, fault]) => [
            part,
            fault === undefined ? { ok: true } : { ok: false, fault }
          ])
        ),
        startedAt,
        uptimeSeconds: uptimeSeconds(),
        members: { agents: census.agents(), computers: census.computers() },
        offices: census.offices(),
        recent: recent.look(clock.currentTimeMillisUnsafe()),
        totals: metrics.totals(),
        gauges: metrics.gauges()
      })

      return Context.make(Sight, Sight.of({ report, offices: census.list, readiness })).pipe(
        Context.add(CallObservers, [...(yield* CallObservers), ...watchers]),
        Context.add(EntryObservers, [...(yield* EntryObservers), ...greeters]),
        Context.add(Tally, metrics),
        Context.add(Readiness, readiness)
      )
    })
  )
}
