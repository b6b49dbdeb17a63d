import { fileURLToPath } from "node:url"
import { Deferred, Effect, Exit, Scope } from "effect"
import { startNode } from "../../../test/chaos/Process.ts"
import { residentMegabytes } from "../../residentMemory.ts"
import { type A2cCommand, makeCommand } from "../command.ts"
import { a2c, type ServerKind, sio } from "../kinds.ts"
import type { Report } from "../orders.ts"
import { pin, processors } from "../pinning.ts"
import { summarise } from "../rounds.ts"
import { withSites } from "../Site.ts"
import { type Case, type Row, type Setting, valueAtMost } from "./Case.ts"
import { type ClosedLoad, startLoad } from "./closed.ts"

/** Rounds, each with new processes. */
const maxRounds = 2

/** Milliseconds after a start or a load until the memory is read: a Server frees memory after a minute. */
const quietMillis = { usual: 65_000, quick: 500 }

/** A running relay. */
interface Relay {
  /** Like `127.0.0.1:1234`. */
  readonly address: string
  readonly pid: number
}

type Start = Effect.Effect<Relay, never, Scope.Scope>

/** A relay to measure, and a Computer where there is one. */
interface Measured {
  readonly name: string
  readonly start: Start
  readonly startComputer?: A2cCommand["startComputer"]
}

const referenceFile = fileURLToPath(new URL("../servers/socketIo.ts", import.meta.url))

/** Starts plain Socket.IO without the flags of V8 that other cases need. */
const startReference: Start = Effect.gen(function* () {
  const listening = yield* Deferred.make<string>()
  const { pid } = yield* startNode([referenceFile], {
    onMessage: (message) => {
      const report = message as Report
      if (report._tag === "Listening") Deferred.doneUnsafe(listening, Exit.succeed(report.address))
    }
  })
  pin(pid, processors.servers)
  return { address: yield* Deferred.await(listening), pid }
})

/** Memory in MB after a quiet time, as users see it. */
const readMemory = async (pid: number, { quick }: Setting): Promise<number> => {
  await new Promise((resolve) => setTimeout(resolve, quick ? quietMillis.quick : quietMillis.usual))
  return residentMegabytes(pid)
}

/** A server that ends with the scope. */
const kindOf = (name: string, { address }: Relay, scope: Scope.Closeable): ServerKind => ({
  name,
  wire: "socketIo",
  start: async () => ({
    agents: address,
    computers: address,
    children: [],
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  })
})

/** Memory of a new relay before and after a load, whose peers stay connected. */
const measureLoad = Effect.fnUntraced(function* ({ name, start }: Measured, load: ClosedLoad, setting: Setting) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const relay = yield* Scope.provide(start, scope)
  return yield* Effect.promise(() =>
    withSites([kindOf(name, relay, scope)], setting.client, async ([site]) => {
      if (site === undefined) throw new Error(`${name} did not start`)
      const before = await readMemory(relay.pid, setting)
      await startLoad(site, load, load.payload(), setting.quick)
      return { before, after: await readMemory(relay.pid, setting) }
    })
  )
}, Effect.scoped)

/** Memory of a Computer without that of its MCP server. */
const measureComputer = Effect.fnUntraced(function* ({ start, startComputer }: Measured, setting: Setting) {
  if (startComputer === undefined) return Number.NaN
  const { address } = yield* start
  const { pid } = yield* startComputer(address)
  return yield* Effect.promise(() => readMemory(pid, setting))
}, Effect.scoped)

/** The loads after which the memory of a relay is read. */
interface Loads {
  readonly small: ClosedLoad
  readonly large: ClosedLoad
}

const measure = Effect.fnUntraced(function* (measured: Measured, loads: Loads, setting: Setting) {
  const [small, large, computer] = yield* Effect.all(
    [
      measureLoad(measured, loads.small, setting),
      measureLoad(measured, loads.large, setting),
      measureComputer(measured, setting)
    ],
    { concurrency: "unbounded" }
  )
  return { idle: small.before, small: small.after, large: large.after, computer }
})

const measureAll = Effect.fnUntraced(function* (loads: Loads, setting: Setting) {
  const { startComputer, startServer } = yield* makeCommand
  const measured: ReadonlyArray<Measured> = [
    { name: sio.name, start: startReference },
    { name: a2c.name, start: startServer(), startComputer }
  ]
  const rounds = Math.min(maxRounds, setting.quick ? 1 : setting.rounds)
  const measureRound = Effect.fnUntraced(function* (round: number) {
    setting.note(`round ${round} of ${rounds}`)
    // At once: they are quiet most of the time.
    const readings = yield* Effect.forEach(
      measured,
      (one) => Effect.map(measure(one, loads, setting), (reading) => [one.name, reading] as const),
      { concurrency: "unbounded" }
    )
    return new Map(readings)
  })
  return yield* Effect.forEach(
    Array.from({ length: rounds }, (_, index) => index + 1),
    measureRound
  )
}, Effect.scoped)

/** Memory of the processes of the command. */
export const processesCase = (loads: Loads): Case => ({
  name: "memory",
  about: "memory of the command: a Server, idle and after loads, and a Computer",
  long: true,
  run: async (setting) => {
    if (process.platform !== "linux") {
      process.stderr.write("memory: skipped, because it reads /proc, which only Linux has\n")
      return []
    }
    const rounds = await Effect.runPromise(measureAll(loads, setting))
    const row = (measure: string, of: "idle" | "small" | "large" | "computer", bound: number): Row => ({
      case: "memory",
      measure,
      unit: "MB",
      summary: summarise(rounds, sio.name, of, "idle"),
      target: valueAtMost(bound)
    })
    return [
      row("Server idle", "idle", 72),
      row(`Server after ${loads.small.name}`, "small", 110),
      row(`Server after ${loads.large.name}`, "large", 160),
      row("Computer", "computer", 110)
    ]
  }
})
