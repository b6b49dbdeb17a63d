import { Duration, Effect, Layer, type Scope, Stream } from "effect"
import { escapeForTerminal } from "../../../domain/text/escapeForTerminal.ts"
import { Agent, type AgentEvent } from "../../../application/agent/Agent.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import { agentLayer } from "../../layers/agentLayer.ts"
import { type CommandError, untilMembershipEnds } from "../../CommandFailed.ts"
import { memberConnection } from "../memberConnection.ts"
import { formatColumns, truncateLine } from "../output/format.ts"
import { printJson, printLine, printResult } from "../output/print.ts"
import { joinOptions } from "../office/joinFlags.ts"
import { explainJoinRejection } from "../office/joinRejections.ts"
import { sharedAgentLayer, shareWithCommands } from "../office/officeShare.ts"
import type * as flags from "./flags.ts"
import { explainAgentError, onlyTargetComputer, printReplies, queryComputers } from "./queries.ts"
import { formatQuantity } from "../../../application/shared/formatQuantity.ts"
import { parseAnnotations } from "../../../domain/tools/toolAnnotations.ts"
import { describeParameters, exampleArguments } from "../../../domain/schemas/describeSchema.ts"
import { quoteForShell } from "../../../domain/text/quoteForShell.ts"
import { findTool, type FoundTool } from "./findTool.ts"

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

export const listMembers = Effect.fnUntraced(function* (options: flags.AgentSharedOptions) {
  const list = yield* (yield* Agent).members
  const rows = list.map(({ name, role, version = "" }) => [role, name, version])
  yield* printResult(options, list, formatColumns(rows))
}, runAsAgent)

/** Tools that only apps call are listed with `--apps`. */
export const printTools = Effect.fnUntraced(function* (options: flags.ToolsOptions) {
  yield* printReplies(
    options,
    (computer, { getToolList, getTools }) => {
      const listing = options.apps ? Effect.map(getToolList(computer), ({ tools }) => tools) : getTools(computer)
      return Effect.map(listing, (list) => list.map((tool) => ({ computer, ...tool })))
    },
    {
      toJson: (found) => found.flat(),
      format: (found) =>
        formatColumns(
          found.flat().map(({ computer, description, name }) => [computer, name, truncateLine(description)])
        ),
      none: "no tools"
    }
  )
}, runAsAgent)

export const showDesktop = Effect.fnUntraced(function* (options: flags.DesktopOptions) {
  const { size, window } = options
  yield* printReplies(
    options,
    (computer, { getDesktop }) =>
      Effect.map(getDesktop(computer, definedOnly({ size, window })), (desktop) => ({ computer, desktop })),
    {
      toJson: (found) => found,
      format: (found) =>
        found
          .flatMap(({ computer, desktop }) => [
            `# ${escapeForTerminal(computer)}${desktop.length === 0 ? " (no windows)" : ""}`,
            ...desktop
          ])
          .join("\n\n"),
      none: ""
    }
  )
}, runAsAgent)

/** Prints configurations in their wire form, which is the form of configuration files. */
export const showConfig = Effect.fnUntraced(function* (options: flags.QueryOptions) {
  const found = yield* queryComputers(options, (name, { getConfig, member }) =>
    Effect.map(getConfig(name), (config) => [name, member.line.calls.getConfig.reply.encode(config)] as const)
  )
  yield* printJson(Object.fromEntries(found))
}, runAsAgent)

export const printResources = Effect.fnUntraced(function* (options: flags.ResourcesOptions) {
  const { mcpServer: requested } = options
  yield* printReplies(
    options,
    Effect.fnUntraced(function* (computer, agent) {
      const { servers } = yield* agent.getConfig(computer)
      const found = yield* Effect.forEach(requested === undefined ? Object.keys(servers) : [requested], (mcpServer) =>
        agent.allResources(computer, mcpServer).pipe(
          Effect.catchTag("ProtocolError", (error) =>
            requested === undefined ? Effect.succeed([]) : Effect.fail(error)
          ),
          Effect.map((list) => list.map((resource) => ({ computer, mcpServer, resource })))
        )
      )
      return found.flat()
    }),
    {
      toJson: (found) => found.flat(),
      format: (found) =>
        formatColumns(
          found
            .flat()
            .map(({ computer, mcpServer, resource: { name, uri } }) => [
              computer,
              mcpServer,
              String(uri),
              truncateLine(stringOrEmpty(name))
            ])
        ),
      none: "no resources"
    }
  )
}, runAsAgent)

export const resolveDpe = Effect.fnUntraced(function* (options: flags.DpeOptions) {
  const { getDpe } = yield* Agent
  const found = yield* getDpe(yield* onlyTargetComputer(options), options.uri)
  yield* printResult(options, found, found.uri)
}, runAsAgent)

export const printDocuments = Effect.fnUntraced(function* (options: flags.FindOptions) {
  const { fileType, keywords, limit, offset } = options
  const query = { keywords, limit, offset, ...definedOnly({ fileType }) }
  yield* printReplies(
    options,
    (computer, agent) => Effect.map(agent.findDocuments(computer, query), (page) => ({ computer, ...page })),
    {
      toJson: (found) => found,
      format: (found) =>
        formatColumns(
          found.flatMap(({ computer, documents }) =>
            documents.map(({ pageCount, title, uri }) => [
              computer,
              uri,
              formatQuantity(pageCount, "page"),
              truncateLine(title)
            ])
          )
        ),
      none: "no documents"
    }
  )
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

const formatTool = ({ computer, tool }: FoundTool, { office }: flags.ToolOptions): string => {
  const { description, meta, name, paramsSchema, returnSchema } = tool
  const title = stringOrEmpty(parseAnnotations(meta)?.["title"])
  const parameters = describeParameters(paramsSchema)
  const results = returnSchema === null ? [] : describeParameters(returnSchema)
  const example = ["a2c", "agent", "--office", office, "call", name, ...exampleArguments(paramsSchema)]
  return [
    formatColumns([["name", name], ["computer", computer], ...(title === "" ? [] : [["title", title]])]),
    ...(description === "" ? [] : [description.trim()]),
    parameters.length === 0
      ? "no parameters"
      : formatColumns([["PARAMETER", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"], ...parameters]),
    ...(results.length === 0
      ? []
      : [formatColumns([["RESULT", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"], ...results])]),
    `example:\n  ${escapeForTerminal(example.map(quoteForShell).join(" "))}`
  ].join("\n\n")
}

/** Prints one tool: name, Computer, description, parameters and an example call. */
export const showTool = Effect.fnUntraced(function* (options: flags.ToolOptions) {
  const found = yield* findTool({
    name: options.tool,
    computer: options.computer,
    timeout: Duration.seconds(options.timeout),
    awaitsServers: false
  })
  yield* printResult(options, { computer: found.computer, ...found.tool }, formatTool(found, options))
}, runAsAgent)
