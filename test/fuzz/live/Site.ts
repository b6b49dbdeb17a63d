import { Context, Effect, Layer, type Scope } from "effect"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { serverLayer } from "../../../src/main/layers/serverLayer.ts"
import type { Measurements } from "../../attacks/children/orders.ts"
import { startChild } from "../../attacks/Site.ts"
import { parsePrometheus } from "../../prometheus.ts"
import { must, type Note } from "../Surface.ts"
import { errorsTo } from "./errors.ts"
import { type Lateness, watchLateness } from "./lateness.ts"
import { until } from "./wait.ts"

/** Bytes of a message, few enough that inputs exceed them. */
const maxMessageBytes = 16 * 1024

/** Longer bodies are scanned only: many of the inputs. */
const validateBytes = 400

/** How soon a connection of which nothing is heard is given up, in milliseconds: after both together. */
const pings = { pingInterval: 1000, pingTimeout: 2000 }

/** What is not limited here, because reaching the limit would hide what comes behind it. */
const limits = { messagesPerSecond: 1_000_000, messageBurst: 1_000_000, connections: 150 }

/** What 99 of 100 calls of the witnesses take at most, in milliseconds, beyond what the machine itself is late. */
const mostLatency = 1000

/** A Server in this process, and an Agent and a Computer in another, which are its witnesses. */
export interface ServerSite {
  readonly url: string
  readonly begin: () => Promise<void>
  /** Ends the calls of the witnesses, and waits until nobody is left but them. */
  readonly settle: () => Promise<void>
  /** The witnesses go. */
  readonly finish: () => Promise<void>
}

/** Starts both. What the Server logs as an error is noted. */
export const openSite = (note: Note): Effect.Effect<ServerSite, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const server = Context.get(
      yield* Layer.build(
        serverLayer({ limits, maxMessageBytes, validateBytes, ...pings }).pipe(Layer.provide(errorsTo(note)))
      ),
      Server
    )
    const { url } = server
    const witness = yield* startChild("children/witness.ts", url)
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    const order = (tag: "Begin" | "End") => run(witness.order({ _tag: tag }))
    const holds = async (load: ReturnType<typeof server.load>): Promise<boolean> => {
      const page = await (await fetch(`${url}/metrics`)).text()
      const strangers = parsePrometheus(page).get("a2c_unauthenticated_connections")
      return JSON.stringify({ ...server.load(), strangers }) === JSON.stringify({ ...load, strangers: 0 })
    }
    const left = () => `something is left: ${JSON.stringify(server.load())}`
    // Server and fuzzer are one thread: both are late when it is.
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
        must(failed.length === 0, `the witnesses say: ${failed.slice(0, 5).join("; ")}`)
        must(
          calls > 0 && p99 < mostLatency + late,
          `the witnesses waited ${p99} ms for their answers, of which the machine was late for up to ${late} ms`
        )
        await until(() => holds({ connections: 2, sessions: 2, offices: 1, calls: 0 }), left)
      },
      finish: async () => {
        witness.end()
        await until(() => holds({ connections: 0, sessions: 0, offices: 0, calls: 0 }), left)
      }
    }
  })
