import { Effect, Record } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { McpServerInfo } from "../../domain/model/messages/mcp.ts"
import { computeOnce, isShallowEqual } from "../../domain/objects.ts"
import { packageVersion } from "../../domain/packageVersion.ts"
import { Agent } from "../agent/Agent.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import type { McpSession } from "../ports/McpSession.ts"
import { makeListingReport } from "../shared/listings/serverListings.ts"
import { pageOfListing } from "../shared/toolsOnlySession.ts"
import { toCallHooks } from "./callHooks.ts"
import { exposeTools, offeredServers, type OfficeToolsOptions } from "./exposeTools.ts"
import { makeOfficeResources, readOfficeResource, windowsOf } from "./officeResources.ts"
import { appResourcesIn, combineInstructions, readServerResource } from "./officeServers.ts"
import { makeToolCaller } from "./officeTools.ts"
import { makeLargeResults } from "./results/largeResults.ts"

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

const ownInstructions = (office: string): string =>
  `These are the tools of the Computers in the office '${office}'. Each tool is named COMPUTER__TOOL and runs on that ` +
  "Computer. computers_list lists the Computers, desktop_get shows their windows. Resources skill://COMPUTER/NAME/SKILL.md " +
  "are instructions for tasks. Computers join and leave; a call to " +
  "a removed tool returns an error that says so."

/** The instructions for a model: those of the office, and of its MCP servers. */
export const officeInstructions = (office: string, view: OfficeView): string =>
  combineInstructions(ownInstructions(office), view)

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

/** What clients hear of a change of the view. */
export const changesBetween = (before: OfficeView, after: OfficeView, options: OfficeToolsOptions) => {
  const windows = windowsOf(before)
  return [
    ...Record.keys(lists).flatMap((_tag) => (isChanged(_tag, before, after, options) ? [{ _tag }] : [])),
    ...[...windowsOf(after)].flatMap(([uri, text]) =>
      windows.has(uri) && windows.get(uri) !== text ? [{ _tag: "ResourceUpdated" as const, uri }] : []
    )
  ]
}

/** What models use of a session. */
export type ModelSession = Pick<
  McpSession,
  "info" | "listTools" | "listResources" | "readResource" | "callTool" | "ping"
>

/**
 * Exposes a whole office to models as one MCP peer. The tools of all Computers have names that do not depend on other
 * members; windows, documents and skills are resources; further tools describe the office itself. `onLateResources`
 * announces what a Computer lists late. The other parts are those that a publication adds to.
 */
export const makeOfficeModelSession = Effect.fnUntraced(function* (
  options: OfficeMcpSessionOptions,
  onLateResources: Effect.Effect<unknown> = Effect.void
) {
  const agent = yield* Agent
  yield* agent.followServers
  // The instructions of a client that connects at once should name the MCP servers.
  yield* Effect.timeoutOption(agent.settled, shortSettleTimeout)
  const report = makeListingReport({ office: options.office })
  const firstView = yield* agent.view
  let cached = { view: firstView, tools: exposeTools(firstView, options) }

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

  const listOfficeResources = yield* makeOfficeResources(agent, report, Effect.asVoid(onLateResources))
  const listAllResources = Effect.gen(function* () {
    yield* Effect.timeoutOption(agent.settled, shortSettleTimeout)
    const apps = yield* report("resources", appResourcesIn(yield* agent.view))
    return [...(yield* listOfficeResources), ...apps]
  })
  /** The latest list, whose pages clients read; an index of an older list is one of this. */
  let resources: ReadonlyArray<JsonObject> = []

  const session: ModelSession = {
    info: {
      name: `a2c-office-${options.office}`,
      version: packageVersion,
      protocolVersion: undefined,
      capabilities: { tools: true, resources: true, subscribe: true, prompts: true, completions: true },
      instructions: officeInstructions(options.office, firstView)
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
      Effect.flatMap(readServerResource(agent, uri), (read) =>
        read === undefined ? readOfficeResource(agent, uri) : Effect.succeed(read)
      ),
    callTool: (name, params, callOptions = {}) => {
      const calling = call(name, params, toCallHooks(callOptions))
      return Effect.flatMap(current, ({ byName }) => (byName.has(name) ? calling : Effect.andThen(settled, calling)))
    },
    ping: Effect.void
  }
  return { current, largeResults, report, session, settled }
})
