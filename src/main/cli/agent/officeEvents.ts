import type { Colour } from "../../../adapters/log/colours.ts"
import type { AgentEvent } from "../../../application/agent/Agent.ts"
import { type ComputerView, type OfficeView, unknownComputer } from "../../../application/agent/OfficeView.ts"
import { formatQuantity } from "../../../application/shared/formatQuantity.ts"
import { formatSome } from "../../../domain/errorMessage.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import { describeFailure, describeStatus } from "../../../domain/page/calls/callPhase.ts"
import { formatDuration } from "../../../domain/text/format.ts"

/** A step of a call. */
interface CallStep {
  readonly computer: string
  readonly tool: string
  readonly reqId: string
}

/** What `a2c agent watch` prints. */
export type OfficeEvent =
  | AgentEvent
  | {
      readonly _tag: "ToolsChanged"
      readonly computer: string
      readonly count: number
      readonly added: ReadonlyArray<string>
      readonly removed: ReadonlyArray<string>
      readonly changed: ReadonlyArray<string>
    }
  | {
      readonly _tag: "McpServer"
      readonly computer: string
      readonly mcpServer: string
      readonly state: "starting" | "restarting" | "failing" | "ready"
      readonly reason?: string
    }
  | ({ readonly _tag: "CallStarted" } & CallStep)
  | ({ readonly _tag: "CallStatus"; readonly status: CallStatus } & CallStep)
  | ({ readonly _tag: "CallEnded"; readonly outcome: string; readonly millis: number } & CallStep)

type ServerState = Pick<Extract<OfficeEvent, { readonly _tag: "McpServer" }>, "mcpServer" | "state" | "reason">

/** The MCP servers of a Computer that are not ready. */
export const pendingServers = ({ failingServers, restartingServers, startingServers }: ComputerView) => [
  ...startingServers.map((mcpServer): ServerState => ({ mcpServer, state: "starting" })),
  ...restartingServers.map((mcpServer): ServerState => ({ mcpServer, state: "restarting" })),
  ...failingServers.map(({ name, reason }): ServerState => ({ mcpServer: name, state: "failing", reason }))
]

const serverChanges = (before: ComputerView, after: ComputerView): ReadonlyArray<ServerState> => {
  const [old, pending] = [pendingServers(before), pendingServers(after)]
  const ready = old.filter(({ mcpServer }) => !pending.some((one) => one.mcpServer === mcpServer))
  return [
    ...pending.filter(({ mcpServer, state }) => !old.some((one) => one.mcpServer === mcpServer && one.state === state)),
    ...ready.map(({ mcpServer }): ServerState => ({ mcpServer, state: "ready" }))
  ]
}

const toolChanges = (before: ComputerView, after: ComputerView) => {
  const definitions = ({ tools = [] }: ComputerView) => new Map(tools.map((tool) => [tool.name, JSON.stringify(tool)]))
  const [old, current] = [definitions(before), definitions(after)]
  return {
    count: current.size,
    added: [...current.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !current.has(name)),
    changed: [...current].flatMap(([name, text]) => (old.has(name) && old.get(name) !== text ? [name] : []))
  }
}

/** What has changed since another view. A Computer whose tools are not known yet has not changed. */
export const officeChanges = (before: OfficeView, after: OfficeView): ReadonlyArray<OfficeEvent> =>
  [...after.computers].flatMap(([computer, view]): ReadonlyArray<OfficeEvent> => {
    const old = before.computers.get(computer) ?? unknownComputer
    if (view === old || view.tools === undefined) return []
    const tools = toolChanges(old, view)
    const hasChanged = tools.added.length + tools.removed.length + tools.changed.length > 0
    return [
      ...(hasChanged ? [{ _tag: "ToolsChanged", computer, ...tools } as const] : []),
      ...serverChanges(old, view).map((one) => ({ _tag: "McpServer", computer, ...one }) as const)
    ]
  })

/** The view to compare the next one with: what is not fetched again yet stays as it was. */
export const lastKnown = (before: OfficeView, { computers, members }: OfficeView): OfficeView => ({
  members,
  computers: new Map(
    Array.from(computers, ([name, view]) => [
      name,
      view.tools === undefined ? (before.computers.get(name) ?? view) : view
    ])
  )
})

const partNames = {
  config: "configuration",
  toolList: "tools",
  desktop: "desktop",
  finder: "documents",
  skills: "skills"
}

const stateColours = { starting: "yellow", restarting: "yellow", failing: "red", ready: "green" } as const

const describeTools = ({ added, changed, count, removed }: Extract<OfficeEvent, { readonly _tag: "ToolsChanged" }>) => {
  if (added.length === count && removed.length === 0) return `offers ${formatQuantity(count, "tool")}: ${formatSome(added)}`
  const parts = Object.entries({ added, removed, changed }).filter(([, names]) => names.length > 0)
  const changes = parts.map(([what, names]) => `${what} ${formatSome(names)}`)
  return `offers ${formatQuantity(count, "tool")}: ${changes.join("; ")}`
}

/** An event in one line, and the colour of its state. */
export const describeEvent = (event: OfficeEvent): { readonly text: string; readonly colour: Colour } => {
  switch (event._tag) {
    case "Entered":
    case "Left": {
      const { name, role } = event.membership
      const hasEntered = event._tag === "Entered"
      return { text: `${role} ${name} ${hasEntered ? "entered" : "left"}`, colour: hasEntered ? "green" : "yellow" }
    }
    case "Updated":
      return { text: `${event.computer}: ${partNames[event.part]} changed`, colour: "cyan" }
    case "Cancelled":
      return { text: `agent ${event.agent} cancelled ${event.reqId}`, colour: "yellow" }
    case "Joined":
      return { text: "joined the office again", colour: "green" }
    case "Disconnected":
      return { text: `connection lost: ${event.reason}`, colour: "red" }
    case "ToolsChanged":
      return { text: `${event.computer}: ${describeTools(event)}`, colour: "cyan" }
    case "McpServer": {
      const reason = event.reason === undefined ? "" : `: ${event.reason}`
      return {
        text: `${event.computer}: MCP server ${event.mcpServer} is ${event.state}${reason}`,
        colour: stateColours[event.state]
      }
    }
    case "CallStarted":
      return { text: `${event.computer}: ${event.tool} called`, colour: "cyan" }
    case "CallStatus":
      return { text: `${event.computer}: ${event.tool} ${describeStatus(event.status)}`, colour: "yellow" }
    case "CallEnded": {
      const isOk = event.outcome === "ok"
      const end = isOk || event.outcome === "cancelled" ? event.outcome : `failed: ${describeFailure(event.outcome)}`
      return {
        text: `${event.computer}: ${event.tool} ${end}, after ${formatDuration(event.millis)}`,
        colour: isOk ? "green" : "red"
      }
    }
  }
}
