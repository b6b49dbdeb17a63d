import { assert } from "@effect/vitest"
import {
  ConfigProvider,
  Context,
  Deferred,
  Duration,
  Effect,
  Layer,
  Logger,
  Option,
  References,
  Result,
  type Scope,
  Stream
} from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer, type MemoryMcpServerOptions } from "../../../src/adapters/memory/MemoryMcp.ts"
import { Computer, type ComputerOptions } from "../../../src/application/computer/Computer.ts"
import { ComputerSettings } from "../../../src/application/computer/ComputerSettings.ts"
import type { ComputerOperatorAccess } from "../../../src/application/computer/office/operatorAccess.ts"
import type { UploadOptions } from "../../../src/application/computer/content/Uploads.ts"
import { Inputs, type InputSources } from "../../../src/application/computer/inputs/Inputs.ts"
import type { ServerState } from "../../../src/application/computer/servers/ServersSnapshot.ts"
import type { SkillFolders } from "../../../src/application/computer/content/Skills.ts"
import { McpConnector, McpSessionError, type McpSession } from "../../../src/application/ports/McpSession.ts"
import type { Policy } from "../../../src/application/ports/approvals/Policy.ts"
import { CatalogueStore } from "../../../src/application/ports/mcp/CatalogueStore.ts"
import * as FileSkills from "../../../src/application/computer/content/skills/FileSkills.ts"
import type { SkillFiles } from "../../../src/application/ports/files/SkillFiles.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import {
  type ConnectError,
  type Link,
  type MessageHandler,
  TransportClient,
  Unreachable
} from "../../../src/application/ports/Transport.ts"
import { operatorNamesKept } from "../../../src/domain/office/memberFeatures.ts"
import { definedOnly } from "../../../src/domain/objects.ts"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import type { Setup, Variables } from "../../../src/domain/config/Setup.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { defaultLineName, type LineName } from "../../../src/domain/wire/lines.ts"
import { portDefaults } from "../../portDefaults.ts"

/** An MCP server to connect to. */
export interface Startable {
  readonly connect: Effect.Effect<McpSession, McpSessionError, Scope.Scope>
}

/** The parts of a Computer under test: servers in memory, virtual time, no office by default. */
export interface TestComputer {
  readonly servers: { readonly [name: string]: Startable }
  /** Settings of servers besides their parameters. */
  readonly configure?: { readonly [name: string]: JsonObject }
  readonly inputs?: ReadonlyArray<JsonObject>
  readonly sources?: InputSources
  readonly environment?: { readonly [name: string]: string }
  readonly variables?: Variables
  readonly settings?: Partial<ComputerSettings>
  /** The office to join at the start. */
  readonly office?: string
  /** How it joins offices. */
  readonly membership?: Partial<Omit<ComputerOptions, "office">>
  readonly prepare?: Effect.Effect<void>
  readonly uploads?: UploadOptions
  readonly skills?: SkillFolders
  readonly operators?: ComputerOperatorAccess
  readonly policy?: Layer.Layer<Policy>
  /** Which servers are in this process; none by default. */
  readonly isInProcess?: (server: string) => boolean
  /** Keeps the catalogues of lazy servers; nothing does by default. */
  readonly catalogues?: CatalogueStore["Service"]
  /** The file system of skills; none by default. */
  readonly skillFiles?: Layer.Layer<SkillFiles>
  /** The transport to an office; connections fail by default. */
  readonly transport?: TransportClient["Service"]
}

/** Makes a setup of stdio servers with these names. */
export const setupOf = (
  names: ReadonlyArray<string>,
  { configure = {}, inputs = [], variables = {} }: Omit<TestComputer, "servers"> = {}
): Setup => ({
  variables,
  config: Result.getOrThrow(
    parseComputerConfig({
      inputs,
      servers: Object.fromEntries(
        names.map((name) => [name, { type: "stdio", server_parameters: { command: "memory" }, ...configure[name] }])
      )
    })
  )
})

/** Runs a Computer and collects its log. */
export const testComputer = Effect.fnUntraced(function* (fixture: TestComputer) {
  const {
    catalogues,
    environment = {},
    isInProcess,
    office,
    operators,
    policy,
    prepare,
    servers,
    settings,
    skillFiles,
    skills,
    sources,
    uploads
  } = fixture
  const logs: Array<string> = []
  const logger = Logger.make<unknown, void>(({ cause, message }) => {
    logs.push(`${JSON.stringify(message)} ${String(cause)}`)
  })
  const logging = Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "All" as const))
  const context = yield* Computer.layer({
    name: "pc",
    ...setupOf(Object.keys(servers), fixture),
    ...fixture.membership,
    ...definedOnly({ office, operators, prepare, skills, uploads })
  }).pipe(
    Layer.provide(skillFiles === undefined ? Layer.empty : Layer.provide(FileSkills.layer, skillFiles)),
    Layer.provide(policy ?? Layer.empty),
    Layer.provide(portDefaults),
    Layer.provide(catalogues === undefined ? Layer.empty : Layer.succeed(CatalogueStore, catalogues)),
    Layer.provide(
      Layer.succeed(McpConnector, {
        connect: (name) => servers[name]?.connect ?? Effect.fail(dead),
        ...definedOnly({ isInProcess })
      })
    ),
    Layer.provideMerge(Inputs.layer(sources)),
    Layer.provide(
      Layer.succeed(
        TransportClient,
        fixture.transport ?? {
          connect: () => Effect.fail(new Unreachable({ message: "no Server in this test" }))
        }
      )
    ),
    Layer.provide(
      Layer.succeed(ComputerSettings, {
        ...ComputerSettings.defaultValue(),
        changeThrottle: Duration.zero,
        ...settings
      })
    ),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment }))),
    Layer.provide(logging),
    Layer.build
  )
  const computer = Context.get(context, Computer)
  /** Collects the log of an effect that the test itself runs. */
  const logged = Effect.provide(logging)
  return { computer, inputs: Context.get(context, Inputs), logs, logged }
})

/** Gives the parts of a session that a test replaces. */
export type SessionChange = (session: McpSession) => Partial<McpSession>

/** Runs a Computer, and lets its servers start. */
export const startedComputer = (fixture: TestComputer) => Effect.tap(testComputer(fixture), TestClock.adjust(0))

/** Counts the starts of a server; `failure` makes them fail. */
export const counted = ({ connect }: Startable, change: SessionChange = () => ({})) => {
  const starts = { count: 0, failure: undefined as McpSessionError | undefined }
  return {
    starts,
    connect: Effect.suspend(() => {
      starts.count++
      if (starts.failure !== undefined) return Effect.fail(starts.failure)
      return Effect.map(connect, (session): McpSession => ({ ...session, ...change(session) }))
    })
  }
}

/** Runs a Computer with a server `alpha` of these options, and lets it start. `failure` makes its starts fail. */
export const withAlpha = Effect.fnUntraced(function* ({
  server = {},
  change,
  failure,
  ...fixture
}: Partial<TestComputer> & {
  readonly server?: MemoryMcpServerOptions
  readonly change?: SessionChange
  readonly failure?: McpSessionError
} = {}) {
  const alpha = yield* makeMemoryMcpServer(server)
  const { connect, starts } = counted(alpha, change)
  starts.failure = failure
  const parts = yield* startedComputer({ servers: { alpha: { connect } }, ...fixture })
  const { computer } = parts
  const state = Effect.map(computer.servers, (states) => states.get("alpha"))
  const reason = Effect.map(state, (now) => (now !== undefined && "reason" in now ? now.reason : undefined))
  return { ...parts, alpha, starts, state, tag: standing(computer, "alpha"), reason, names: toolNames(computer) }
})

/** The names of the tools that a Computer offers. */
export const toolNames = (computer: Computer["Service"]) =>
  Effect.map(computer.catalogue, ({ entries }) => [...entries.keys()])

/** Lets tools run without consent. */
export const autoApply = { default_tool_meta: { auto_apply: true } }

/** Waits until so many approvals of a Computer are open. */
export const nextApprovals = (computer: Computer["Service"], count: number) =>
  Effect.map(Stream.runHead(Stream.filter(computer.approvals, (open) => open.length === count)), Option.getOrThrow)

/** Waits for the only open approval of a Computer. */
export const nextApproval = (computer: Computer["Service"]) =>
  Effect.map(nextApprovals(computer, 1), ([approval]) => approval ?? assert.fail())

/** The open approvals of a Computer. */
export const openApprovals = (computer: Computer["Service"]) =>
  Effect.map(Stream.runHead(computer.approvals), Option.getOrThrow)

/** The tag of a server's state. */
export const standing = (computer: Computer["Service"], name: string) =>
  Effect.map(computer.servers, (states): ServerState["_tag"] | undefined => states.get(name)?._tag)

export const dead = new McpSessionError({ reason: "unavailable", message: "it does not start" })

/** A connection to a Server that accepts every request. */
export const link: Link = {
  id: "sid",
  request: () => Effect.succeed([jsonBody(true), jsonBody(null)]),
  notify: () => Effect.void,
  post: () => undefined,
  startRequest: () => () => undefined,
  backlog: () => 0,
  sentBytes: () => 0,
  pauseReading: () => undefined,
  close: () => Effect.void,
  closed: Effect.never,
  maxBytes: () => Number.POSITIVE_INFINITY,
  fits: () => true
}

/** A connection to such a Server, which lets no member take the name of an operator. */
export const provingLink: Link = {
  ...link,
  request: () => Effect.succeed([true, null, operatorNamesKept].map(jsonBody))
}

/** Connections to a Server, of which the first one closes when `lost` is done. */
export const losable = (server: Link = link) =>
  Effect.map(Deferred.make<string>(), (lost) => {
    let connections = 0
    const connect = Effect.sync(
      (): Link => ({ ...server, closed: connections++ === 0 ? Deferred.await(lost) : Effect.never })
    )
    return { lost, connect }
  })

/** Protocol lines, and the lifecycles of the MCP servers there. */
export const places = [
  ["0.2", "eager"],
  ["0.4", "lazy"]
] as const

/** Joins a Computer to an office; `receive` is its end of the connection, `ask` sends a request as an Agent would. */
export const joined = Effect.fnUntraced(function* (
  fixture: TestComputer,
  connect: Effect.Effect<Link, ConnectError, Scope.Scope> = Effect.succeed(link),
  protocol: LineName = defaultLineName
) {
  let handle: MessageHandler = () => Effect.succeed([])
  const { computer, logged, logs } = yield* startedComputer({
    ...fixture,
    transport: {
      connect: ({ onMessage }) => {
        handle = onMessage
        return connect
      }
    }
  })
  yield* computer.join({ office: "o", protocol })
  yield* TestClock.adjust(0)
  const receive = (event: string, body: unknown): Effect.Effect<ReadonlyArray<unknown>> =>
    Effect.map(logged(handle(event, jsonBody(body))), (reply) => reply.map((part) => Result.getOrThrow(part.value())))
  const request = (event: string, request: object) =>
    Effect.map(receive(event, { agent: "a", req_id: "r", computer: "pc", ...request }), ([answer]) => answer)
  return { computer, logs, receive, request }
})

/** Joins a Computer with these servers to an office and gives a function that sends it requests. */
export const requests = (
  servers: { readonly [name: string]: Startable },
  configure: { readonly [name: string]: JsonObject } = {}
) => Effect.map(joined({ servers, configure }), ({ request }) => request)
