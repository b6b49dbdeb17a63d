import { assert } from "@effect/vitest"
import { ConfigProvider, Context, Deferred, Duration, Effect, Layer, Option, Result, type Scope, Stream } from "effect"
import * as JsonSchemaValidator from "../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import * as VerelEngine from "../../src/adapters/vrl/VerelEngine.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import { Computer } from "../../src/application/computer/Computer.ts"
import { ComputerSettings } from "../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../src/application/computer/inputs/Inputs.ts"
import { McpSessionError } from "../../src/application/ports/McpSession.ts"
import { parseComputerConfig } from "../../src/domain/config/parseConfig.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import type { LineName } from "../../src/domain/wire/lines.ts"
import { agentIn, computerIn } from "./joinedMembers.ts"
import type { World } from "./World.ts"
import { portDefaults } from "../portDefaults.ts"

/** The services of a world that our members need. */
type Place = Pick<World, "client" | "logging">

/** A tool that gives a fixed text or the result of `run`. */
export const tool = (
  name: string,
  run: MemoryMcp.MemoryTool["run"] = () => Effect.succeed(textResult(name)),
  more: JsonObject = {}
): MemoryMcp.MemoryTool => ({
  definition: { name, description: `does ${name}`, inputSchema: { type: "object" }, ...more },
  run
})

export const textResult = (text: string, more: JsonObject = {}): JsonObject => ({
  content: [{ type: "text", text }],
  ...more
})

/** A tool that runs until it is interrupted. */
export const hangingTool = Effect.fnUntraced(function* (name: string) {
  const started = yield* Deferred.make<void>()
  const stopped = yield* Deferred.make<void>()
  const run = Deferred.succeed(started, undefined).pipe(
    Effect.andThen(Effect.never),
    Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
  )
  return { hanging: tool(name, () => run), started: Deferred.await(started), stopped: Deferred.await(stopped) }
})

/** A resource with these texts as contents. */
export const resource = (
  uri: string,
  texts: ReadonlyArray<string> = ["T"],
  more: JsonObject = {}
): MemoryMcp.MemoryResource => ({
  definition: { uri, name: uri, ...more },
  read: Effect.succeed(texts.map((text) => ({ uri, text })))
})

/** A resource that cannot be read. */
export const unreadable = (uri: string): MemoryMcp.MemoryResource => ({
  definition: { uri, name: uri },
  read: Effect.fail(new McpSessionError({ reason: "protocol", message: "cannot be read" }))
})

/** The options of a Computer under test. */
export interface Cut {
  readonly name?: string
  readonly protocol?: LineName | "auto"
  readonly office?: string
  /** MCP servers by name, in configuration order; they are made of options. */
  readonly servers?: { readonly [name: string]: MemoryMcp.MemoryMcpServer | MemoryMcp.MemoryMcpServerOptions }
  /** Settings of servers beside their parameters. Tools need no confirmation by default. */
  readonly configure?: { readonly [name: string]: object }
  /** Other parts of the configuration. */
  readonly config?: object
  readonly settings?: Partial<ComputerSettings>
  readonly environment?: { readonly [name: string]: string }
}

/** Starts our Computer in an office of the world. */
export const computerUnderTest = Effect.fnUntraced(function* (
  world: Place,
  {
    config = {},
    configure = {},
    environment = {},
    name = "pc-1",
    office = "O1",
    protocol = "0.2",
    servers = {},
    settings = {}
  }: Cut = {}
): Effect.fn.Return<Computer["Service"], never, Scope.Scope> {
  const given = {
    servers: Object.fromEntries(
      Object.keys(servers).map((server) => [
        server,
        {
          type: "stdio",
          server_parameters: { command: "memory" },
          default_tool_meta: { auto_apply: true },
          ...configure[server]
        }
      ])
    ),
    ...config
  }
  const running = new Map<string, MemoryMcp.MemoryMcpServer>()
  for (const [server, made] of Object.entries(servers)) {
    running.set(server, "connect" in made ? made : yield* MemoryMcp.makeMemoryMcpServer({ name: server, ...made }))
  }
  const context = yield* Computer.layer({
    name,
    office,
    protocol,
    config: Result.getOrThrow(parseComputerConfig(given))
  }).pipe(
    Layer.provide(MemoryMcp.layer(running)),
    Layer.provide(Inputs.layer()),
    Layer.provide(JsonSchemaValidator.layer),
    Layer.provide(portDefaults),
    Layer.provide(VerelEngine.layer()),
    Layer.provide(world.client),
    Layer.provide(
      Layer.succeed(ComputerSettings, {
        ...ComputerSettings.defaultValue(),
        changeThrottle: Duration.zero,
        ...settings
      })
    ),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment }))),
    Layer.provide(world.logging),
    Layer.fresh,
    Layer.build,
    Effect.orDie
  )
  return Context.get(context, Computer)
})

/** Starts our Agent in an office of the world. */
export const agentUnderTest = Effect.fnUntraced(function* (
  world: Place,
  { name = "agent-1", office = "O1", protocol = "0.2" }: Pick<Cut, "name" | "office" | "protocol"> = {}
): Effect.fn.Return<Agent["Service"], never, Scope.Scope> {
  const context = yield* Agent.layer({ name, office, protocol }).pipe(
    Layer.provide(world.client),
    Layer.provide(world.logging),
    Layer.fresh,
    Layer.build,
    Effect.orDie
  )
  return Context.get(context, Agent)
})

/** Starts our Computer with MCP servers of these options, and a scripted Agent in its office. */
export const officeUnderTest = Effect.fnUntraced(function* (
  world: World,
  servers: { readonly [name: string]: MemoryMcp.MemoryMcpServerOptions } = {},
  cut: Omit<Cut, "servers"> = {}
) {
  const made: Record<string, MemoryMcp.MemoryMcpServer> = {}
  for (const [name, options] of Object.entries(servers)) {
    made[name] = yield* MemoryMcp.makeMemoryMcpServer({ name, ...options })
  }
  const computer = yield* computerUnderTest(world, { ...cut, servers: made })
  const a1 = yield* agentIn(world, "O1")
  return { a1, computer, server: (name: string) => made[name] ?? assert.fail(`no server ${name}`) }
})

interface Approvals<A> {
  readonly approvals: Stream.Stream<ReadonlyArray<A>>
}

/** Waits until a call waits for an approval or an answer, and gives the first. */
export const firstOpen = <A>({ approvals }: Approvals<A>): Effect.Effect<A> =>
  Effect.map(
    Stream.runHead(Stream.filterMap(approvals, ([first]) => Result.fromNullishOr(first, () => undefined))),
    Option.getOrThrow
  )

/** Waits until no call waits for an approval or an answer. */
export const noneOpen = ({ approvals }: Approvals<unknown>) =>
  Effect.asVoid(Stream.runHead(Stream.filter(approvals, (all) => all.length === 0)))

/**
 * Our Agent in the office of a raw Computer, which replies to the automatic requests of our Agent, and with `answers` to
 * others.
 */
export const scriptedOffice = Effect.fnUntraced(function* (
  world: World,
  answers: (event: string, body: Record<string, unknown>) => unknown = () => undefined
) {
  const c1 = yield* computerIn(world, "O1")
  yield* c1.answers((event, given) => {
    const body = given as Record<string, unknown>
    const { req_id } = body
    const usual = event === "client:get_desktop" ? { desktops: [], req_id } : { tools: [], req_id }
    return Effect.succeed([answers(event, body) ?? usual])
  })
  return { c1, agent: yield* agentUnderTest(world) }
})
