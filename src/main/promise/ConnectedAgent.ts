import { Context, Duration, Effect, Layer, Scope } from "effect"
import { type McpClientLike, makeMcpClient } from "../../adapters/llm/McpClientLike.ts"
import type { SocketIoClientOptions } from "../../adapters/socketio/client/SocketIoClient.ts"
import { Agent, type AgentEvent, type AgentOptions, type ToolCall } from "../../application/agent/Agent.ts"
import type { DocumentLocation, ResourcePage } from "../../domain/model/requests.ts"
import type { ComputerView, OfficeView } from "../../application/agent/OfficeView.ts"
import type { FetchedDocument, FetchOptions } from "../../application/agent/AgentQueries.ts"
import {
  makeOfficeMcpSession,
  type OfficeMcpSessionOptions
} from "../../application/bridge/OfficeMcpSession.ts"
import type { JoinFailed, MemberStatus } from "../../application/member/OfficeMember.ts"
import type { McpSession } from "../../application/ports/McpSession.ts"
import type { FinderPage } from "../../domain/documents/findDocuments.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import type { SessionInfo } from "../../domain/model/SessionInfo.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { type Cancellable, type Closeable, type RunningService, startService } from "./RunningService.ts"
import type { Log } from "./Log.ts"

/** How a member reaches its Server. */
export interface ConnectionOptions extends Omit<SocketIoClientOptions, "connectTimeout" | "token"> {
  /** What the Server knows this member by; a function is asked before every connection, so that it may be renewed. */
  readonly token?: string | (() => string | Promise<string>)
  /** How long opening the connection may take, in milliseconds; 20 seconds unless given. */
  readonly connectTimeout?: number
  /** Takes the log; without it, what is a warning or worse goes to stderr. */
  readonly log?: Log
}

/** Who the Agent is, where, and how it gets there. */
export interface AgentConnectOptions extends AgentOptions, ConnectionOptions {}

/** An Agent in its office. Promises are rejected with an `A2cError`. Comes back by itself when the connection is lost. */
export interface ConnectedAgent extends Closeable {
  /** Everybody in the office. */
  readonly members: (options?: Cancellable) => Promise<ReadonlyArray<SessionInfo>>
  /**
   * Calls a tool, on the one Computer that has it unless `computer` names one. A failed tool is a result with
   * `isError`, not a rejection; so is a call that took too long. Aborting cancels the call where it runs.
   */
  readonly callTool: (call: ToolCall, options?: Cancellable) => Promise<ToolResult>
  readonly getTools: (computer: string, options?: Cancellable) => Promise<ReadonlyArray<Tool>>
  readonly getConfig: (computer: string, options?: Cancellable) => Promise<ComputerConfig>
  /** The desktop, at most `size` windows of it, or the one `window` of this exact URI. */
  readonly getDesktop: (
    computer: string,
    options?: Cancellable & { readonly size?: number; readonly window?: string }
  ) => Promise<ReadonlyArray<string>>
  /** Where a `dpe://` document can be fetched; `timeout` in whole seconds. */
  readonly getDpe: (
    computer: string,
    uri: string,
    options?: Cancellable & { readonly timeout?: number }
  ) => Promise<DocumentLocation>
  /** A `dpe://` document itself, fetched from where its Computer says it is. */
  readonly fetchDocument: (
    computer: string,
    uri: string,
    options?: Cancellable & FetchOptions
  ) => Promise<FetchedDocument>
  /** One page of an MCP server's resources; `cursor` is that of the page before. */
  readonly getResources: (
    computer: string,
    mcpServer: string,
    options?: Cancellable & { readonly cursor?: string }
  ) => Promise<ResourcePage>
  /** All resources of an MCP server. */
  readonly allResources: (
    computer: string,
    mcpServer: string,
    options?: Cancellable
  ) => Promise<ReadonlyArray<JsonObject>>
  readonly findDocuments: (
    computer: string,
    options?: Cancellable & {
      readonly keywords?: ReadonlyArray<string>
      readonly fileType?: string
      readonly offset?: number
      readonly limit?: number
    }
  ) => Promise<FinderPage>
  /** Waits until everything that is being fetched for the view has come. */
  readonly settled: (options?: Cancellable) => Promise<void>
  /** What is known of the office right now: members, tools and desktops, kept fresh by notifications. */
  readonly view: (options?: Cancellable) => Promise<OfficeView>
  /** The view now, and again after every change. */
  readonly changes: (options?: Cancellable) => AsyncIterable<OfficeView>
  /** The same of one Computer; `undefined` while it is not there. */
  readonly changesOf: (computer: string, options?: Cancellable) => AsyncIterable<ComputerView | undefined>
  /** Events from the moment the first one is asked for. */
  readonly events: (options?: Cancellable) => AsyncIterable<AgentEvent>
  /** Where the Agent stands with the Server, now and after every change. */
  readonly status: (options?: Cancellable) => AsyncIterable<MemberStatus>
  /** The whole office as an MCP client by its shape, which agent frameworks take: see `a2c-smcp/llm`. */
  readonly mcpClient: (
    options?: Cancellable & Omit<OfficeMcpSessionOptions, "office">
  ) => Promise<McpClientLike>
}

/** An Agent, and its office for whoever speaks MCP. */
class AgentWithSessions extends Context.Service<
  AgentWithSessions,
  {
    readonly agent: Agent["Service"]
    /** Sessions last as long as the Agent. */
    readonly openSession: (options: OfficeMcpSessionOptions) => Effect.Effect<McpSession>
  }
>()("a2c-smcp/promise/OfficeAgent") {
  static readonly layer = Layer.effect(
    AgentWithSessions,
    Effect.gen(function* () {
      const agent = yield* Agent
      const scope = yield* Effect.scope
      const openSession = (options: OfficeMcpSessionOptions) =>
        makeOfficeMcpSession(options).pipe(Effect.provideService(Agent, agent), Scope.provide(scope))
      return { agent, openSession }
    })
  )
}

const wrapAgent = (
  { iterate, run, ...closeable }: RunningService<Agent["Service"]>,
  mcpClient: ConnectedAgent["mcpClient"]
): ConnectedAgent => ({
  ...closeable,
  mcpClient,
  members: (options) => run(({ members }) => members, options),
  callTool: (call, options) => run(({ callTool }) => callTool(call), options),
  getTools: (computer, options) => run(({ getTools }) => getTools(computer), options),
  getConfig: (computer, options) => run(({ getConfig }) => getConfig(computer), options),
  getDesktop: (computer, { signal, ...which } = {}) =>
    run(({ getDesktop }) => getDesktop(computer, which), { signal }),
  getDpe: (computer, uri, { signal, ...how } = {}) =>
    run(({ getDpe }) => getDpe(computer, uri, how), { signal }),
  fetchDocument: (computer, uri, { signal, ...how } = {}) =>
    run(({ fetchDocument }) => fetchDocument(computer, uri, how), { signal }),
  getResources: (computer, mcpServer, { cursor, signal } = {}) =>
    run(({ getResources }) => getResources(computer, mcpServer, cursor), { signal }),
  allResources: (computer, mcpServer, options) =>
    run(({ allResources }) => allResources(computer, mcpServer), options),
  findDocuments: (computer, { signal, ...query } = {}) =>
    run(({ findDocuments }) => findDocuments(computer, query), { signal }),
  settled: (options) => run(({ settled }) => settled, options),
  view: (options) => run(({ view }) => view, options),
  changes: (options) => iterate(({ changes }) => changes, options),
  changesOf: (computer, options) => iterate(({ changesOf }) => changesOf(computer), options),
  events: (options) => iterate(({ events }) => events, options),
  status: (options) => iterate(({ status }) => status, options)
})

/** A token that a function gives. What it throws is told: it is the host's own. */
const tokenEffect = (getToken: () => string | Promise<string>) =>
  Effect.tryPromise({
    try: async () => getToken(),
    catch: (error) => ({ message: error instanceof Error ? error.message : String(error) })
  })

/** What the layers take for the connection. */
export const toClientOptions = <Options extends ConnectionOptions>({
  connectTimeout,
  log: _,
  token,
  ...options
}: Options) => ({
  ...options,
  ...(connectTimeout !== undefined && { connectTimeout: Duration.millis(connectTimeout) }),
  ...(token !== undefined && { token: typeof token === "function" ? tokenEffect(token) : token })
})

/** Connects the Agent that this layer makes. */
export const connectWithLayer = async (
  layer: Layer.Layer<Agent, JoinFailed>,
  { log, office }: Pick<AgentConnectOptions, "log" | "office">,
  cancellable: Cancellable | undefined
): Promise<ConnectedAgent> => {
  const host = await startService(
    AgentWithSessions,
    Layer.provide(AgentWithSessions.layer, layer),
    log,
    cancellable
  )
  return wrapAgent(
    {
      ...host,
      run: (use, options) => host.run(({ agent }) => use(agent), options),
      iterate: (use, options) => host.iterate(({ agent }) => use(agent), options)
    },
    ({ signal, ...options } = {}) =>
      host.run(({ openSession }) => Effect.flatMap(openSession({ ...options, office }), makeMcpClient), {
        signal
      })
  )
}
