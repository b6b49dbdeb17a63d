/** An Agent that calls its Computers all the time, and reports every call. Usage: agent.ts ORDERS, as JSON. */
import { Context, Effect, FiberSet, Layer, Logger, Stream } from "effect"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { agentLayer } from "../../../src/main/layers.ts"
import { type AgentOrders, type AgentReport, outcomeOf } from "../orders.ts"

const orders = JSON.parse(process.argv[2] ?? "{}") as AgentOrders
const tell = (report: AgentReport) => void process.send?.(report)

let calling = true
let calls = 0

const callOnce = (agent: Agent["Service"], computer: string) =>
  Effect.suspend(() => {
    const id = `${orders.life}-${++calls}`
    tell({ _tag: "Started", id, computer })
    const call = { computer, tool: "mark", params: { id, millis: orders.work }, timeout: orders.timeout }
    return Effect.map(outcomeOf(agent, call), (outcome) => tell({ _tag: "Ended", id, outcome }))
  })

const callAgainAndAgain = (agent: Agent["Service"], computer: string) =>
  Effect.gen(function* () {
    const underWay = yield* FiberSet.make<void>()
    while (calling) {
      if ((yield* FiberSet.size(underWay)) < orders.atOnce) {
        yield* FiberSet.run(underWay, callOnce(agent, computer))
      }
      yield* Effect.sleep(orders.every)
    }
    yield* FiberSet.awaitEmpty(underWay)
  }).pipe(Effect.scoped)

const program = Effect.gen(function* () {
  const { name, office, url } = orders
  const agent = Context.get(yield* Layer.build(agentLayer({ url, office, name, patient: true })), Agent)
  tell({ _tag: "Joined" })
  process.on("message", () => {
    calling = false
  })
  const ended = Stream.runForEach(agent.status, (status) =>
    status._tag === "Ended" ? Effect.fail(status.error) : Effect.void
  )
  const load = Effect.forEach(orders.computers, (computer) => callAgainAndAgain(agent, computer), {
    concurrency: "unbounded",
    discard: true
  })
  return yield* Effect.raceFirst(Effect.andThen(ended, Effect.never), Effect.andThen(load, Effect.never))
})

process.on("disconnect", () => process.exit(1))
await Effect.runPromise(program.pipe(Effect.scoped, Effect.provideService(Logger.LogToStderr, true))).catch(
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
)
