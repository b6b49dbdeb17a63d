import { Clock, Context, Deferred, Duration, Effect, Fiber, Layer, References, Stream } from "effect"
import { AuditLog } from "../../application/ports/AuditLog.ts"
import { Policy } from "../../application/ports/approvals/Policy.ts"
import { Agent } from "../../application/agent/Agent.ts"
import { Computer } from "../../application/computer/Computer.ts"
import type { ProgressReport } from "../../application/computer/ComputerSettings.ts"
import { Server } from "../../application/server/lifecycle/Server.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { formatToolResult } from "../cli/output/format.ts"
import { printText } from "../cli/output/print.ts"
import { failCommand } from "../CommandFailed.ts"
import { Authenticator } from "../../application/ports/Authenticator.ts"
import { agentLayer } from "../layers/agentLayer.ts"
import { computerLayer } from "../layers/computerLayer.ts"
import { serverLayer } from "../layers/serverLayer.ts"
import { deskConfig, installDemoServers, labConfig } from "./demoConfigs.ts"
import { formatQuantity } from "../../domain/text/format.ts"
import { runPageDemo } from "./runPageDemo.ts"

const office = "demo"

const seconds = (millis: number): string => `${(millis / 1000).toFixed(2)} s`

/** Runs a step and prints its title with the elapsed time. */
const step = Effect.fnUntraced(function* <A, E, R>(title: string, work: Effect.Effect<A, E, R>) {
  const [took, value] = yield* Effect.timed(work)
  yield* printText(`\n${title}  (${seconds(Duration.toMillis(took))})`)
  return value
})

const printIndented = (text: string) => printText(text.replaceAll(/^(?=.)/gm, "     "))

const assertDemo = (holds: boolean, what: string) => (holds ? Effect.void : failCommand(`The demo failed: ${what}`))

/** Builds a service in the scope of the demo, which closes it. */
const buildService = <I, S, E>(key: Context.Service<I, S>, layer: Layer.Layer<I, E>) =>
  Effect.map(Layer.build(Layer.fresh(layer)), Context.get(key))

const printComputer = Effect.fnUntraced(function* (name: string, computer: Computer["Service"]) {
  const servers = yield* computer.servers
  for (const [server, state] of servers) {
    if (state._tag !== "Ready") return yield* failCommand(`The demo failed: the MCP server '${server}' does not run`)
    const { info } = state.session
    yield* printIndented(
      `${name}: ${server} is ${info.name} ${info.version}, ${formatQuantity(state.tools.length, "tool")} (${state.config.type})`
    )
  }
})

const printResult = (call: string, result: ToolResult) =>
  printIndented(`${call}\n  → ${formatToolResult(result).replaceAll("\n", "\n    ")}`)

/** Makes the members of the office. `onProgress` reports the progress of tools at the Computers. */
const openOffice = Effect.fnUntraced(function* (onProgress: (report: ProgressReport) => Effect.Effect<void>) {
  const openServer = serverLayer().pipe(Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone]))
  const { url } = yield* step("1  A Server starts", buildService(Server, openServer))
  yield* printIndented(`listening on ${url}`)

  const startComputer = (name: string, config: ComputerConfig) =>
    buildService(
      Computer,
      computerLayer({ url, office, name, config, settings: { onProgress } }).pipe(
        Layer.provide([Policy.layerNone, AuditLog.layerNone])
      )
    )
  const startDesk = Effect.flatMap(deskConfig, (config) => startComputer("desk", config))
  const startLab = Effect.flatMap(labConfig, (config) => startComputer("lab", config))
  const [desk, lab] = yield* step(
    "2  Two Computers start their MCP servers and join the office",
    Effect.all([startDesk, startLab], { concurrency: 2 })
  )
  yield* printComputer("desk", desk)
  yield* printComputer("lab", lab)

  const agent = yield* step(
    "3  An Agent joins and fetches the tools",
    buildService(Agent, agentLayer({ url, office, name: "demo-agent" }))
  )
  yield* agent.settled
  const { computers } = yield* agent.view
  for (const [name, { tools = [] }] of computers) {
    yield* printIndented(`${name}: ${tools.map((tool) => tool.name).join(", ")}`)
  }
  return { desk, lab, agent }
})

const call = (agent: Agent["Service"], computer: string, tool: string, params: object) =>
  agent.callTool({ computer, tool, params: { ...params } })

/** Calls a long operation and cancels it once its progress is half complete. */
const cancelHalfWay = Effect.fnUntraced(function* (agent: Agent["Service"], halfWay: Deferred.Deferred<void>) {
  const operation = call(agent, "lab", "trigger-long-running-operation", { duration: 1, steps: 10 })
  const calling = yield* Effect.forkChild(operation)
  yield* Deferred.await(halfWay)
  yield* Fiber.interrupt(calling)
})

const callTools = Effect.fnUntraced(function* (agent: Agent["Service"]) {
  const calls = [call(agent, "lab", "echo", { message: "Hello, office!" }), call(agent, "lab", "add", { a: 40, b: 2 })]
  const results = yield* step("4  It calls tools of both", Effect.all(calls, { concurrency: 2 }))
  yield* assertDemo(!results.some(({ isError }) => isError), "a tool of the lab failed")
  const texts = ['lab.echo {"message": "Hello, office!"}', 'lab.add {"a": 40, "b": 2}']
  for (const [index, result] of results.entries()) yield* printResult(texts[index] ?? "", result)
  const remembered = yield* call(agent, "desk", "create_entities", {
    entities: [{ name: "office", entityType: "place", observations: ["has two Computers"] }]
  })
  yield* assertDemo(!remembered.isError, "the memory server failed")
  yield* printResult("desk.create_entities", remembered)
})

const changeDesktop = Effect.fnUntraced(function* (agent: Agent["Service"]) {
  yield* step("6  The desktop, before", Effect.void)
  yield* printIndented((yield* agent.getDesktop("desk")).join("\n\n"))
  const changed = yield* Effect.forkChild(
    Stream.runHead(Stream.filter(agent.events, (event) => event._tag === "Updated" && event.part === "desktop")),
    { startImmediately: true }
  )
  const adding = Effect.tap(call(agent, "desk", "add_note", { text: "water the plants" }), () => Fiber.join(changed))
  const noted = yield* step("7  A tool changes a window, and the office is notified", adding)
  yield* printResult('desk.add_note {"text": "water the plants"}', noted)
  yield* step("8  The desktop, after", Effect.void)
  const after = (yield* agent.getDesktop("desk")).join("\n\n")
  yield* assertDemo(after.includes("water the plants"), "the window does not show the note")
  yield* printIndented(after)
})

const runTour = Effect.gen(function* () {
  const began = yield* Clock.currentTimeMillis
  const halfWay = yield* Deferred.make<void>()
  const { agent, desk, lab } = yield* openOffice(({ message = "", progress, tool, total = 0 }) =>
    Effect.andThen(
      printIndented(`${tool}: ${progress}/${total} ${message}`.trimEnd()),
      total > 0 && progress * 2 >= total ? Deferred.succeed(halfWay, undefined) : Effect.void
    )
  )
  yield* callTools(agent)

  yield* printText("\n5  A long call, cancelled half-way")
  yield* step("   the MCP server received the cancellation", cancelHalfWay(agent, halfWay))

  yield* changeDesktop(agent)

  const missing = yield* step("9  Errors have readable messages", call(agent, "desk", "make_coffee", {}))
  yield* printResult("desk.make_coffee", missing)
  const gone = yield* Effect.match(call(agent, "attic", "echo", {}), {
    onSuccess: formatToolResult,
    onFailure: ({ message }) => message
  })
  yield* printIndented(`attic.echo\n  → ${gone}`)

  const calls = [...(yield* desk.history), ...(yield* lab.history)].length
  return { began, calls }
})

/** Runs the demo in one process, on loopback, with real MCP servers. */
export const runDemo = Effect.fnUntraced(
  function* () {
    const { began, calls } = yield* Effect.scoped(runTour)
    const took = (yield* Clock.currentTimeMillis) - began
    yield* printText(
      `\nDone in ${seconds(took)}: 1 Server, 2 Computers, 3 MCP servers, ${calls} calls. ` +
        "Everything is closed again.\n\nContinue with three terminals: npx a2c-cli server, npx a2c-cli computer, npx a2c-cli agent. Each has --help."
    )
  },
  Effect.provideService(References.MinimumLogLevel, "Warn")
)

/** Runs the tour of an office, or an office for its page. */
export const demo = Effect.fnUntraced(function* ({ page }: { readonly page: boolean }) {
  yield* installDemoServers()
  return page ? yield* runPageDemo() : yield* runDemo()
})
