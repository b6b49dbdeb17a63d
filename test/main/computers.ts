import { readFileSync } from "node:fs"
import { inspect } from "node:util"
import { NodeServices } from "@effect/platform-node"
import {
  Cause,
  Context,
  Duration,
  Effect,
  Layer,
  Logger,
  Option,
  References,
  Result,
  Schedule,
  type Scope,
  Stream
} from "effect"
import * as JsonSchemaValidator from "../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import * as McpClient from "../../src/adapters/mcp/client/McpClient.ts"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import * as Memory from "../../src/adapters/memory/MemoryTransport.ts"
import { Computer } from "../../src/application/computer/Computer.ts"
import { ComputerSettings } from "../../src/application/computer/ComputerSettings.ts"
import * as InProcess from "../../src/application/computer/servers/InProcessConnector.ts"
import { Inputs } from "../../src/application/computer/inputs/Inputs.ts"
import type { ServerState } from "../../src/application/computer/servers/ServersSnapshot.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import type { CatalogueStore } from "../../src/application/ports/mcp/CatalogueStore.ts"
import { TransportClient } from "../../src/application/ports/Transport.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { parseComputerConfig } from "../../src/domain/config/parseConfig.ts"
import { PROTOCOL_VERSION } from "../../src/domain/wire/lines.ts"
import { Authenticator } from "../../src/application/ports/Authenticator.ts"
import { Observability } from "../../src/application/server/observability/Observability.ts"
import { portDefaults } from "../portDefaults.ts"

/** A Server in this process, and the log of all parts. */
export interface Place {
  readonly client: Layer.Layer<TransportClient>
  readonly logging: Layer.Layer<never>
  /** Warnings and errors, as text. */
  readonly warnings: () => ReadonlyArray<string>
}

/** A Server without a network. */
export const makePlace: Effect.Effect<Place, never, Scope.Scope> = Effect.gen(function* () {
  const warnings: Array<string> = []
  const logger = Logger.make(({ cause, logLevel, message }) => {
    if (["Warn", "Error", "Fatal"].includes(logLevel)) {
      warnings.push(`${inspect(message, { depth: 5 })} ${Cause.pretty(cause)}`)
    }
  })
  const logging = Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "All"))
  const context = yield* Server.layer.pipe(
    Layer.provideMerge(Memory.layer()),
    Layer.provide(MemoryCluster.layer),
    Layer.provide(logging),
    Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
    Layer.fresh,
    Layer.build,
    Effect.orDie
  )
  return {
    client: Layer.succeed(TransportClient, Context.get(context, TransportClient)),
    logging,
    warnings: () => warnings
  }
})

/** A server configuration that runs Node with these arguments; no tool needs consent. */
export const nodeServer = (...args: ReadonlyArray<string>) => ({
  type: "stdio",
  server_parameters: { command: process.execPath, args },
  default_tool_meta: { auto_apply: true }
})

export const configOf = (servers: object) => Result.getOrThrow(parseComputerConfig({ servers }))

/** A Computer with real MCP servers. Without an office it starts none of them. */
export const makeComputer = Effect.fnUntraced(function* (
  place: Place,
  servers: object,
  {
    catalogues,
    office,
    sessions = {},
    settings = {}
  }: {
    readonly catalogues?: Layer.Layer<CatalogueStore>
    readonly office?: string
    readonly sessions?: InProcess.InProcessSessions
    readonly settings?: Partial<ComputerSettings>
  } = {}
): Effect.fn.Return<Computer["Service"], never, Scope.Scope> {
  const context = yield* Computer.layer({
    name: "pc-1",
    config: InProcess.addInProcessServers(configOf(servers), sessions),
    ...(office !== undefined && { office })
  }).pipe(
    Layer.provide(InProcess.layer(sessions)),
    Layer.provide(McpClient.layer),
    Layer.provide(NodeServices.layer),
    Layer.provide(JsonSchemaValidator.layer),
    Layer.provide(portDefaults),
    Layer.provide(Inputs.layer()),
    Layer.provide(catalogues ?? Layer.empty),
    Layer.provide(place.client),
    Layer.provide(Layer.succeed(ComputerSettings, { ...ComputerSettings.defaultValue(), ...settings })),
    Layer.provide(place.logging),
    Layer.fresh,
    Layer.build,
    Effect.orDie
  )
  return Context.get(context, Computer)
})

/** Timeout of all waits in these tests. */
export const testTimeout = Duration.seconds(60)

/** Waits until the condition holds. */
export const becomes = (what: string, holds: () => boolean) =>
  Effect.retry(
    Effect.suspend(() => (holds() ? Effect.void : Effect.fail(`${what} did not happen`))),
    Schedule.spaced("10 millis").pipe(Schedule.upTo({ duration: testTimeout }))
  )

type Tagged<T extends ServerState["_tag"]> = Extract<ServerState, { readonly _tag: T }>

/** Waits until the server has this state and the condition holds. */
export const until = <T extends ServerState["_tag"]>(
  { changes }: Computer["Service"],
  server: string,
  tag: T,
  holds: (state: Tagged<T>) => boolean = () => true
): Effect.Effect<Tagged<T>, string> =>
  changes.pipe(
    Stream.map((states) => states.get(server)),
    Stream.filter((state): state is Tagged<T> => state?._tag === tag),
    Stream.filter(holds),
    Stream.runHead,
    Effect.timeoutOption(testTimeout),
    Effect.map(Option.flatten),
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.fail(`${server} never became ${tag}`),
        onSome: (state) => Effect.succeed(state)
      })
    )
  )

/** An Agent that only records the events of its office, in order. */
export const listen = Effect.fnUntraced(function* (place: Place, office: string) {
  const events: Array<string> = []
  const { connect } = yield* Effect.provide(TransportClient, place.client)
  const link = yield* connect({
    version: PROTOCOL_VERSION,
    auth: { role: "agent" },
    onMessage: (event) => Effect.sync(() => (events.push(event), []))
  })
  yield* link.request(
    "server:join_office",
    jsonBody({ role: "agent", name: "agent-1", office_id: office }),
    testTimeout
  )
  return (event: string) => events.filter((one) => one === event).length
})

/** The lines in the journal of a fixture. */
export const linesOf = (file: string): ReadonlyArray<string> => readFileSync(file, "utf8").split("\n").slice(0, -1)
