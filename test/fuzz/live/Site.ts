import { Context, Effect, Layer, type Scope } from "effect"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { serverLayer } from "../../../src/main/layers/serverLayer.ts"
import type { Measurements } from "../../attacks/children/orders.ts"
import { startChild } from "../../attacks/Site.ts"
import { parsePrometheus } from "../../prometheus.ts"
import { must, type Note } from "../Surface.ts"
import { errorsTo } from "./errors.ts"
import { type Lateness, watchLateness } from "./lateness.ts"
import { until } from "./wait.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

/** Maximum message size in bytes; small, so that inputs exceed it. */
const maxMessageBytes = 16 * 1024

/** Longer bodies are only scanned, as many inputs are. */
const validateBytes = 400

/** Ping interval and timeout in milliseconds; a silent connection closes after their sum. */
const pings = { pingInterval: 1000, pingTimeout: 2000 }

/** Disabled limits: reaching them would hide the code behind them. */
const limits = { messagesPerSecond: 1_000_000, messageBurst: 1_000_000, connections: 150 }

/** Maximum p99 latency of the witnesses in milliseconds, plus the lateness of the machine. */
const maxLatency = 1000

/** A Server in this process, with an Agent and a Computer in another process as witnesses. */
export interface ServerSite {
  readonly url: string
  readonly begin: () => Promise<void>
  /** Ends the calls of the witnesses and waits until only they are left. */
  readonly settle: () => Promise<void>
  /** Disconnects the witnesses. */
  readonly finish: () => Promise<void>
}

/** Starts both processes and notes errors in the log of the Server. */
export const openSite = (note: Note): Effect.Effect<ServerSite, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const server = Context.get(
      yield* Layer.build(
        serverLayer({ limits, maxMessageBytes, validateBytes, ...pings }).pipe(
          Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone, errorsTo(note)])
        )
      ),
      Server
    )
    const { url } = server
    const witness = yield* startChild("children/witness.ts", url)
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    const order = (tag: "Begin" | "End") => run(witness.order({ _tag: tag }))
    const holds = async (load: ReturnType<typeof server.load>): Promise<boolean> => {
      const page = await (await fetch(`${url}/metrics`)).text()
      const oddServers = parsePrometheus(page).get("a2c_unauthenticated_connections")
      return JSON.stringify({ ...server.load(), oddServers }) === JSON.stringify({ ...load, oddServers: 0 })
    }
    const left = () => `leaked: ${JSON.stringify(server.load())}`
    // Server and fuzzer share one thread.
    let lateness: Lateness | undefined
    yield* Effect.addFinalizer(() => Effect.sync(() => lateness?.stop()))
    return {
      url,
      begin: async () => {
        await order("Begin")
        lateness = watchLateness()
      },
      settle: async () => {
        const { calls, failed, p99 } = (await order("End")) as Measurements
        const late = lateness?.worst() ?? 0
        lateness?.stop()
        must(failed.length === 0, `the witnesses failed: ${failed.slice(0, 5).join("; ")}`)
        must(
          calls > 0 && p99 < maxLatency + late,
          `the witnesses had a p99 latency of ${p99} ms; the machine was late by up to ${late} ms`
        )
        await until(() => holds({ connections: 2, sessions: 2, offices: 1, calls: 0 }), left)
      },
      finish: async () => {
        witness.end()
        await until(() => holds({ connections: 0, sessions: 0, offices: 0, calls: 0 }), left)
      }
    }
  })
