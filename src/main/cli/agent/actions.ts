import { Effect, Layer, type Scope, Stream } from "effect"
import { escapeForTerminal } from "../../../adapters/log/escapeForTerminal.ts"
import { Agent, type AgentEvent } from "../../../application/agent/Agent.ts"
import { AmbiguousTool } from "../../../application/agent/OfficeView.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { agentLayer } from "../../layers/agentLayer.ts"
import { ownCodes } from "../../promise/A2cError.ts"
import {
  type CommandError,
  CommandFailed,
  failCommand,
  toCommandFailed,
  untilMembershipEnds
} from "../CommandFailed.ts"
import { memberConnection } from "../memberConnection.ts"
import { formatColumns, truncateLine } from "../output/format.ts"
import { printJson, printLine, printResult, reportFailure } from "../output/print.ts"
import { joinOptions } from "../office/joinFlags.ts"
import { explainJoinRejection } from "../office/joinRejections.ts"
import { sharedAgentLayer, shareWithCommands } from "../office/officeShare.ts"
import type * as flags from "./flags.ts"
import { formatQuantity } from "../../../application/shared/formatQuantity.ts"
import { formatSome } from "../../../domain/errorMessage.ts"

const explainAgentError = (error: CommandError): CommandFailed => {
  if (error instanceof AmbiguousTool && error.owners.length > 0) {
    const choice = `choose one by --computer ${error.owners.join("|")}`
    return new CommandFailed({
      message: `Several Computers have a tool '${error.tool}': ${choice}`,
      code: ownCodes.AmbiguousTool
    })
  }
  return error instanceof ProtocolError
    ? new CommandFailed({ message: `${error.message} (${error.code})`, code: error.code })
    : toCommandFailed(error)
}

const runWithAgent = <E extends CommandError, E2, R>(
  action: Effect.Effect<void, E, Agent | Scope.Scope>,
  layer: Layer.Layer<Agent, E2, R>
) =>
  Effect.mapError(action, explainAgentError).pipe(Effect.provide(layer), explainJoinRejection("agent"), Effect.scoped)

const joiningLayer = (
  { name, office, server, tlsCa, tokenFile, ...terms }: flags.AgentSharedOptions,
  retryInitialConnect: boolean
) =>
  Layer.unwrap(
    Effect.map(memberConnection({ tlsCa, tokenFile }), (connection) =>
      agentLayer({ url: server, office, name, retryInitialConnect, ...joinOptions(terms), ...connection })
    )
  )

/** Acts through the connection of another command with the same identity; without one it joins, acts and leaves. */
export const runAsAgent = <E extends CommandError>(
  action: Effect.Effect<void, E, Agent | Scope.Scope>,
  options: flags.AgentSharedOptions
) => {
  const joining = joiningLayer(options, false)
  return runWithAgent(action, options.takeOver ? joining : sharedAgentLayer(options, joining))
}

/**
 * Joins the office, acts until it is stopped, and leaves. Meanwhile other commands may use its connection. With
 * `retryInitialConnect` an unreachable Server is retried; without it the command fails.
 */
export const runAsSharingAgent = <E extends CommandError>(
  action: Effect.Effect<void, E, Agent | Scope.Scope>,
  options: flags.AgentSharedOptions,
  retryInitialConnect: boolean
) => {
  // In the background: the action must not miss events that follow the join.
  const sharing = Effect.forkScoped(shareWithCommands(options))
  return runWithAgent(Effect.andThen(sharing, action), joiningLayer(options, retryInitialConnect))
}

/** The Computers of the office, or the requested one. */
export const targetComputers = Effect.fnUntraced(function* ({ computer }: flags.TargetComputerOptions) {
  const members = yield* (yield* Agent).members
  const names = members.filter(({ role }) => role === "computer").map(({ name }) => name)
  if (computer === undefined) return names.length === 0 ? yield* failCommand("No Computer is in this office") : names
  if (names.includes(computer)) return [computer]
  const present = names.length === 0 ? "" : `; there are ${formatSome(names)}`
  return yield* failCommand(`No Computer '${computer}' is in this office${present}`)
})

/** Requests of one command that are open at the same time: a Computer that hangs delays no other. */
const maxConcurrentQueries = 16

/**
 * Queries the Computers of the office, or the requested one. A Computer that fails is reported, and left out of the results;
 * the command fails when all of them do.
 */
export const forEachComputer = Effect.fnUntraced(function* <A, E extends CommandError, R>(
  options: flags.TargetComputerOptions,
  query: (computer: string, agent: Agent["Service"]) => Effect.Effect<A, E, R>
) {
  const agent = yield* Agent
  const names = yield* targetComputers(options)
  const [results, failures] = yield* Effect.partition(
    names,
    (name) => Effect.mapError(query(name, agent), (error) => ({ name, error })),
    { concurrency: maxConcurrentQueries }
  )
  const [first] = failures
  if (first !== undefined && names.length === 1) return yield* Effect.fail(first.error)
  const explained = failures.map(({ error, name }) => {
    const { message, ...details } = explainAgentError(error)
    return new CommandFailed({ ...details, message: `Computer '${name}': ${message}` })
  })
  const [failed] = explained
  if (failed !== undefined && results.length === 0) {
    return yield* new CommandFailed({ ...failed, message: explained.map(({ message }) => message).join("\n") })
  }
  yield* Effect.forEach(explained, (one) => reportFailure(one, options.json), { discard: true })
  return results
})

export const listMembers = Effect.fnUntraced(function* (options: flags.AgentSharedOptions) {
  const list = yield* (yield* Agent).members
  const rows = list.map(({ name, role, version = "" }) => [role, name, version])
  yield* printResult(options, list, formatColumns(rows))
}, runAsAgent)

/** Tools that only apps call are listed with `--apps`. */
export const printTools = Effect.fnUntraced(function* (options: flags.ToolsOptions) {
  const found = yield* forEachComputer(options, (computer, { getToolList, getTools }) => {
    const listing = options.apps ? Effect.map(getToolList(computer), ({ tools }) => tools) : getTools(computer)
    return Effect.map(listing, (list) => list.map((tool) => ({ computer, ...tool })))
  })
  const rows = found.flat().map(({ computer, description, name }) => [computer, name, truncateLine(description)])
  yield* printResult(options, found.flat(), rows.length === 0 ? "no tools" : formatColumns(rows))
}, runAsAgent)

export const showDesktop = Effect.fnUntraced(function* (options: flags.DesktopOptions) {
  const { size, window } = options
  const found = yield* forEachComputer(options, (computer, { getDesktop }) =>
    Effect.map(getDesktop(computer, definedOnly({ size, window })), (desktop) => ({ computer, desktop }))
  )
  const text = found.flatMap(({ computer, desktop }) => [
    `# ${escapeForTerminal(computer)}${desktop.length === 0 ? " (no windows)" : ""}`,
    ...desktop
  ])
  yield* printResult(options, found, text.join("\n\n"))
}, runAsAgent)

/** Prints configurations in their wire form, which is the form of configuration files. */
export const showConfig = Effect.fnUntraced(function* (options: flags.TargetComputerOptions) {
  const found = yield* forEachComputer(options, (name, { getConfig, member }) =>
    Effect.map(getConfig(name), (config) => [name, member.line.calls.getConfig.reply.encode(config)] as const)
  )
  yield* printJson(Object.fromEntries(found))
}, runAsAgent)

export const printResources = Effect.fnUntraced(function* (options: flags.ResourcesOptions) {
  const { mcpServer: requested } = options
  const found = yield* forEachComputer(
    options,
    Effect.fnUntraced(function* (computer, agent) {
      const { servers } = yield* agent.getConfig(computer)
      return yield* Effect.forEach(requested === undefined ? Object.keys(servers) : [requested], (mcpServer) =>
        agent.allResources(computer, mcpServer).pipe(
          Effect.catchTag("ProtocolError", (error) =>
            requested === undefined ? Effect.succeed([]) : Effect.fail(error)
          ),
          Effect.map((list) => list.map((resource) => ({ computer, mcpServer, resource })))
        )
      )
    })
  )
  const resources = found.flat(2)
  const rows = resources.map(({ computer, mcpServer, resource: { name, uri } }) => [
    computer,
    mcpServer,
    String(uri),
    truncateLine(stringOrEmpty(name))
  ])
  yield* printResult(options, resources, rows.length === 0 ? "no resources" : formatColumns(rows))
}, runAsAgent)

export const resolveDpe = Effect.fnUntraced(function* (options: flags.DpeOptions) {
  const { getDpe } = yield* Agent
  const [computer, ...others] = yield* targetComputers(options)
  if (computer === undefined || others.length > 0) {
    return yield* failCommand("Several Computers are in this office: choose one by --computer")
  }
  const found = yield* getDpe(computer, options.uri)
  yield* printResult(options, found, found.uri)
}, runAsAgent)

export const printDocuments = Effect.fnUntraced(function* (options: flags.FindOptions) {
  const { fileType, keywords, limit, offset } = options
  const query = { keywords, limit, offset, ...definedOnly({ fileType }) }
  const found = yield* forEachComputer(options, (computer, agent) =>
    Effect.map(agent.findDocuments(computer, query), (page) => ({ computer, ...page }))
  )
  const rows = found.flatMap(({ computer, documents }) =>
    documents.map(({ pageCount, title, uri }) => [
      computer,
      uri,
      formatQuantity(pageCount, "page"),
      truncateLine(title)
    ])
  )
  yield* printResult(options, found, rows.length === 0 ? "no documents" : formatColumns(rows))
}, runAsAgent)

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
export const watchEvents = Effect.fnUntraced(
  function* ({ json }: flags.AgentSharedOptions) {
    const { events, status } = yield* Agent
    yield* Effect.raceFirst(
      Stream.runForEach(events, (event) => (json ? printJson(event, true) : printLine(describeEvent(event)))),
      untilMembershipEnds(status)
    )
  },
  (action, options) => runAsSharingAgent(action, options, true)
)
