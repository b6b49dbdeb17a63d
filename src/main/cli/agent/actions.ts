import { Console, Effect, Layer, Option, type Scope, Stream } from "effect"
import { Agent, type AgentEvent } from "../../../application/agent/Agent.ts"
import type { AgentError } from "../../../application/agent/AgentRequests.ts"
import type { AmbiguousTool } from "../../../application/agent/findToolOwner.ts"
import type { OfficeView } from "../../../application/agent/OfficeView.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { CommandFailed, toCommandFailed, failCommand, untilMembershipEnds } from "../CommandFailed.ts"
import { agentLayer } from "../../layers/computerLayer.ts"
import { memberToken } from "../memberToken.ts"
import { truncateLine, formatColumns, formatJson, formatToolResult } from "../output.ts"

/** What every command of an Agent is told. */
export interface AgentSharedOptions {
  readonly server: string
  readonly office: string
  readonly name: string
  readonly tokenFile: Option.Option<string>
  readonly json: boolean
}

/** A command of an Agent: what it does once it sits in the office. */
type AgentAction<R = never> = Effect.Effect<void, AgentError | AmbiguousTool | CommandFailed, Agent | R>

const explainAgentError = (error: AgentError | AmbiguousTool | CommandFailed): CommandFailed => {
  if (error._tag === "CommandFailed") return error
  if (error._tag === "AmbiguousTool" && error.owners.length > 0) {
    const choice = `choose one by --computer ${error.owners.join("|")}`
    return new CommandFailed({ message: `Several Computers have a tool '${error.tool}': ${choice}` })
  }
  return new CommandFailed({
    message: error._tag === "Refusal" ? `${error.message} (${error.code})` : error.message
  })
}

/**
 * Joins, acts, and leaves. A command that somebody waits for fails when it cannot join; one that runs until it is told
 * to stop is `patient` and goes on trying.
 */
export const runAsAgent = (
  shared: AgentSharedOptions,
  action: AgentAction<Scope.Scope>,
  retryInitialConnect = false
): Effect.Effect<void, CommandFailed> =>
  Effect.scoped(
    Effect.provide(Effect.mapError(action, explainAgentError), agentLayerFor(shared, retryInitialConnect))
  ).pipe(Effect.mapError((error) => (error._tag === "CommandFailed" ? error : toCommandFailed(error))))

const agentLayerFor = (
  { name, office, server, tokenFile }: AgentSharedOptions,
  retryInitialConnect: boolean
) =>
  Layer.unwrap(
    Effect.map(memberToken(tokenFile), (token) =>
      agentLayer({ url: server, office, name, retryInitialConnect, ...token })
    )
  )

const print = (shared: AgentSharedOptions, value: unknown, text: string) =>
  Console.log(shared.json ? formatJson(value) : text)

/** The view once everything about the Computers that are here has been fetched. */
const settledView = Effect.gen(function* () {
  const agent = yield* Agent
  yield* agent.settled
  return yield* agent.view
})

/** The Computers of the office, or the one that was asked for. */
const targetComputers = Effect.fnUntraced(function* (requested: Option.Option<string>) {
  const { computers: allComputers } = yield* settledView
  if (Option.isNone(requested)) {
    return allComputers.size === 0
      ? yield* failCommand("No Computer is in this office")
      : [...allComputers.keys()]
  }
  return allComputers.has(requested.value)
    ? [requested.value]
    : yield* failCommand(`No Computer '${requested.value}' is in this office${formatPresent(allComputers)}`)
})

const formatPresent = (allComputers: OfficeView["computers"]): string =>
  allComputers.size === 0 ? "" : `; there are ${[...allComputers.keys()].join(", ")}`

export const listMembers = (shared: AgentSharedOptions): AgentAction =>
  Effect.gen(function* () {
    const list = yield* (yield* Agent).members
    const rows = list.map(({ name, role, version = "" }) => [role, name, version])
    yield* print(shared, list, formatColumns(rows))
  })

export const listTools = (shared: AgentSharedOptions, computer: Option.Option<string>): AgentAction =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const found = yield* Effect.forEach(yield* targetComputers(computer), (name) =>
      Effect.map(agent.getTools(name), (list) => list.map((tool) => ({ computer: name, ...tool })))
    )
    const rows = found
      .flat()
      .map(({ computer: name, description, name: tool }) => [name, tool, truncateLine(description)])
    yield* print(shared, found.flat(), rows.length === 0 ? "no tools" : formatColumns(rows))
  })

/** The arguments of a tool: a JSON object. */
export const parseToolArguments = (text: string): Effect.Effect<JsonObject, CommandFailed> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => new CommandFailed({ message: "--args is not JSON" })
  }).pipe(Effect.filterOrFail(isJsonObject, () => new CommandFailed({ message: "--args is no JSON object" })))

/** What the process exits with when the tool itself failed. */
const toolFailedExitCode = 2

export const callTool = (
  shared: AgentSharedOptions,
  request: {
    readonly tool: string
    readonly computer: Option.Option<string>
    readonly params: JsonObject
    readonly timeout: number
  }
): AgentAction =>
  Effect.gen(function* () {
    const { params, timeout, tool } = request
    const agent = yield* Agent
    const computer = Option.getOrUndefined(request.computer)
    const result = yield* agent.callTool({ computer, tool, params, timeout })
    if (shared.json) yield* Console.log(formatJson(result))
    if (result.isError) {
      return yield* new CommandFailed({
        message: formatToolResult(result) || "The tool failed",
        exitCode: toolFailedExitCode
      })
    }
    if (!shared.json) yield* Console.log(formatToolResult(result))
  })

export const showDesktop = (
  shared: AgentSharedOptions,
  request: {
    readonly computer: Option.Option<string>
    readonly size: Option.Option<number>
    readonly window: Option.Option<string>
  }
): AgentAction =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const options = {
      ...(Option.isSome(request.size) && { size: request.size.value }),
      ...(Option.isSome(request.window) && { window: request.window.value })
    }
    const found = yield* Effect.forEach(yield* targetComputers(request.computer), (computer) =>
      Effect.map(agent.getDesktop(computer, options), (entries) => ({ computer, desktop: entries }))
    )
    const text = found.flatMap(({ computer, desktop: entries }) => [
      `# ${computer}${entries.length === 0 ? " (no windows)" : ""}`,
      ...entries
    ])
    yield* print(shared, found, text.join("\n\n"))
  })

/** Prints configurations as they stand on the wire: in the words people know from their files. */
export const showConfig = (computer: Option.Option<string>): AgentAction =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const { encode } = agent.member.line.calls.getConfig.reply
    const found = yield* Effect.forEach(yield* targetComputers(computer), (name) =>
      Effect.map(agent.getConfig(name), (given) => [name, encode(given)] as const)
    )
    yield* Console.log(formatJson(Object.fromEntries(found)))
  })

export const listResources = (
  shared: AgentSharedOptions,
  request: { readonly computer: Option.Option<string>; readonly mcpServer: Option.Option<string> }
): AgentAction =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const found = yield* Effect.forEach(yield* targetComputers(request.computer), (computer) =>
      Effect.gen(function* () {
        const configured = (yield* agent.getConfig(computer)).servers
        const names = Option.match(request.mcpServer, {
          onNone: () => Object.keys(configured),
          onSome: (name) => [name]
        })
        return yield* Effect.forEach(names, (mcpServer) =>
          Effect.map(
            Effect.catchTag(agent.allResources(computer, mcpServer), "Refusal", (error) =>
              Option.isSome(request.mcpServer) ? Effect.fail(error) : Effect.succeed([])
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
        truncateLine(typeof resource["name"] === "string" ? resource["name"] : "")
      ])
    yield* print(shared, found.flat(2), rows.length === 0 ? "no resources" : formatColumns(rows))
  })

export const resolveDpe = (
  shared: AgentSharedOptions,
  request: { readonly uri: string; readonly computer: Option.Option<string> }
): AgentAction =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const [computer, ...others] = yield* targetComputers(request.computer)
    if (computer === undefined || others.length > 0) {
      return yield* failCommand("Several Computers are in this office: choose one by --computer")
    }
    const found = yield* agent.getDpe(computer, request.uri)
    yield* print(shared, found, found.uri)
  })

export const findDocuments = (
  shared: AgentSharedOptions,
  request: {
    readonly keywords: ReadonlyArray<string>
    readonly computer: Option.Option<string>
    readonly fileType: Option.Option<string>
    readonly limit: number
    readonly offset: number
  }
): AgentAction =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const { keywords, limit, offset } = request
    const found = yield* Effect.forEach(yield* targetComputers(request.computer), (computer) =>
      Effect.map(
        agent.findDocuments(computer, {
          keywords,
          limit,
          offset,
          ...(Option.isSome(request.fileType) && { fileType: request.fileType.value })
        }),
        (page) => ({ computer, ...page })
      )
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

/** Prints what happens in the office, a line each, until it is told to stop. */
export const watchEvents = (shared: AgentSharedOptions): AgentAction =>
  Effect.flatMap(Agent, ({ events, status }) =>
    Effect.raceFirst(
      Stream.runForEach(events, (event) =>
        Console.log(shared.json ? JSON.stringify(event) : describeEvent(event))
      ),
      untilMembershipEnds(status)
    )
  )
