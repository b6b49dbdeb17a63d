import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Layer } from "effect"
import { Tally } from "../../application/server/Tally.ts"

/** How often the event loop's delay is sampled, in milliseconds: fine enough to see what people feel. */
const resolution = 20

/** The delays shown are those of the last so long. */
const period = "15 seconds"

const nanosPerSecond = 1e9
const microsPerSecond = 1e6

/** Shows how this process is: memory, processor time, and how late its event loop runs. */
export const layer: Layer.Layer<never> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { gauge } = yield* Tally
    const delays = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const histogram = monitorEventLoopDelay({ resolution })
        histogram.enable()
        return histogram
      }),
      (histogram) => Effect.sync(() => histogram.disable())
    )
    const last = { p50: 0, p99: 0, max: 0 }
    const look = Effect.sync(() => {
      if (delays.count > 0) {
        last.p50 = delays.percentile(50)
        last.p99 = delays.percentile(99)
        last.max = delays.max
      }
      delays.reset()
    })
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(period), look)))

    const lag = (quantile: keyof typeof last) =>
      gauge({
        name: "event_loop_lag_seconds",
        labels: { quantile },
        help: "How late the event loop ran in the last 15 seconds or so",
        // What is sampled is the whole time between two looks.
        read: () => Math.max(0, last[quantile] / nanosPerSecond - resolution / 1000)
      })
    yield* lag("p50")
    yield* lag("p99")
    yield* lag("max")
    yield* gauge({
      name: "process_resident_memory_bytes",
      help: "Memory of the process",
      read: () => process.memoryUsage.rss()
    })
    yield* gauge({
      name: "process_heap_used_bytes",
      help: "Memory of JavaScript objects",
      read: () => process.memoryUsage().heapUsed
    })
    yield* gauge({
      name: "process_cpu_seconds_total",
      help: "Processor time of the process",
      grows: true,
      read: () => {
        const { system, user } = process.cpuUsage()
        return (system + user) / microsPerSecond
      }
    })
  })
)
