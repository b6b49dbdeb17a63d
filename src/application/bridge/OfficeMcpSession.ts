import { Effect, PubSub, type Scope, Stream } from "effect"
import { packageVersion } from "../../domain/packageVersion.ts"
import { Agent } from "../agent/Agent.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { isWatched, type McpChange, McpSessionError, type McpSession } from "../ports/McpSession.ts"
import { listOfficeResources, readOfficeResource, windowsOf } from "./officeResources.ts"
import { makeToolCaller, exposeTools } from "./officeTools.ts"

/** How an office is shown to whoever speaks MCP. */
export interface OfficeMcpSessionOptions {
  /** The office's name, for people. */
  readonly office: string
  /** Longest name of a tool; 45 unless set, so that hosts can put their own words before it. */
  readonly maxToolNameLength?: number
  /** `all` lists every tool, `search` three tools to find and call them, `auto` what suits their number. */
  readonly tools?: "all" | "search" | "auto"
  /** Tools that are listed all the same; patterns as `approves` reads them, of the Computer and the tool. */
  readonly pinned?: ReadonlyArray<string>
  /** How long a call may take, in whole seconds; five minutes unless set. */
  readonly timeout?: number
}

/** How long a listing waits for what is being fetched. */
const settleTimeout = "5 seconds"

/** How many changes wait for a watcher that lags; older ones are dropped first. */
const changeBacklog = 1024

const instructions = (office: string): string =>
  `These are the tools of the Computers in the office '${office}': each is named COMPUTER__TOOL and runs on that ` +
  "machine. computers_list says who is here, desktop_get what their windows show. Computers come and go; a tool that " +
  "has gone answers with an error that says so."

const isShallowEqual = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index])

const toolsInView = ({ computers }: OfficeView): ReadonlyArray<unknown> =>
  [...computers].flatMap(([name, { tools }]) => (tools === undefined ? [] : [name, tools]))

const documentsInView = ({ computers }: OfficeView): ReadonlyArray<unknown> =>
  [...computers].map(([, { documents }]) => documents)

/** What has changed from one view of the office to the next, for whoever speaks MCP. */
const changesBetween = (before: OfficeView, after: OfficeView): ReadonlyArray<McpChange> => {
  const [old, now] = [windowsOf(before), windowsOf(after)]
  const isResourceListChanged =
    !isShallowEqual([...old.keys()], [...now.keys()]) ||
    !isShallowEqual(documentsInView(before), documentsInView(after))
  return [
    ...(isShallowEqual(toolsInView(before), toolsInView(after)) ? [] : [{ _tag: "ToolsChanged" } as const]),
    ...(isResourceListChanged ? [{ _tag: "ResourcesChanged" } as const] : []),
    ...[...now]
      .filter(([uri, text]) => old.has(uri) && old.get(uri) !== text)
      .map(([uri]) => ({ _tag: "ResourceUpdated", uri }) as const)
  ]
}

/**
 * A whole office as one MCP peer: the tools of all its Computers under names that do not depend on who else is there,
 * their windows and documents as resources, and tools about the office itself. For publishing it as an MCP server, for
 * programs with models in this process, or as a server of another office's Computer.
 */
export const makeOfficeMcpSession = Effect.fnUntraced(function* (
  options: OfficeMcpSessionOptions
): Effect.fn.Return<McpSession, never, Agent | Scope.Scope> {
  const agent = yield* Agent
  const hub = yield* Effect.acquireRelease(PubSub.sliding<McpChange>(changeBacklog), PubSub.shutdown)
  let lastView = yield* agent.view
  let cached = { view: lastView, tools: exposeTools(lastView, options) }

  /** The tools right now; built anew only when they are others. */
  const current = Effect.map(agent.view, (view) => {
    if (!isShallowEqual(toolsInView(cached.view), toolsInView(view)))
      cached = { view, tools: exposeTools(view, options) }
    return cached.tools
  })
  const call = makeToolCaller(agent, current, options)
  /** Waits until what is being fetched has come, but not for an office that never comes to rest. */
  const settled = Effect.timeoutOption(agent.settled, settleTimeout)

  yield* agent.changes.pipe(
    Stream.runForEach((next) => {
      const changes = changesBetween(lastView, next)
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
      capabilities: { tools: true, resources: true, subscribe: true },
      instructions: instructions(options.office)
    },
    listTools: () =>
      Effect.map(Effect.andThen(settled, current), ({ listed }) => ({
        items: listed,
        nextCursor: undefined
      })),
    listResources: () =>
      settled.pipe(
        Effect.andThen(Effect.provideService(listOfficeResources, Agent, agent)),
        Effect.map((items) => ({ items, nextCursor: undefined }))
      ),
    readResource: (uri) => Effect.provideService(readOfficeResource(uri), Agent, agent),
    callTool: (name, args) =>
      Effect.flatMap(current, ({ byName }) =>
        byName.has(name) ? call(name, args) : Effect.andThen(settled, call(name, args))
      ),
    watch: (wanted) =>
      Effect.map(PubSub.subscribe(hub), (subscription) =>
        Stream.filter(Stream.fromSubscription(subscription), (change) => isWatched(wanted, change))
      ),
    ping: Effect.void,
    closed: agent.status.pipe(
      Stream.filter((status) => status._tag === "Ended"),
      Stream.runHead,
      Effect.andThen(
        Effect.succeed(
          new McpSessionError({ reason: "closed", message: "The office may not be joined again" })
        )
      )
    )
  }
})
