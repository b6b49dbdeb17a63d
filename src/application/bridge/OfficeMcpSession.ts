import { Effect, PubSub, Record, type Scope, Stream } from "effect"
import { computeOnce, isShallowEqual } from "../../domain/objects.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { McpServerInfo } from "../../domain/model/messages/mcp.ts"
import { packageVersion } from "../../domain/packageVersion.ts"
import { Agent } from "../agent/Agent.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { type McpChange, McpSessionError, type McpSession } from "../ports/McpSession.ts"
import { makeListingReport } from "../shared/listings/serverListings.ts"
import { pageOfListing, watchHub } from "../shared/toolsOnlySession.ts"
import { toCallHooks } from "./callHooks.ts"
import { appResourcesIn, combineInstructions, makeServerRequests } from "./officeServers.ts"
import { makeOfficeResources, readOfficeResource, windowsOf } from "./officeResources.ts"
import { exposeTools, offeredServers, type OfficeToolsOptions } from "./exposeTools.ts"
import { makeLargeResults } from "./results/largeResults.ts"
import { makeOfficeTasks, makeToolCaller } from "./officeTools.ts"

export interface OfficeMcpSessionOptions extends OfficeToolsOptions {
  /** The office's name, for people. */
  readonly office: string
}

/** How long a listing of tools waits for running refreshes. */
const settleTimeout = "5 seconds"

/** How long the start, and a listing of resources, wait for them. */
const shortSettleTimeout = "2 seconds"

/** The resources on a page: many hosts read only the first one. */
const resourcesPerPage = 500

/** Buffered changes per watcher; the oldest are dropped first. */
const changeBacklog = 1024

const instructions = (office: string): string =>
  `These are the tools of the Computers in the office '${office}'. Each tool is named COMPUTER__TOOL and runs on that ` +
  "Computer. computers_list lists the Computers, desktop_get shows their windows. Resources skill://COMPUTER/NAME/SKILL.md " +
  "are instructions for tasks. Computers join and leave; a call to " +
  "a removed tool returns an error that says so."

const noServers: ReadonlyArray<McpServerInfo> = []

const toText = (items: ReadonlyArray<unknown>): string => items.map((item) => JSON.stringify(item)).join()

/** What MCP servers offer, as texts to compare; empty where they offer nothing of a kind. */
const textsOf = computeOnce((servers: ReadonlyArray<McpServerInfo>) => ({
  tools: toText(servers.flatMap(({ tools }) => tools.filter(({ details }) => Object.keys(details).length > 0))),
  prompts: toText(
    servers.flatMap(({ id, prompts, templates }) =>
      prompts.length + templates.length > 0 ? [[id, prompts, templates]] : []
    )
  ),
  resources: toText(
    servers.flatMap(({ apps = [], id, resourcesHash }) =>
      apps.length > 0 || resourcesHash !== undefined ? [[id, apps, resourcesHash]] : []
    )
  )
}))

type ListEvent = "PromptsChanged" | "ToolsChanged" | "ResourcesChanged"

/** What clients list, by the event of its change. Items are compared by identity. */
const lists: { readonly [E in ListEvent]: (view: OfficeView, options: OfficeToolsOptions) => ReadonlyArray<unknown> } =
  {
    PromptsChanged: ({ computers }) =>
      [...computers].flatMap(([name, { servers = noServers }]) => {
        const { prompts } = textsOf(servers)
        return prompts === "" ? [] : [name, prompts]
      }),
    ToolsChanged: (view, options) => [
      ...[...view.computers].flatMap(([name, { servers = noServers, tools }]) =>
        tools === undefined ? [] : [name, tools, textsOf(servers).tools]
      ),
      ...offeredServers(view, options)
    ],
    ResourcesChanged: (view) => [
      ...windowsOf(view).keys(),
      ...[...view.computers].flatMap(([, { documents, servers = noServers, skills }]) => [
        documents,
        skills,
        textsOf(servers).resources
      ])
    ]
  }

const isChanged = (list: ListEvent, before: OfficeView, after: OfficeView, options: OfficeToolsOptions): boolean =>
  !isShallowEqual(lists[list](before, options), lists[list](after, options))

const changesBetween = (before: OfficeView, after: OfficeView, options: OfficeToolsOptions) => {
  const windows = windowsOf(before)
  return [
    ...Record.keys(lists).flatMap((_tag) => (isChanged(_tag, before, after, options) ? [{ _tag }] : [])),
    ...[...windowsOf(after)].flatMap(([uri, text]) =>
      windows.has(uri) && windows.get(uri) !== text ? [{ _tag: "ResourceUpdated" as const, uri }] : []
    )
  ]
}

/**
 * Exposes a whole office as one MCP peer. The tools of all Computers have names that do not depend on other members;
 * windows, documents and skills are resources; further tools describe the office itself. Use it to publish an office as an MCP
 * server, for models in this process, or as an MCP server of another office's Computer.
 */
export const makeOfficeMcpSession = Effect.fnUntraced(function* (
  options: OfficeMcpSessionOptions
): Effect.fn.Return<McpSession, never, Agent | Scope.Scope> {
  const agent = yield* Agent
  yield* agent.followServers
  // The instructions of a client that connects at once should name the MCP servers.
  yield* Effect.timeoutOption(agent.settled, shortSettleTimeout)
  const report = makeListingReport({ office: options.office })
  const servers = makeServerRequests(agent, options.maxToolNameLength, report)
  const hub = yield* Effect.acquireRelease(PubSub.sliding<McpChange>(changeBacklog), PubSub.shutdown)
  let lastView = yield* agent.view
  let cached = { view: lastView, tools: exposeTools(lastView, options) }

  const current = Effect.map(agent.view, (view) => {
    if (isChanged("ToolsChanged", cached.view, view, options))
      cached = { view, tools: exposeTools(view, options, cached.tools) }
    return cached.tools
  })
  const { maxResult } = options
  const largeResults = maxResult === undefined ? undefined : yield* makeLargeResults(maxResult)
  const call = makeToolCaller(agent, current, options, largeResults)
  /** Waits for running refreshes; the timeout covers an office that changes without pause. */
  const settled = Effect.timeoutOption(agent.settled, settleTimeout)

  const announceResources = PubSub.publish(hub, { _tag: "ResourcesChanged" })
  const listOfficeResources = yield* makeOfficeResources(agent, report, Effect.asVoid(announceResources))
  const listAllResources = Effect.gen(function* () {
    yield* Effect.timeoutOption(agent.settled, shortSettleTimeout)
    const apps = yield* report("resources", appResourcesIn(yield* agent.view))
    return [...(yield* listOfficeResources), ...apps]
  })
  /** The latest list, whose pages clients read; an index of an older list is one of this. */
  let resources: ReadonlyArray<JsonObject> = []

  yield* agent.changes.pipe(
    Stream.runForEach((next) => {
      const changes = changesBetween(lastView, next, options)
      lastView = next
      return PubSub.publishAll(hub, changes)
    }),
    Effect.forkScoped({ startImmediately: true })
  )

  return {
    info: {
      name: `a2c-office-${options.office}`,
      version: packageVersion,
      protocolVersion: undefined,
      capabilities: { tools: true, resources: true, subscribe: true, prompts: true, completions: true },
      // MCP servers come and go: a client gets those of the time when it connects.
      get instructions() {
        return combineInstructions(instructions(options.office), lastView)
      }
    },
    listTools: Effect.fnUntraced(function* () {
      yield* settled
      const { listed: items, omitted } = yield* current
      return { items: yield* report("tools", { items, omitted }), nextCursor: undefined }
    }),
    listResources: Effect.fnUntraced(function* (cursor) {
      if (cursor === undefined || resources.length === 0) resources = yield* listAllResources
      return yield* pageOfListing(resources, resourcesPerPage, cursor)
    }),
    readResource: (uri) =>
      largeResults?.readResource(uri) ??
      Effect.flatMap(servers.read(uri), (read) =>
        read === undefined ? readOfficeResource(agent, uri) : Effect.succeed(read)
      ),
    request: (method, params) => Effect.andThen(settled, servers.request(method, params)),
    callTool: (name, params, callOptions = {}) => {
      const calling = call(name, params, toCallHooks(callOptions))
      return Effect.flatMap(current, ({ byName }) => (byName.has(name) ? calling : Effect.andThen(settled, calling)))
    },
    tasks: makeOfficeTasks(agent, current, largeResults),
    watch: watchHub(hub),
    ping: Effect.void,
    closed: agent.status.pipe(
      Stream.filter((status) => status._tag === "Failed"),
      Stream.runHead,
      Effect.as(new McpSessionError({ reason: "closed", message: "The office cannot be rejoined" }))
    )
  }
})
