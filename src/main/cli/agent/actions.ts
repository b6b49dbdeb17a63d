import { Console, Effect, Layer, type Scope, Stream } from "effect"
import { Agent, type AgentEvent } from "../../../application/agent/Agent.ts"
import type { AgentError } from "../../../application/agent/AgentRequests.ts"
import type { AmbiguousTool } from "../../../application/agent/OfficeView.ts"
import { definedOnly } from "../../../domain/definedOnly.ts"
import { type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import { agentLayer } from "../../layers/agentLayer.ts"
import { CommandFailed, failCommand, toCommandFailed, untilMembershipEnds } from "../CommandFailed.ts"
import { memberToken } from "../memberToken.ts"
import { formatColumns, formatJson, truncateLine } from "../output.ts"
import { printToolResult } from "../toolCalls.ts"
import type {
  AgentSharedOptions,
  CallOptions,
  ComputerOption,
  DesktopOptions,
  DpeOptions,
  FindOptions,
  ResourcesOptions
} from "./flags.ts"

/** The work of a command, done as a member of the office. */
type AgentAction<R = never> = Effect.Effect<void, AgentError | AmbiguousTool | CommandFailed, Agent | R>

const explainAgentError = (error: AgentError | AmbiguousTool | CommandFailed): CommandFailed => {
  if (error._tag === "AmbiguousTool" && error.owners.length > 0) {
    const choice = `choose one by --computer ${error.owners.join("|")}`
    return new CommandFailed({ message: `Several Computers have a tool '${error.tool}': ${choice}` })
  }
  return error._tag === "ProtocolError"
    ? new CommandFailed({ message: `${error.message} (${error.code})` })
    : toCommandFailed(error)
}

/**
 * Joins the office, acts and leaves. With `retryInitialConnect` an unreachable Server is retried, for commands that run
 * until they are stopped; without it the command fails.
 */
export const runAsAgent = (
  shared: AgentSharedOptions,
  action: AgentAction<Scope.Scope>,
  retryInitialConnect = false
): Effect.Effect<void, CommandFailed> =>
  Effect.scoped(
    Effect.provide(Effect.mapError(action, explainAgentError), agentLayerFor(shared, retryInitialConnect))
  ).pipe(Effect.mapError(toCommandFailed))

const agentLayerFor = ({ name, office, server, tokenFile }: AgentSharedOptions, retryInitialConnect: boolean) =>
  Layer.unwrap(
    Effect.map(memberToken(tokenFile), (token) =>
      agentLayer({ url: server, office, name, retryInitialConnect, ...token })
    )
  )

const print = (shared: AgentSharedOptions, value: unknown, text: string) =>
  Console.log(shared.json ? formatJson(value) : text)

/** The Computers of the office, or the requested one, once the view of the office is complete. */
const targetComputers = Effect.fnUntraced(function* ({ computer }: ComputerOption) {
  const { settled, view } = yield* Agent
  yield* settled
  const names = [...(yield* view).computers.keys()]
  if (computer === undefined) return names.length === 0 ? yield* failCommand("No Computer is in this office") : names
  if (names.includes(computer)) return [computer]
  const present = names.length === 0 ? "" : `; there are ${names.join(", ")}`
  return yield* failCommand(`No Computer '${computer}' is in this office${present}`)
})

/** Queries every Computer that the command addresses. */
const forEachComputer = <A, E, R>(
  option: ComputerOption,
  query: (computer: string, agent: Agent["Service"]) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const agent = yield* Agent
    return yield* Effect.forEach(yield* targetComputers(option), (name) => query(name, agent))
  })

export const listMembers = (shared: AgentSharedOptions): AgentAction =>
  Effect.gen(function* () {
    const list = yield* (yield* Agent).members
    const rows = list.map(({ name, role, version = "" }) => [role, name, version])
    yield* print(shared, list, formatColumns(rows))
  })

export const listTools = (shared: AgentSharedOptions, option: ComputerOption): AgentAction =>
  Effect.gen(function* () {
    const found = yield* forEachComputer(option, (computer, agent) =>
      Effect.map(agent.getTools(computer), (list) => list.map((tool) => ({ computer, ...tool })))
    )
    const rows = found.flat().map(({ computer, description, name }) => [computer, name, truncateLine(description)])
    yield* print(shared, found.flat(), rows.length === 0 ? "no tools" : formatColumns(rows))
  })

export const callTool = (
  shared: AgentSharedOptions,
  { computer, params, timeout, tool }: CallOptions & { readonly params: JsonObject }
): AgentAction =>
  Effect.gen(function* () {
    const { callTool: call } = yield* Agent
    const result = yield* call({ computer, tool, params, timeout })
    yield* printToolResult(result, result, shared)
  })

export const showDesktop = (shared: AgentSharedOptions, { size, window, ...option }: DesktopOptions): AgentAction =>
  Effect.gen(function* () {
    const found = yield* forEachComputer(option, (computer, { getDesktop }) =>
      Effect.map(getDesktop(computer, definedOnly({ size, window })), (desktop) => ({ computer, desktop }))
    )
    const text = found.flatMap(({ computer, desktop }) => [
      `# ${computer}${desktop.length === 0 ? " (no windows)" : ""}`,
      ...desktop
    ])
    yield* print(shared, found, text.join("\n\n"))
  })

/** Prints configurations in their wire form, which is the form of configuration files. */
export const showConfig = (_shared: AgentSharedOptions, option: ComputerOption): AgentAction =>
  Effect.gen(function* () {
    const found = yield* forEachComputer(option, (name, { getConfig, member }) =>
      Effect.map(getConfig(name), (config) => [name, member.line.calls.getConfig.reply.encode(config)] as const)
    )
    yield* Console.log(formatJson(Object.fromEntries(found)))
  })

export const listResources = (
  shared: AgentSharedOptions,
  { mcpServer: requested, ...option }: ResourcesOptions
): AgentAction =>
  Effect.gen(function* () {
    const found = yield* forEachComputer(option, (computer, agent) =>
      Effect.gen(function* () {
        const { servers } = yield* agent.getConfig(computer)
        const names = requested === undefined ? Object.keys(servers) : [requested]
        return yield* Effect.forEach(names, (mcpServer) =>
          Effect.map(
            Effect.catchTag(agent.allResources(computer, mcpServer), "ProtocolError", (error) =>
              requested === undefined ? Effect.succeed([]) : Effect.fail(error)
            ),
            (list) => list.map((resource) => ({ computer, mcpServer, resource }))
          )
        )
      })
    )
    const rows = found
      .flat(2)
      .map(({ computer, mcpServer, resource }) => [
        computer,
        mcpServer,
        String(resource["uri"]),
        truncateLine(stringOrEmpty(resource["name"]))
      ])
    yield* print(shared, found.flat(2), rows.length === 0 ? "no resources" : formatColumns(rows))
  })

export const resolveDpe = (shared: AgentSharedOptions, { uri, ...option }: DpeOptions): AgentAction =>
  Effect.gen(function* () {
    const { getDpe } = yield* Agent
    const [computer, ...others] = yield* targetComputers(option)
    if (computer === undefined || others.length > 0) {
      return yield* failCommand("Several Computers are in this office: choose one by --computer")
    }
    const found = yield* getDpe(computer, uri)
    yield* print(shared, found, found.uri)
  })

export const findDocuments = (
  shared: AgentSharedOptions,
  { computer: requested, fileType, ...query }: FindOptions
): AgentAction =>
  Effect.gen(function* () {
    const found = yield* forEachComputer({ computer: requested }, (computer, agent) =>
      Effect.map(agent.findDocuments(computer, { ...query, ...definedOnly({ fileType }) }), (page) => ({
        computer,
        ...page
      }))
    )
    const rows = found.flatMap(({ computer, documents }) =>
      documents.map(({ pageCount, title, uri }) => [computer, uri, `${pageCount} pages`, truncateLine(title)])
    )
    yield* print(shared, found, rows.length === 0 ? "no documents" : formatColumns(rows))
  })

const describeEvent = (event: AgentEvent): string => {
  switch (event._tag) {
    case "Entered":
    case "Left":
      return `${event.membership.role} ${event.membership.name} ${event._tag === "Entered" ? "entered" : "left"}`
    case "Updated":
      return `computer ${event.computer} updated its ${event.part === "toolList" ? "tools" : event.part}`
    case "Cancelled":
      return `agent ${event.agent} cancelled ${event.reqId}`
    case "Joined":
      return "joined the office"
    case "Disconnected":
      return `connection lost: ${event.reason}`
  }
}

/** Prints the events of the office, one per line, until the membership ends. */
export const watchEvents = (shared: AgentSharedOptions): AgentAction =>
  Effect.flatMap(Agent, ({ events, status }) =>
    Effect.raceFirst(
      Stream.runForEach(events, (event) => Console.log(shared.json ? JSON.stringify(event) : describeEvent(event))),
      untilMembershipEnds(status)
    )
  )
