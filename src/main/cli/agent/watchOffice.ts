import { Cause, Clock, Duration, Effect, Exit, Queue, Result, Stream } from "effect"
import { Agent, type AgentShape } from "../../../application/agent/Agent.ts"
import type { OfficeView } from "../../../application/agent/OfficeView.ts"
import { decodeHead } from "../../../application/ports/Body.ts"
import type { Reply } from "../../../application/ports/Transport.ts"
import { formatQuantity } from "../../../application/shared/formatQuantity.ts"
import { asObject } from "../../../domain/json.ts"
import { untilMembershipEnds } from "../../CommandFailed.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { HasOwnConnection, shareWithCommands } from "../office/officeShare.ts"
import { type Cell, formatColumns } from "../output/format.ts"
import { showLive } from "../output/liveText.ts"
import { printJson, printLine, printTable } from "../output/print.ts"
import type * as flags from "./flags.ts"
import { describeEvent, lastKnown, officeChanges, type OfficeEvent, pendingServers } from "./officeEvents.ts"
import { runAsAgent, runAsSharingAgent } from "./queries.ts"

type OnEvent = (event: OfficeEvent) => Effect.Effect<unknown>

/** The outcome of a call by its reply, as in `describeFailure`. */
const outcomeOf = (exit: Exit.Exit<Reply, { readonly _tag: string }>): string => {
  if (Exit.isFailure(exit)) return Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "connection"
  const reply = asObject(exit.value[0] && Result.getOrElse(exit.value[0].value(), () => undefined))
  const { a2c_cancelled: cancelled, a2c_timeout: timeout } = { ...asObject(reply["_meta"]), ...asObject(reply["meta"]) }
  if (cancelled === true) return "cancelled"
  if (timeout === true) return "timeout"
  return reply["isError"] === true ? "tool_error" : typeof reply["code"] === "number" ? String(reply["code"]) : "ok"
}

/** The Agent, whose calls for other commands are reported. */
const reportCalls = (agent: AgentShape, report: OnEvent): AgentShape => {
  const { member, statuses } = agent
  const { toolCall } = member.line.calls
  const tools = new Map<string, string>()
  const request: typeof member.request = (event, body, ...rest) => {
    const running = member.request(event, body, ...rest)
    if (event !== toolCall.event) return running
    const call = decodeHead(body, toolCall.request.decode)
    if (Result.isFailure(call)) return running
    const { computer, reqId, toolName: tool } = call.success
    const step = { computer, tool, reqId }
    tools.set(reqId, tool)
    return Effect.gen(function* () {
      const start = yield* Clock.currentTimeMillis
      yield* report({ _tag: "CallStarted", ...step })
      return yield* Effect.onExit(running, (exit) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          tools.delete(reqId)
          return report({ _tag: "CallEnded", ...step, outcome: outcomeOf(exit), millis: now - start })
        })
      )
    })
  }
  const listen: typeof statuses.listen = (call, running) => {
    const { computer, onStatus, reqId } = call
    return statuses.listen(
      {
        ...call,
        onStatus: (status) =>
          Effect.andThen(
            report({ _tag: "CallStatus", computer, reqId, tool: tools.get(reqId) ?? "", status }),
            onStatus?.(status) ?? Effect.void
          )
      },
      running
    )
  }
  return { ...agent, member: { ...member, request }, statuses: { ...statuses, listen } }
}

/** Events that wait to be printed; the oldest are dropped first. */
const maxWaitingEvents = 1024

/** How long the first line waits for the tools of all Computers. */
const settleTimeout = Duration.seconds(5)

const printHeader = ({ office, server }: flags.AgentSharedOptions, { computers }: OfficeView) => {
  const tools = [...computers.values()].reduce((sum, view) => sum + (view.tools?.length ?? 0), 0)
  const size = `${formatQuantity(tools, "tool")}, ${formatQuantity(computers.size, "Computer")}`
  return printLine(`watching office ${JSON.stringify(office)} on ${server} (${size}); Ctrl-C ends`)
}

/**
 * Prints the events of the office, one per line, until the membership ends: members, tools and MCP servers of Computers, and the
 * calls that other commands make through this one.
 */
export const watchEvents = Effect.fnUntraced(function* (options: flags.AgentSharedOptions) {
  const { json } = options
  const queue = yield* Queue.sliding<OfficeEvent & { readonly at: string }>(maxWaitingEvents)
  const report: OnEvent = (event) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Queue.offer(queue, { at: new Date(now).toISOString(), ...event }))
  const follow = <A>(stream: Stream.Stream<A>, onItem: (item: A) => Effect.Effect<unknown>) =>
    Effect.forkScoped(Stream.runForEach(stream, onItem), { startImmediately: true })

  const watch = Effect.gen(function* () {
    const agent = yield* Agent
    yield* follow(agent.events, report)
    yield* Effect.timeoutOption(agent.settled, settleTimeout)
    let known = yield* agent.view
    if (!json) yield* printHeader(options, known)
    for (const change of officeChanges({ ...known, computers: new Map() }, known)) {
      if (change._tag === "McpServer") yield* report(change)
    }
    yield* follow(agent.changes, (view) => {
      const changes = officeChanges(known, view)
      known = lastKnown(known, view)
      return Effect.forEach(changes, report, { discard: true })
    })
    const printing = Stream.runForEach(Stream.fromQueue(queue), (event) => {
      if (json) return printJson(event, true)
      // The changes of the tools follow.
      if (event._tag === "Updated" && event.part === "toolList") return Effect.void
      const { colour, text } = describeEvent(event)
      return printTable(
        formatColumns([
          [
            { text: event.at.slice(11, 19), colour: "dim" },
            { text, colour }
          ]
        ])
      )
    })
    yield* Effect.raceFirst(printing, untilMembershipEnds(agent.status))
  })
  yield* runAsSharingAgent(watch, options, true, (agent) => reportCalls(agent, report))
})

type Member = OfficeView["members"][number]

/** A member, the number of its tools, and its MCP servers that are not ready. */
const memberState = ({ computers }: OfficeView, member: Member) => {
  const computer = member.role === "computer" ? computers.get(member.name) : undefined
  return computer === undefined
    ? member
    : { ...member, ...definedOnly({ tools: computer.tools?.length }), mcpServers: pendingServers(computer) }
}

const memberRow = (state: ReturnType<typeof memberState>): ReadonlyArray<Cell> => {
  const { name, role } = state
  if (!("mcpServers" in state)) return [role, name, "", ""]
  const { mcpServers, tools } = state
  return [
    role,
    name,
    tools === undefined ? "…" : formatQuantity(tools, "tool"),
    {
      text: mcpServers.map(({ mcpServer, state: now }) => `${mcpServer} ${now}`).join(", "),
      colour: mcpServers.some(({ state: now }) => now === "failing") ? "red" : "yellow"
    }
  ]
}

/** Shows the members of the office, their tools, and MCP servers that are not ready, until the membership ends. */
export const watchMembers = Effect.fnUntraced(function* (options: flags.AgentSharedOptions) {
  const { changes, status } = yield* Agent
  if (yield* HasOwnConnection) yield* Effect.forkScoped(shareWithCommands(options))
  const states = Stream.map(changes, (view) => view.members.map((member) => memberState(view, member)))
  const texts = Stream.map(Stream.zipLatest(states, status), ([members, current]) => () => {
    const table = formatColumns(members.map(memberRow), "no members")
    if (current._tag !== "Disconnected") return table
    return `${table}\n${formatColumns([[{ text: `connection lost: ${current.reason}`, colour: "red" }]])}`
  })
  const showing = options.json ? Stream.runForEach(states, (members) => printJson(members, true)) : showLive(texts)
  yield* Effect.raceFirst(showing, untilMembershipEnds(status))
}, runAsAgent)
