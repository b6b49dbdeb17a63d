/**
 * Does the memory of a Server stay flat under mixed load?
 * Usage: node test/chaos/longRun.ts [--help]
 */
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Deferred, Effect, Exit, References } from "effect"
import { cli } from "../main/processes.ts"
import { reporter, usageOr } from "./command.ts"
import { type Memory, openInspector } from "./liveMemory.ts"
import { startMixedLoad } from "./mixedLoad.ts"
import { wholeNumber } from "./options.ts"
import { startNode } from "./Process.ts"
import { isSteeper, type Slope, slopeOf } from "./slope.ts"

const usual = { minutes: 30, bound: 1024 }

const helpText = `Does the memory of a Server stay flat under mixed load?

npm run long-run -- [OPTIONS]

One Server as a process of its own; Agents and Computers make calls small and large, give calls up, change tools, come
and go, and lose their connections. What the Server still needs after a collection is sampled all the time; the first
quarter is not counted, since code is compiled then.

  --minutes N   how long (${usual.minutes})
  --bound KB    growth of live memory in an hour that is allowed, in KB (${usual.bound})
  --json        the report for programs
  --help        this text

Ends with 1 when live memory grows faster than that, and that is more than noise (three standard errors), or when an
answer was wrong.
`

/** Seconds between two samples. */
const sampleEvery = 5

/** The part of the samples that is not counted. */
const warmUp = 0.25

const readOptions = (args: ReadonlyArray<string>) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string" },
      bound: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  return {
    minutes: wholeNumber("minutes", values.minutes, usual.minutes, [1, 7 * 24 * 60]),
    bound: wholeNumber("bound", values.bound, usual.bound, [0, 1_000_000]),
    json: values.json,
    help: values.help
  }
}

const kibibyte = 1024
const hour = 60 * 60 * 1000

/** Starts a Server that can be inspected. */
const startServer = Effect.gen(function* () {
  const listening = yield* Deferred.make<string>()
  const inspected = yield* Deferred.make<string>()
  const server = yield* startNode(["--inspect=127.0.0.1:0", cli, "server", "--port", "0"], {
    onLine: (line) => {
      const url = /^listening on (.*)$/.exec(line)?.[1]
      if (url !== undefined) Deferred.doneUnsafe(listening, Exit.succeed(url))
    },
    onError: (line) => {
      const url = /^Debugger listening on (.*)$/.exec(line)?.[1]
      if (url !== undefined) Deferred.doneUnsafe(inspected, Exit.succeed(url))
    }
  })
  const died = Effect.flatMap(server.ended, (how) =>
    Effect.die(new Error(`the Server ended: ${how}\n${server.lastWords()}`))
  )
  const urls = Effect.all([Deferred.await(listening), Deferred.await(inspected)])
  const [url, inspector] = yield* Effect.raceFirst(urls, died)
  return { port: Number(new URL(url).port), inspector, died }
})

interface Sample extends Memory {
  /** Milliseconds since the load began. */
  readonly at: number
}

/** Samples until the time is up. */
const sample = Effect.fnUntraced(function* (
  memory: Effect.Effect<Memory>,
  minutes: number,
  note: (line: string) => void
) {
  const samples: Array<Sample> = []
  const begun = performance.now()
  while (performance.now() - begun < minutes * 60_000) {
    yield* Effect.sleep(`${sampleEvery} seconds`)
    const { live, rss } = yield* memory
    samples.push({ at: performance.now() - begun, live, rss })
    note(`live ${(live / kibibyte).toFixed(0)} KB, rss ${(rss / kibibyte).toFixed(0)} KB`)
  }
  return samples
})

/** Growth in KB per hour, without the warm-up. */
const growthOf = (samples: ReadonlyArray<Sample>, which: "live" | "rss"): Slope => {
  const counted = samples.slice(Math.floor(samples.length * warmUp))
  return slopeOf(counted.map((one) => [one.at / hour, one[which] / kibibyte]))
}

const spell = ({ error, slope }: Slope) => `${slope.toFixed(0)} ± ${error.toFixed(0)} KB per hour`

const program = Effect.gen(function* () {
  const { bound, help, json, minutes } = yield* usageOr(() => readOptions(process.argv.slice(2)))
  if (help) return void process.stdout.write(helpText)
  const { done, samples } = yield* Effect.scoped(
    Effect.gen(function* () {
      const { died, inspector, port } = yield* startServer
      const { memory } = yield* openInspector(inspector)
      const load = yield* startMixedLoad(port)
      const taken = yield* Effect.raceFirst(sample(memory, minutes, reporter()), died)
      return { samples: taken, done: load() }
    })
  )
  const live = growthOf(samples, "live")
  const rss = growthOf(samples, "rss")
  const problems = [
    ...(isSteeper(live, bound) ? [`live memory grows by more than ${bound} KB per hour`] : []),
    ...(done.wrong.length > 0 ? [`${done.wrong.length} wrong: ${done.wrong.slice(0, 5).join(", ")}`] : [])
  ]
  if (json) {
    process.stdout.write(`${JSON.stringify({ minutes, bound, live, rss, problems, ...done, samples })}\n`)
  } else {
    const counts = Object.entries(done.counts).map(([what, times]) => `${String(times).padStart(8)}  ${what}`)
    const growth = [`live memory: ${spell(live)}`, `RSS:         ${spell(rss)}`]
    process.stdout.write(
      `${[...counts, "", ...growth, ...(problems.length === 0 ? ["flat"] : problems)].join("\n")}\n`
    )
  }
  if (problems.length > 0) process.exitCode = 1
})

NodeRuntime.runMain(Effect.provideService(program, References.MinimumLogLevel, "None"))
