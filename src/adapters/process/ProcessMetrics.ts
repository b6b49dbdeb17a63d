import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Layer } from "effect"
import { ServerMetrics } from "../../application/server/observability/ServerMetrics.ts"

/** Sampling interval of the event loop delay, in milliseconds. */
const resolution = 20

const samplingPeriod = "15 seconds"

/** Registers metrics of this process: memory, CPU time and event loop lag. */
export const layer: Layer.Layer<never, never, ServerMetrics> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { gauge } = yield* ServerMetrics
    const delayHistogram = monitorEventLoopDelay({ resolution })
    delayHistogram.enable()
    yield* Effect.addFinalizer(() => Effect.sync(() => delayHistogram.disable()))
    /** In nanoseconds. */
    let lastSample = { p50: 0, p99: 0, max: 0 }
    const sample = Effect.sync(() => {
      const { count, max } = delayHistogram
      if (count > 0) lastSample = { p50: delayHistogram.percentile(50), p99: delayHistogram.percentile(99), max }
      delayHistogram.reset()
    })
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(samplingPeriod), sample)))

    for (const quantile of ["p50", "p99", "max"] as const) {
      yield* gauge({
        name: "event_loop_lag_seconds",
        labels: { quantile },
        // A sample is the whole time between two ticks of the histogram.
        read: () => Math.max(0, lastSample[quantile] / 1e9 - resolution / 1000)
      })
    }
    yield* gauge({ name: "process_resident_memory_bytes", read: () => process.memoryUsage.rss() })
    yield* gauge({ name: "process_heap_used_bytes", read: () => process.memoryUsage().heapUsed })
    yield* gauge({
      name: "process_cpu_seconds_total",
      read: () => {
        const { system, user } = process.cpuUsage()
        return (system + user) / 1e6
      }
    })
  })
)
