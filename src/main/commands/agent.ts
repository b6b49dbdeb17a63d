import { Console, Effect, Layer, Option, type Scope, Stream } from "effect"
import { Agent, type AgentEvent } from "../../application/agent/Agent.ts"
import type { AgentError } from "../../application/agent/AgentRequests.ts"
import type { OwnerUnclear } from "../../application/agent/ToolOwner.ts"
import type { OfficeView } from "../../application/agent/OfficeView.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { CommandFailed, failed, refuse, untilEnded } from "../failure.ts"
import { agentLayer } from "../layers.ts"
import { memberToken } from "./memberToken.ts"
import { brief, columns, json, showResult } from "./show.ts"

/** What every command of an Agent is told. */
export interface AgentPlace {
  readonly server: string
  readonly office: string
  readonly name: string
  readonly tokenFile: Option.Option<string>
  readonly json: boolean
}

/** A command of an Agent: what it does once it sits in the office. */
type Act<R = never> = Effect.Effect<void, AgentError | OwnerUnclear | CommandFailed, Agent | R>

const explain = (error: AgentError | OwnerUnclear | CommandFailed): CommandFailed => {
  if (error._tag === "CommandFailed") return error
  if (error._tag === "OwnerUnclear" && error.owners.length > 0) {
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
export const asAgent = (
  place: AgentPlace,
  act: Act<Scope.Scope>,
  patient = false
): Effect.Effect<void, CommandFailed> =>
  Effect.scoped(Effect.provide(Effect.mapError(act, explain), agentIn(place, patient))).pipe(
    Effect.mapError((error) => (error._tag === "CommandFailed" ? error : failed(error)))
  )

const agentIn = ({ name, office, server, tokenFile }: AgentPlace, patient: boolean) =>
  Layer.unwrap(
    Effect.map(memberToken(tokenFile), (token) =>
      agentLayer({ url: server, office, name, patient, ...token })
    )
  )

const print = (place: AgentPlace, value: unknown, text: string) =>
  Console.log(place.json ? json(value) : text)

/** The view once everything about the Computers that are here has been fetched. */
const settledView = Effect.gen(function* () {
  const agent = yield* Agent
  yield* agent.settled
  return yield* agent.view
})

/** The Computers of the office, or the one that was asked for. */
const computers = Effect.fnUntraced(function* (wanted: Option.Option<string>) {
  const { computers: all } = yield* settledView
  if (Option.isNone(wanted)) {
    return all.size === 0 ? yield* refuse("No Computer is in this office") : [...all.keys()]
  }
  return all.has(wanted.value)
    ? [wanted.value]
    : yield* refuse(`No Computer '${wanted.value}' is in this office${present(all)}`)
})

const present = (all: OfficeView["computers"]): string =>
  all.size === 0 ? "" : `; there are ${[...all.keys()].join(", ")}`

export const members = (place: AgentPlace): Act =>
  Effect.gen(function* () {
    const list = yield* (yield* Agent).members
    const rows = list.map(({ name, role, version = "" }) => [role, name, version])
    yield* print(place, list, columns(rows))
  })

export const tools = (place: AgentPlace, computer: Option.Option<string>): Act =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const found = yield* Effect.forEach(yield* computers(computer), (name) =>
      Effect.map(agent.getTools(name), (list) => list.map((tool) => ({ computer: name, ...tool })))
    )
    const rows = found
      .flat()
      .map(({ computer: name, description, name: tool }) => [name, tool, brief(description)])
    yield* print(place, found.flat(), rows.length === 0 ? "no tools" : columns(rows))
  })

/** The arguments of a tool: a JSON object. */
export const readArgs = (text: string): Effect.Effect<JsonObject, CommandFailed> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => new CommandFailed({ message: "--args is not JSON" })
  }).pipe(Effect.filterOrFail(isJsonObject, () => new CommandFailed({ message: "--args is no JSON object" })))

/** What the process exits with when the tool itself failed. */
const toolFailedCode = 2

export const call = (
  place: AgentPlace,
  request: {
    readonly tool: string
    readonly computer: Option.Option<string>
    readonly params: JsonObject
    readonly timeout: number
  }
): Act =>
  Effect.gen(function* () {
    const { params, timeout, tool } = request
    const agent = yield* Agent
    const computer = Option.getOrUndefined(request.computer)
    const result = yield* agent.callTool({ computer, tool, params, timeout })
    if (place.json) yield* Console.log(json(result))
    if (result.isError) {
      return yield* new CommandFailed({
        message: showResult(result) || "The tool failed",
        exitCode: toolFailedCode
      })
    }
    if (!place.json) yield* Console.log(showResult(result))
  })

export const desktop = (
  place: AgentPlace,
  request: {
    readonly computer: Option.Option<string>
    readonly size: Option.Option<number>
    readonly window: Option.Option<string>
  }
): Act =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const options = {
      ...(Option.isSome(request.size) && { size: request.size.value }),
      ...(Option.isSome(request.window) && { window: request.window.value })
    }
    const found = yield* Effect.forEach(yield* computers(request.computer), (computer) =>
      Effect.map(agent.getDesktop(computer, options), (entries) => ({ computer, desktop: entries }))
    )
    const text = found.flatMap(({ computer, desktop: entries }) => [
      `# ${computer}${entries.length === 0 ? " (no windows)" : ""}`,
      ...entries
    ])
    yield* print(place, found, text.join("\n\n"))
  })

/** Prints configurations as they stand on the wire: in the words people know from their files. */
export const config = (computer: Option.Option<string>): Act =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const { encode } = agent.member.line.calls.getConfig.reply
    const found = yield* Effect.forEach(yield* computers(computer), (name) =>
      Effect.map(agent.getConfig(name), (given) => [name, encode(given)] as const)
    )
    yield* Console.log(json(Object.fromEntries(found)))
  })

export const resources = (
  place: AgentPlace,
  request: { readonly computer: Option.Option<string>; readonly mcpServer: Option.Option<string> }
): Act =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const found = yield* Effect.forEach(yield* computers(request.computer), (computer) =>
      Effect.gen(function* () {
        const configured = (yield* agent.getConfig(computer)).servers
        const names = Option.match(request.mcpServer, {
          onNone: () => Object.keys(configured),
          onSome: (name) => [name]
        })
        return yield* Effect.forEach(names, (mcpServer) =>
          Effect.map(
            Effect.catchTag(agent.allResources(computer, mcpServer), "Refusal", (refusal) =>
              Option.isSome(request.mcpServer) ? Effect.fail(refusal) : Effect.succeed([])
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
        brief(typeof resource["name"] === "string" ? resource["name"] : "")
      ])
    yield* print(place, found.flat(2), rows.length === 0 ? "no resources" : columns(rows))
  })

export const dpe = (
  place: AgentPlace,
  request: { readonly uri: string; readonly computer: Option.Option<string> }
): Act =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const [computer, ...others] = yield* computers(request.computer)
    if (computer === undefined || others.length > 0) {
      return yield* refuse("Several Computers are in this office: choose one by --computer")
    }
    const found = yield* agent.getDpe(computer, request.uri)
    yield* print(place, found, found.uri)
  })

export const find = (
  place: AgentPlace,
  request: {
    readonly keywords: ReadonlyArray<string>
    readonly computer: Option.Option<string>
    readonly fileType: Option.Option<string>
    readonly limit: number
    readonly offset: number
  }
): Act =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const { keywords, limit, offset } = request
    const found = yield* Effect.forEach(yield* computers(request.computer), (computer) =>
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
      documents.map(({ pageCount, title, uri }) => [computer, uri, `${pageCount} pages`, brief(title)])
    )
    yield* print(place, found, rows.length === 0 ? "no documents" : columns(rows))
  })

const describe = (event: AgentEvent): string => {
  switch (event._tag) {
    case "Entered":
    case "Left":
      return `${event.seat.role} ${event.seat.name} ${event._tag === "Entered" ? "entered" : "left"}`
    case "Updated":
      return `computer ${event.computer} updated its ${event.part === "toolList" ? "tools" : event.part}`
    case "Cancelled":
      return `agent ${event.agent} cancelled ${event.reqId}`
    case "Joined":
      return "joined the office"
    case "Lost":
      return `connection lost: ${event.reason}`
  }
}

/** Prints what happens in the office, a line each, until it is told to stop. */
export const watch = (place: AgentPlace): Act =>
  Effect.flatMap(Agent, ({ events, status }) =>
    Effect.raceFirst(
      Stream.runForEach(events, (event) => Console.log(place.json ? JSON.stringify(event) : describe(event))),
      untilEnded(status)
    )
  )
