import { Context, Effect, Layer, type Scope, type Stream } from "effect"
import type { Setup, SetupDiff, Variables } from "../../domain/config/Setup.ts"
import type { ComputerPart } from "../../domain/model/Notification.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"
import type { JoinFailed, OfficeMember } from "../member/OfficeMember.ts"
import { jsonBody } from "../ports/Body.ts"
import type { McpConnector } from "../ports/McpSession.ts"
import type { TransportClient } from "../ports/Transport.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import { type DesktopRequest, makeDesktop } from "./content/Desktop.ts"
import { makeDocuments } from "./content/Documents.ts"
import type { Inputs } from "./inputs/Inputs.ts"
import type { ServerStates } from "./servers/ServersSnapshot.ts"
import { makeRequestHandler } from "./office/RequestHandler.ts"
import {
  type AlreadyJoined,
  makeOfficeConnection,
  type JoinOptions,
  type OfficeStatus
} from "./office/OfficeConnection.ts"
import { redactLogs, makeSecrets } from "./inputs/Secrets.ts"
import { makeServerSupervisor, type UnknownServer } from "./servers/ServerSupervisor.ts"
import { type LocalCall, makeToolCalls, type ToolCallRecord } from "./calls/ToolCalls.ts"

/** Who the Computer is, where, and what it drives. */
export interface ComputerOptions {
  /** The office to join at once; without it the Computer stays away until it is told to join. */
  readonly office?: string
  readonly name: string
  readonly config: ComputerConfig
  /** What stands for `${name}` in the parameters of the servers. */
  readonly variables?: Variables
  /** Keep trying while the Server cannot be reached, or lets nobody in right now; otherwise that is a failure. */
  readonly retryInitialConnect?: boolean
}

interface ComputerShape {
  /** Every configured MCP server and where it stands. */
  readonly servers: Effect.Effect<ServerStates>
  /** The same now, and after every change. */
  readonly changes: Stream.Stream<ServerStates>
  /** What the office can call, and what is hidden and why. */
  readonly catalogue: Effect.Effect<Catalogue>
  /** The last calls that reached a server, oldest first. */
  readonly history: Effect.Effect<ReadonlyArray<ToolCallRecord>>
  /** What is configured now, with its placeholders unfilled. */
  readonly setup: Effect.Effect<Setup>
  /** Makes the servers those of another setup. Whoever did not change keeps its session. */
  readonly reconfigure: (setup: Setup) => Effect.Effect<SetupDiff>
  /** Starts a server that does not run, even a disabled one, and waits until it runs or cannot. */
  readonly start: (server: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server until it is started again. Its running calls end with an error. */
  readonly stop: (server: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server and starts it again. */
  readonly restart: (server: string) => Effect.Effect<void, UnknownServer>
  /** Calls a tool as the Computer's own people may, without consent, unless the call says who else asks. */
  readonly callTool: (call: LocalCall) => Effect.Effect<ToolResult>
  /** The desktop as the office would see it. */
  readonly desktop: (request: DesktopRequest) => Effect.Effect<ReadonlyArray<string>>
  /** Where the Computer stands with the Server, now and after every change. */
  readonly status: Stream.Stream<OfficeStatus>
  /** The office the Computer is in or comes back to. */
  readonly office: Effect.Effect<string | undefined>
  readonly join: (request: JoinOptions) => Effect.Effect<void, JoinFailed | AlreadyJoined>
  /** Leaves the office; the servers run on. Calls for its Agent end. */
  readonly leave: Effect.Effect<void>
  /** The seat itself, for events that this version does not know. */
  readonly member: Effect.Effect<OfficeMember | undefined>
}

const make = Effect.fnUntraced(function* ({
  config,
  name,
  office,
  retryInitialConnect,
  variables = {}
}: ComputerOptions): Effect.fn.Return<
  ComputerShape,
  JoinFailed,
  Scope.Scope | TransportClient | McpConnector | Inputs
> {
  const { startupTimeout } = yield* ComputerSettings
  const secrets = makeSecrets()
  const withRedactedLogs = redactLogs(secrets)
  const connection = yield* makeOfficeConnection(name)

  /** What has changed while the office was being joined: it may have looked before, and cannot have heard. */
  const backlog = new Set<ComputerPart>()

  /** Tells the office that a part has changed; nobody is told while there is no office. */
  const notifyChanged = (part: ComputerPart) =>
    Effect.suspend(() => {
      const member = connection.member()
      const defer = Effect.sync(() => void backlog.add(part))
      if (member === undefined) return defer
      const { event, request } = member.line.updates[part]
      return Effect.catch(member.notify(event, jsonBody(request.encode({ computer: name }))), () => defer)
    })
  const flush = Effect.suspend(() => {
    const parts = [...backlog]
    backlog.clear()
    return Effect.forEach(parts, notifyChanged, { discard: true })
  })

  const servers = yield* withRedactedLogs(makeServerSupervisor({ config, variables }, secrets, notifyChanged))
  const calls = yield* withRedactedLogs(makeToolCalls(servers))
  const recentServers = () => calls.history().map(({ server }) => server)
  const desktop = yield* makeDesktop(servers, recentServers)
  const documents = yield* makeDocuments(servers, recentServers)

  const join = (request: JoinOptions) =>
    connection.join(request, (member) => {
      backlog.clear()
      const handle = makeRequestHandler({ name, servers, calls, desktop, documents }, member)
      return {
        onMessage: (event, body) => withRedactedLogs(handle(event, body)),
        onJoined: flush,
        onLost: () => calls.reset
      }
    })
  // Once more afterwards: a call may have come while others were ending.
  // The office hears that the Computer leaves before its servers end.
  yield* Effect.addFinalizer(() => connection.leave)
  const leave = calls.reset.pipe(Effect.andThen(connection.leave), Effect.andThen(calls.reset))

  if (office !== undefined) {
    yield* Effect.timeoutOption(servers.startupCompleted, startupTimeout)
    yield* Effect.catchTag(
      join({ office, ...(retryInitialConnect !== undefined && { retryInitialConnect }) }),
      "AlreadySeated",
      Effect.die
    )
  }

  return {
    servers: Effect.sync(servers.states),
    changes: servers.changes,
    catalogue: Effect.sync(servers.catalogue),
    history: Effect.sync(calls.history),
    setup: Effect.sync(servers.setup),
    reconfigure: (setup) => withRedactedLogs(servers.reconfigure(setup)),
    start: (server) => withRedactedLogs(servers.start(server)),
    stop: (server) => withRedactedLogs(servers.stop(server)),
    restart: (server) => withRedactedLogs(servers.restart(server)),
    callTool: (call) => withRedactedLogs(calls.callLocally(call)),
    desktop: (request) => withRedactedLogs(desktop.show(request)),
    status: connection.status,
    office: Effect.sync(connection.office),
    join,
    leave,
    member: Effect.sync(connection.member)
  }
})

/** The acting side of an office: drives MCP servers and offers their tools, windows and documents. */
export class Computer extends Context.Service<Computer, ComputerShape>()(
  "a2c-smcp/application/computer/Computer"
) {
  /** Starts the servers, joins the office if one is given, and stays for as long as the layer lives. */
  static readonly layer = (
    options: ComputerOptions
  ): Layer.Layer<Computer, JoinFailed, TransportClient | McpConnector | Inputs> =>
    Layer.effect(Computer, make(options))
}
