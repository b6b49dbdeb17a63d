import { readdirSync } from "node:fs"
import { Data, Deferred, Effect, Exit, Schedule, type Scope } from "effect"
import { sourceCli } from "../main/processes.ts"
import { type Holdings, type Inspector, openInspector } from "./Inspector.ts"
import type { MixedLoad } from "./mixedLoad.ts"
import { startNode } from "./Process.ts"
import { statusOf } from "./serverStatus.ts"

/** The Server ended unexpectedly. */
export class ServerEnded extends Data.TaggedError("ServerEnded")<{ readonly message: string }> {}

/** A Server with an inspector. */
export interface InspectedServer extends Inspector {
  readonly port: number
  /** Number of open files and sockets; undefined where the system does not report it. */
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

/** Starts a Server until the scope closes. */
export const startServer = Effect.gen(function* (): Effect.fn.Return<InspectedServer, ServerEnded, Scope.Scope> {
  const listening = yield* Deferred.make<string>()
  const inspected = yield* Deferred.make<string>()
  const server = yield* startNode(["--inspect=127.0.0.1:0", sourceCli, "server", "--port", "0"], {
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
    Effect.fail(new ServerEnded({ message: `the Server ended unexpectedly: ${how}\n${server.lastWords()}` }))
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

/** The Server at one moment, at rest. */
export interface Sample extends Holdings {
  /** Milliseconds since the start of the load. */
  readonly at: number
  readonly files: number | undefined
  /** Busy time of the event loop since the last sample, in percent, without rests. */
  readonly busy: number
  /** True when all gauges are as at the start. Otherwise members are missing, or disconnected ones still count. */
  readonly rested: boolean
}

/** Gauges of the Server that are the same at each rest. */
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
  Effect.map(statusOf(port), ({ gauges }) => Object.fromEntries(restingGauges.map((name) => [name, gauges[name]])))

/** The gauges that differ. */
const differences = (before: RestingGauges, now: RestingGauges): ReadonlyArray<string> =>
  restingGauges.flatMap((name) =>
    before[name] === now[name] ? [] : [`${name} is ${now[name]} and was ${before[name]}`]
  )

/** Seconds of load between two samples. */
const workTime = 5

/**
 * How long a sample waits for reconnecting members. A connection lost before its WebSocket upgrade counts until its
 * keepalive timeout: such samples are marked.
 */
const restTimeout = "3 seconds"

/** Maximum time until all gauges are as at the start: longer than a keepalive timeout. */
const lastRestTimeout = "90 seconds"

/** Samples of a Server under load. */
export interface Samples {
  readonly taken: ReadonlyArray<Sample>
  /** Gauges that differ at the end. */
  readonly left: ReadonlyArray<string>
}

/**
 * Runs a load on a Server for some minutes and takes samples. The load rests for each sample: no call is pending and
 * all members are connected. Samples differ by retained memory only.
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
  /** Waits until all gauges are as at the start. Returns the differences when the time is up. */
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
    const noted = [`live ${(one.live / 1024).toFixed(0)} KB`, `RSS ${(one.rss / 1024).toFixed(0)} KB`, ...left]
    note(noted.join(", "))
    before = yield* busyness
  }
  note("load has ended; waiting for the gauges of the Server")
  return { taken, left: yield* rested(lastRestTimeout) }
})
