import { Cause, Clock, Duration, Effect, Exit, Match, Queue, Result, Stream } from "effect"
import type { Colour } from "../../../adapters/log/colours.ts"
import { Agent, type AgentEvent, type AgentShape } from "../../../application/agent/Agent.ts"
import { type ComputerView, type OfficeView, unknownComputer } from "../../../application/agent/OfficeView.ts"
import type { Reply } from "../../../application/ports/Transport.ts"
import { formatSome } from "../../../domain/errorMessage.ts"
import { asObject, stringOrEmpty } from "../../../domain/json.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import { describeStatus } from "../../../domain/page/calls/callPhase.ts"
import { formatDuration, formatQuantity } from "../../../domain/text/format.ts"
import { untilMembershipEnds } from "../../CommandFailed.ts"
import { HasOwnConnection, shareWithCommands } from "../office/officeShare.ts"
import { type Cell, formatColumns, formatFields } from "../output/format.ts"
import { showLive } from "../output/liveText.ts"
import { printJson, printLine, printTable } from "../output/print.ts"
import type * as flags from "./flags.ts"
import { runAsAgent, runAsSharingAgent } from "./queries.ts"

/** A change of the office as text with the colour of its state, and as JSON. */
interface Change {
  readonly text: string
  readonly colour: Colour
  readonly json: object
}

const describeEvent = Match.typeTags<AgentEvent, readonly [colour: Colour, text: string]>()({
  Entered: ({ membership: { name, role } }) => ["green", `${role} ${name} entered`],
  Left: ({ membership: { name, role } }) => ["yellow", `${role} ${name} left`],
  Updated: ({ computer, part }) => ["cyan", `${computer}: ${part === "toolList" ? "tools" : part} changed`],
  Cancelled: ({ agent, reqId }) => ["yellow", `agent ${agent} cancelled ${reqId}`],
  Joined: () => ["green", "joined the office again"],
  Disconnected: ({ reason }) => ["red", `connection lost: ${reason}`]
})

const stateColours = { starting: "yellow", restarting: "yellow", failing: "red", ready: "green" } as const

/** The MCP servers of a Computer that are not ready. */
const pendingServers = ({ failingServers, restartingServers, startingServers }: ComputerView) => [
  ...startingServers.map((mcpServer) => ({ mcpServer, state: "starting", reason: "" }) as const),
  ...restartingServers.map((mcpServer) => ({ mcpServer, state: "restarting", reason: "" }) as const),
  ...failingServers.map(({ name, reason }) => ({ mcpServer: name, state: "failing", reason }) as const)
]

const describeTools = (computer: string, before: ComputerView, after: ComputerView): ReadonlyArray<Change> => {
  const [old, current] = [before, after].map(({ tools = [] }) => tools.map(({ name }) => name)) as [string[], string[]]
  const added = current.filter((name) => !old.includes(name))
  const removed = old.filter((name) => !current.includes(name))
  if (added.length + removed.length === 0) return []
  const count = formatQuantity(current.length, "tool")
  const names = Object.entries({ added, removed }).filter(([, list]) => list.length > 0)
  const text = `${computer}: ${count}, ${names.map(([what, list]) => `${what} ${formatSome(list)}`).join("; ")}`
  return [{ text, colour: "cyan", json: { _tag: "ToolsChanged", computer, count: current.length, added, removed } }]
}

const describeServers = (computer: string, before: ComputerView, after: ComputerView): ReadonlyArray<Change> => {
  const [old, pending] = [pendingServers(before), pendingServers(after)]
  const ready = old
    .filter(({ mcpServer }) => !pending.some((one) => one.mcpServer === mcpServer))
    .map(({ mcpServer }) => ({ mcpServer, state: "ready", reason: "" }) as const)
  return [...pending, ...ready]
    .filter(({ mcpServer, state }) => !old.some((one) => one.mcpServer === mcpServer && one.state === state))
    .map((one) => ({
      text: `${computer}: MCP server ${one.mcpServer} is ${one.state}${one.reason && `: ${one.reason}`}`,
      colour: stateColours[one.state],
      json: { _tag: "McpServer", computer, ...one }
    }))
}

type OnChange = (change: Change) => Effect.Effect<unknown>

const failures: { readonly [outcome: string]: string } = {
  connection: "the connection was lost",
  timeout: "timeout",
  tool_error: "the tool returned an error"
}

/** The outcome of a call by its reply. */
const outcomeOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isFailure(exit)) return Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "connection"
  const [body] = exit.value as Reply
  const { _meta, code, isError, meta } = asObject(body && Result.getOrElse(body.value(), () => undefined))
  const { a2c_cancelled: isCancelled, a2c_timeout: isTimeout } = { ...asObject(_meta), ...asObject(meta) }
  if (isCancelled === true || isTimeout === true) return isCancelled === true ? "cancelled" : "timeout"
  return isError === true ? "tool_error" : typeof code === "number" ? String(code) : "ok"
}

/** The Agent, which reports the calls of other commands that use its connection. */
const reportCalls = ({ statuses, ...agent }: AgentShape, report: OnChange): AgentShape => {
  const listen: typeof statuses.listen = (call, running) =>
    Effect.gen(function* () {
      const { computer, onStatus, reqId, sharedCall } = call
      if (sharedCall === undefined) return yield* statuses.listen(call, running)
      const tool = stringOrEmpty(asObject(Result.getOrElse(sharedCall.head, () => undefined))["tool_name"])
      const reportStep = (colour: Colour, text: string, _tag: string, more: object = {}) =>
        report({ colour, text: `${computer}: ${tool} ${text}`, json: { _tag, computer, tool, reqId, ...more } })
      const onOwnStatus = (status: CallStatus) =>
        Effect.andThen(
          reportStep("yellow", describeStatus(status), "CallStatus", { status }),
          onStatus?.(status) ?? Effect.void
        )
      const start = yield* Clock.currentTimeMillis
      yield* reportStep("cyan", "called", "CallStarted")
      return yield* Effect.onExit(statuses.listen({ ...call, onStatus: onOwnStatus }, running), (exit) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const outcome = outcomeOf(exit)
          const end = ["ok", "cancelled"].includes(outcome)
            ? outcome
            : `failed: ${failures[outcome] ?? `error ${outcome}`}`
          const text = `${end}, after ${formatDuration(now - start)}`
          return reportStep(outcome === "ok" ? "green" : "red", text, "CallEnded", { outcome, millis: now - start })
        })
      )
    })
  return { ...agent, statuses: { ...statuses, listen } }
}

/** Lines that wait to be printed; the oldest are dropped first. */
const maxWaitingLines = 1024

/** How long the first line waits for the tools of all Computers. */
const settleTimeout = Duration.seconds(5)

const printHeader = ({ office, server }: flags.AgentSharedOptions, { computers }: OfficeView) => {
  const tools = [...computers.values()].reduce((sum, view) => sum + (view.tools?.length ?? 0), 0)
  const size = `${formatQuantity(tools, "tool")}, ${formatQuantity(computers.size, "Computer")}`
  return printLine(`watching office ${JSON.stringify(office)} on ${server} (${size}); Ctrl-C ends`)
}

/** Reports the changes of the tools and MCP servers, and first the servers that are not ready. */
const followComputers = ({ changes }: AgentShape, { computers }: OfficeView, report: OnChange) => {
  let known: OfficeView["computers"] = new Map(
    Array.from(computers, ([name, { tools }]) => [name, { ...unknownComputer, tools }])
  )
  return Stream.runForEach(changes, (view) => {
    const before = known
    const knownOf = (name: string) => before.get(name) ?? unknownComputer
    // A Computer whose tools are being fetched is as it was.
    known = new Map(Array.from(view.computers, ([name, one]) => [name, one.tools === undefined ? knownOf(name) : one]))
    const found = [...known].flatMap(([name, one]) =>
      [describeTools, describeServers].flatMap((describe) => describe(name, knownOf(name), one))
    )
    return Effect.forEach(found, report, { discard: true })
  })
}

/** Prints what changes in the office until the membership ends, and the calls that other commands make through this one. */
export const watchEvents = Effect.fnUntraced(function* (options: flags.AgentSharedOptions) {
  const lines = yield* Queue.sliding<Change & { readonly at: string }>(maxWaitingLines)
  const report: OnChange = (change) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Queue.offer(lines, { at: new Date(now).toISOString(), ...change }))
  const watch = Effect.gen(function* () {
    const agent = yield* Agent
    const events = Stream.runForEach(agent.events, (event) => {
      // The changes of the tools follow as changes of the view.
      if (!options.json && event._tag === "Updated" && event.part === "toolList") return Effect.void
      const [colour, text] = describeEvent(event)
      return report({ colour, text, json: event })
    })
    yield* Effect.forkScoped(events, { startImmediately: true })
    yield* Effect.timeoutOption(agent.settled, settleTimeout)
    const view = yield* agent.view
    if (!options.json) yield* printHeader(options, view)
    yield* Effect.forkScoped(followComputers(agent, view, report))
    const printing = Stream.runForEach(Stream.fromQueue(lines), ({ at, colour, json, text }) =>
      options.json ? printJson({ at, ...json }, true) : printTable(formatFields([[at.slice(11, 19), { text, colour }]]))
    )
    yield* Effect.raceFirst(printing, untilMembershipEnds(agent.status))
  })
  yield* runAsSharingAgent(watch, options, true, (agent) => reportCalls(agent, report))
})

/** A member, its tools, and its MCP servers that are not ready. */
const memberRow = ({ computers }: OfficeView, { name, role }: OfficeView["members"][number]): ReadonlyArray<Cell> => {
  const computer = role === "computer" ? computers.get(name) : undefined
  if (computer === undefined) return [role, name, "", ""]
  const pending = pendingServers(computer)
  const text = pending.map(({ mcpServer, state }) => `${mcpServer} ${state}`).join(", ")
  const colour = pending.some(({ state }) => state === "failing") ? "red" : "yellow"
  return [role, name, computer.tools ? formatQuantity(computer.tools.length, "tool") : "…", { text, colour }]
}

/** Shows the members of the office and their tools until the membership ends. */
export const watchMembers = Effect.fnUntraced(
  function* (options: flags.AgentSharedOptions) {
    const { changes, status } = yield* Agent
    if (yield* HasOwnConnection) yield* Effect.forkScoped(shareWithCommands(options))
    const texts = Stream.map(Stream.zipLatest(changes, status), ([view, current]) => () => {
      const rows = view.members.map((member) => memberRow(view, member))
      const table = formatColumns(rows, "no members")
      if (current._tag !== "Disconnected") return table
      return `${table}\n${formatColumns([[{ text: `connection lost: ${current.reason}`, colour: "red" }]])}`
    })
    const showing = options.json
      ? Stream.runForEach(changes, ({ members }) => printJson(members, true))
      : showLive(texts)
    yield* Effect.raceFirst(showing, untilMembershipEnds(status))
  },
  (watching, options) => runAsAgent(watching, options, true)
)
