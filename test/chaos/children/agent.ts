/** An Agent that calls its Computers continuously and reports each call. Usage: agent.ts ORDERS, as JSON. */
import { Context, Effect, FiberSet, Layer, Logger, Stream } from "effect"
import { Agent } from "../../../src/application/agent/Agent.ts"
import type { MemberStatus } from "../../../src/application/member/OfficeMember.ts"
import { agentLayer } from "../../../src/main/layers/agentLayer.ts"
import { type AgentOrders, type AgentReport, outcomeOf } from "../orders.ts"

const orders = JSON.parse(process.argv[2] ?? "{}") as AgentOrders
const notify = (report: AgentReport) => void process.send?.(report)

let calling = true
let calls = 0

const callOnce = (agent: Agent["Service"], computer: string) =>
  Effect.suspend(() => {
    const id = `${orders.life}-${++calls}`
    notify({ _tag: "Started", id, computer })
    const call = { computer, tool: orders.tool, params: { id, millis: orders.work }, timeout: orders.timeout }
    return Effect.map(outcomeOf(agent, call), (outcome) => notify({ _tag: "Ended", id, outcome }))
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

const formatStatus = (status: MemberStatus): string => {
  switch (status._tag) {
    case "Joined":
      return "in the office"
    case "Disconnected":
      return `disconnected: ${status.reason}`
    case "Failed":
      return `stopped: ${status.error.message}`
  }
}

const program = Effect.gen(function* () {
  const { name, office, protocol, url } = orders
  const layer = agentLayer({ url, office, name, protocol, retryInitialConnect: true })
  const agent = Context.get(yield* Layer.build(layer), Agent)
  process.on("message", () => {
    calling = false
  })
  const ended = Stream.runForEach(agent.status, (status) => {
    notify({ _tag: "Stands", where: formatStatus(status) })
    return status._tag === "Failed" ? Effect.fail(status.error) : Effect.void
  })
  const seen = agent.changes.pipe(
    Stream.map(({ computers }) => [...computers.keys()]),
    Stream.changesWith((one, other) => one.join() === other.join()),
    Stream.runForEach((computers) => Effect.sync(() => notify({ _tag: "Sees", computers })))
  )
  yield* Effect.forkScoped(seen)
  const load = Effect.forEach(orders.computers, (computer) => callAgainAndAgain(agent, computer), {
    concurrency: "unbounded",
    discard: true
  })
  return yield* Effect.raceFirst(Effect.andThen(ended, Effect.never), Effect.andThen(load, Effect.never))
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provideService(Logger.LogToStderr, true))).catch(
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
)
