import { Context, Effect, Fiber, Latch, Layer, Random, Result, Schedule, type Scope } from "effect"
import { makeMemoryMcpServer, type MemoryMcpServer, type MemoryTool } from "../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import { parseComputerConfig } from "../../src/domain/config/parseConfig.ts"
import { agentLayer } from "../../src/main/layers/agentLayer.ts"
import { computerLayer } from "../../src/main/layers/computerLayer.ts"
import { type LineName, lineNames } from "../../src/domain/wire/lines.ts"
import { type Outcome, outcomeOf, toolNamed } from "./orders.ts"
import { openProxy } from "./Proxy.ts"
import { portDefaults } from "../portDefaults.ts"

/** Counters of the members of some offices. */
interface Done {
  /** Number of actions by outcome. */
  readonly counts: { readonly [what: string]: number }
  /** Results of other calls, and calls that ended without a protocol error. */
  readonly wrong: ReadonlyArray<string>
}

/** A load on a Server that can be paused. */
export interface MixedLoad {
  readonly done: () => Done
  /** Starts or resumes the load. */
  readonly work: Effect.Effect<void>
  /** Pauses the load and waits for pending actions. Members that lost their connection may still be reconnecting. */
  readonly rest: Effect.Effect<void>
}

/** The id of all offices, which are on different protocol lines. */
const office = "shared"
const computers = ["desk", "shelf"]

/** Concurrent small calls of an office, and the milliseconds between two of them. */
const callers = 2
const pause = 15

/** Characters of a large call and of its result. */
const largeSize = 300_000

/** Intervals of the other actions of an office, in milliseconds. */
const every = { large: 500, cancel: 200, change: 1000, visit: 1500, reconnect: 7000 }

/** Milliseconds until a call is cancelled, and the timeout of all calls in seconds. */
const givenUpAfter = 30
const timeout = 20

const tool = (name: string, description: string, run: MemoryTool["run"]): MemoryTool => ({
  definition: { name, description, inputSchema: { type: "object" } },
  run
})

/** The tools of a Computer; their descriptions always differ. */
const toolsOf = (version: number): ReadonlyArray<MemoryTool> => [
  tool("echo", `Version ${version}`, ({ text }) => Effect.succeed({ content: [{ type: "text", text }] })),
  tool("wait", "Never ends", () => Effect.never)
]

const config = Result.getOrThrow(
  parseComputerConfig({
    servers: {
      memory: {
        type: "stdio",
        server_parameters: { command: "-" },
        default_tool_meta: { auto_apply: true }
      }
    }
  })
)

interface Place {
  readonly url: string
  readonly office: string
  readonly protocol: LineName
}

const startComputer = Effect.fnUntraced(function* (
  place: Place,
  name: string
): Effect.fn.Return<MemoryMcpServer, never, Scope.Scope> {
  const server = yield* makeMemoryMcpServer({ tools: toolsOf(0) })
  const layer = computerLayer({ ...place, name, config, sessions: { memory: yield* server.connect } })
  yield* Effect.orDie(Layer.build(Layer.fresh(Layer.provide(layer, portDefaults))))
  return server
})

/** An Agent, and the names of tools on its protocol line. */
interface Caller {
  readonly agent: Agent["Service"]
  readonly named: (tool: string) => string
}

/** Opens offices on the Server of this port until the scope closes. The load starts paused. */
export const startMixedLoad = Effect.fnUntraced(function* (
  port: number
): Effect.fn.Return<MixedLoad, never, Scope.Scope> {
  const working = yield* Latch.make(false)
  let underWay = 0
  const counts = new Map<string, number>()
  const wrong: Array<string> = []
  let texts = 0

  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)
  const note = (what: string, expected: string, outcome: Outcome) => {
    if (outcome._tag === "Failed") return void count(`${what}: ${outcome.error}`)
    if (outcome._tag === "Broken") return void wrong.push(`${what}: ${outcome.cause}`)
    if (outcome.text !== expected) return void wrong.push(`${what}: ${outcome.text.slice(0, 100)}`)
    count(what)
  }

  const echo = ({ agent, named }: Caller, what: string, computer: string, size = 0) =>
    Effect.suspend(() => {
      const text = `${++texts} `.padEnd(size, "x")
      const call = { computer, tool: named("echo"), params: { text }, timeout }
      return Effect.map(outcomeOf(agent, call), (outcome) => note(what, text, outcome))
    })

  const giveUp = Effect.fnUntraced(function* ({ agent, named }: Caller, computer: string) {
    const call = yield* Effect.forkChild(agent.callTool({ computer, tool: named("wait"), timeout }))
    yield* Effect.sleep(givenUpAfter)
    yield* Fiber.interrupt(call)
    count("cancelled")
  })

  /** Repeats an action while the load is not paused. The first one starts after a random part of the interval. */
  const again = (millis: number, one: Effect.Effect<unknown>) => {
    const once = Effect.acquireUseRelease(
      Effect.sync(() => underWay++),
      () => one,
      () => Effect.sync(() => underWay--)
    )
    return Effect.forkScoped(
      Effect.andThen(
        Effect.flatMap(Random.nextBetween(0, millis), Effect.sleep),
        Effect.forever(Effect.andThen(working.whenOpen(once), Effect.sleep(millis)))
      )
    )
  }

  const runOffice = Effect.fnUntraced(function* (protocol: LineName) {
    const way = yield* openProxy({ target: () => port })
    const place = { url: `http://127.0.0.1:${way.port}`, office, protocol }
    const named = (name: string) => toolNamed(name, "memory", protocol)
    const servers = yield* Effect.forEach(computers, (name) => startComputer(place, name))
    const agentContext = yield* Effect.orDie(Layer.build(Layer.fresh(agentLayer({ ...place, name: "thinker" }))))
    const caller = { agent: Context.get(agentContext, Agent), named }
    let turn = 0
    const next = Effect.sync(() => computers[turn++ % computers.length] ?? "")
    for (let one = 0; one < callers; one++) {
      yield* again(
        pause,
        Effect.flatMap(next, (computer) => echo(caller, "small call", computer))
      )
    }
    yield* again(
      every.large,
      Effect.flatMap(next, (computer) => echo(caller, "large call", computer, largeSize))
    )
    yield* again(
      every.cancel,
      Effect.flatMap(next, (computer) => giveUp(caller, computer))
    )
    yield* again(
      every.change,
      Effect.suspend(() => {
        const server = servers[turn % servers.length]
        count("tool change")
        return server?.setTools(toolsOf(++turn)) ?? Effect.void
      })
    )
    let visits = 0
    const visit = Effect.gen(function* () {
      const name = `visitor-${++visits}`
      yield* startComputer(place, name)
      yield* echo(caller, "call of a temporary Agent", name)
    })
    // A temporary Agent may lose its connection.
    yield* again(every.visit, Effect.ignoreCause(Effect.scoped(visit)))
    yield* again(
      every.reconnect,
      Effect.andThen(
        way.cut,
        Effect.andThen(
          Effect.sync(() => count("reconnection of an office")),
          way.heal
        )
      )
    )
  })

  yield* Effect.forEach(lineNames, runOffice, { discard: true })
  const isOver = Effect.sync(() => underWay === 0)
  return {
    done: () => ({
      counts: Object.fromEntries([...counts].toSorted(([one], [other]) => one.localeCompare(other))),
      wrong
    }),
    work: Effect.asVoid(working.open),
    rest: Effect.andThen(
      working.close,
      Effect.asVoid(Effect.repeat(isOver, { until: (over) => over, schedule: Schedule.spaced("5 millis") }))
    )
  }
})
