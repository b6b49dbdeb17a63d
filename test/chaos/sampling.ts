import { readdirSync } from "node:fs"
import { Data, Deferred, Effect, Exit, Schedule, type Scope } from "effect"
import { cli } from "../main/processes.ts"
import { type Holdings, type Inspector, openInspector } from "./Inspector.ts"
import type { MixedLoad } from "./mixedLoad.ts"
import { startNode } from "./Process.ts"
import { statusOf } from "./serverStatus.ts"

/** The Server has ended though nobody wanted it to. */
export class ServerEnded extends Data.TaggedError("ServerEnded")<{ readonly message: string }> {}

/** A Server that can be looked into. */
export interface InspectedServer extends Inspector {
  readonly port: number
  /** How many files and sockets it has open; nothing where the system does not say. */
  readonly files: () => number | undefined
  /** Fails when the Server ends. */
  readonly died: Effect.Effect<never, ServerEnded>
}

const filesOf = (pid: number) => () => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return undefined
  }
}

/** Starts a Server that ends with the scope. */
export const startServer = Effect.gen(function* (): Effect.fn.Return<
  InspectedServer,
  ServerEnded,
  Scope.Scope
> {
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
    Effect.fail(new ServerEnded({ message: `the Server ended by itself: ${how}\n${server.lastWords()}` }))
  )
  const urls = Effect.all([Deferred.await(listening), Deferred.await(inspected)])
  const [url, inspector] = yield* Effect.raceFirst(urls, died)
  return {
    ...(yield* openInspector(inspector)),
    port: Number(new URL(url).port),
    files: filesOf(server.pid),
    died
  }
})

/** How a Server was at one moment, at rest. */
export interface Sample extends Holdings {
  /** Milliseconds since the load began. */
  readonly at: number
  readonly files: number | undefined
  /** Percent of the time in which its event loop was busy since the sample before, without rests. */
  readonly busy: number
  /** Was everything as at first? Otherwise somebody was still missing, or not known to be gone. */
  readonly rested: boolean
}

/** Who is there and what is under way, by the Server's own gauges: the same when the load rests. */
const restingGauges = [
  "connections",
  "members{role=agent}",
  "members{role=computer}",
  "offices",
  "calls_in_flight",
  "backlog_bytes",
  "unauthenticated_connections"
] as const

type RestingGauges = { readonly [name in (typeof restingGauges)[number]]?: number | undefined }

const gaugesOf = (port: number): Effect.Effect<RestingGauges, string> =>
  Effect.map(statusOf(port), ({ gauges }) =>
    Object.fromEntries(restingGauges.map((name) => [name, gauges[name]]))
  )

/** What is not as it was, in words; nothing when all is. */
const differences = (before: RestingGauges, now: RestingGauges): ReadonlyArray<string> =>
  restingGauges.flatMap((name) =>
    before[name] === now[name] ? [] : [`${name} is ${now[name]} and was ${before[name]}`]
  )

/** Seconds that the load works between two samples. */
const workTime = 5

/**
 * How long a sample waits for those who have lost their connection and come back. Whoever lost it before it was a
 * WebSocket is noticed to be gone only when it misses a sign of life: such samples are marked.
 */
const restTimeout = "3 seconds"

/** How long everything may take to be as it was when all is over: longer than a sign of life may be missed. */
const lastRestTimeout = "90 seconds"

/** What was seen of a Server under a load. */
export interface Samples {
  readonly taken: ReadonlyArray<Sample>
  /** What the gauges of the Server did not go back to in the end. */
  readonly left: ReadonlyArray<string>
}

/**
 * Lets a load work at a Server for so many minutes, and takes samples. For each the load rests: nothing is under way,
 * and everybody is there. So samples differ by what is kept, and not by what happens to go on.
 */
export const sample = Effect.fnUntraced(function* (
  { busyness, files, holdings, port }: InspectedServer,
  load: MixedLoad,
  minutes: number,
  note: (line: string) => void
): Effect.fn.Return<Samples> {
  const taken: Array<Sample> = []
  const atFirst = yield* Effect.orDie(gaugesOf(port))
  const look = Effect.match(gaugesOf(port), {
    onFailure: (reason) => [reason],
    onSuccess: (now) => differences(atFirst, now)
  })
  /** Waits until everything is as it was; gives what is not when the time is up. */
  const rested = (time: typeof restTimeout | typeof lastRestTimeout) =>
    Effect.repeat(look, {
      until: (left) => left.length === 0,
      schedule: Schedule.spaced("20 millis").pipe(Schedule.upTo({ duration: time }))
    }).pipe(Effect.andThen(look))

  const begun = performance.now()
  let before = yield* busyness
  while (performance.now() - begun < minutes * 60_000) {
    yield* load.work
    yield* Effect.sleep(`${workTime} seconds`)
    const worked = yield* busyness
    yield* load.rest
    const left = yield* rested(restTimeout)
    const active = worked.active - before.active
    const busy = (100 * active) / (active + worked.idle - before.idle)
    const one = {
      at: performance.now() - begun,
      ...(yield* holdings),
      files: files(),
      busy,
      rested: left.length === 0
    }
    taken.push(one)
    const noted = [
      `live ${(one.live / 1024).toFixed(0)} KB`,
      `RSS ${(one.rss / 1024).toFixed(0)} KB`,
      ...left
    ]
    note(noted.join(", "))
    before = yield* busyness
  }
  note("all is over; waiting until the Server is as it was")
  return { taken, left: yield* rested(lastRestTimeout) }
})
