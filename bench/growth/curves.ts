import { Context, Duration, Effect, Layer, Result, type Scope } from "effect"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import * as MemoryTransport from "../../src/adapters/memory/MemoryTransport.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import { Computer } from "../../src/application/computer/Computer.ts"
import { ComputerSettings } from "../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../src/application/computer/inputs/Inputs.ts"
import { isOffered } from "../../src/application/computer/servers/ServersSnapshot.ts"
import { Authenticator } from "../../src/application/ports/Authenticator.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import { TransportClient } from "../../src/application/ports/Transport.ts"
import { Limits } from "../../src/application/server/Limits.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { Observability } from "../../src/application/server/observability/Observability.ts"
import { parseComputerConfig } from "../../src/domain/config/parseConfig.ts"
import { organizeDesktop } from "../../src/domain/desktop/organizeDesktop.ts"
import { buildCatalogue } from "../../src/domain/tools/catalogue.ts"
import { makeToolIndex } from "../../src/domain/tools/search/ToolIndex.ts"
import { portDefaults } from "../../test/portDefaults.ts"

/** CPU time of a measurement in microseconds, at least. */
export const MeasuredMicros = Context.Reference<number>("bench/growth/MeasuredMicros", {
  defaultValue: () => 300_000
})

const cpuMicros = (): number => {
  const { system, user } = process.cpuUsage()
  return system + user
}

/** CPU time of an effect in microseconds, after as many runs to warm up. */
const costOf = Effect.fnUntraced(function* <E, R>(effect: Effect.Effect<unknown, E, R>) {
  const measured = yield* MeasuredMicros
  let cost = 0
  for (const micros of [measured / 2, measured]) {
    const before = cpuMicros()
    let runs = 0
    while (cpuMicros() - before < micros || runs < 3) {
      yield* effect
      runs += 1
    }
    cost = (cpuMicros() - before) / runs
  }
  return cost
})

const makeTool = (index: number, prefix: string): MemoryMcp.MemoryTool => ({
  definition: {
    name: `${prefix}_${index}`,
    description: `Does the work number ${index} with a file of the project`,
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] }
  },
  run: () => Effect.succeed({ content: [{ type: "text", text: "done" }] })
})

const makeTools = (count: number, prefix = "tool") =>
  Array.from({ length: count }, (_, index) => makeTool(index, prefix))

const configOf = (names: ReadonlyArray<string>) =>
  Result.getOrThrow(
    parseComputerConfig({
      servers: Object.fromEntries(
        names.map((name) => [
          name,
          { type: "stdio", server_parameters: { command: "memory" }, default_tool_meta: { auto_apply: true } }
        ])
      )
    })
  )

const unlimited = {
  ...Limits.defaultValue(),
  connections: Number.POSITIVE_INFINITY,
  offices: Number.POSITIVE_INFINITY,
  membersPerOffice: Number.POSITIVE_INFINITY,
  messagesPerSecond: Number.POSITIVE_INFINITY,
  messageBurst: Number.POSITIVE_INFINITY
}

/** A Server, and the way to it. */
const startServer = Effect.map(
  Layer.build(
    Server.layer.pipe(
      Layer.provideMerge(MemoryTransport.layer()),
      Layer.provide([MemoryCluster.layer, Authenticator.layerAllowAll, Observability.layerNone]),
      Layer.provide(Layer.succeed(Limits, unlimited)),
      Layer.fresh
    )
  ),
  (context) => Context.pick(TransportClient)(context)
)

type Client = Effect.Success<typeof startServer>

/** A Computer without MCP servers: only a member. `onReceived` is called for each message to it. */
const joinMember = Effect.fnUntraced(function* (client: Client, office: string, name: string, onReceived = () => {}) {
  const { connect } = Context.get(client, TransportClient)
  const onMessage = () => Effect.as(Effect.sync(onReceived), [])
  const link = yield* connect({ version: "0.2.0", auth: { role: "computer" }, onMessage })
  const session = jsonBody({ role: "computer", name, office_id: office })
  yield* link.request("server:join_office", session, Duration.seconds(10))
})

/**
 * A Server with idle members. `settle` waits until they receive nothing more: each hears of later members, and an
 * Agent asks each for its tools, which would count as cost of what is measured.
 */
const startServerWith = Effect.fnUntraced(function* (names: ReadonlyArray<readonly [office: string, name: string]>) {
  const client = yield* startServer
  let received = 0
  const onReceived = () => void (received += 1)
  yield* Effect.forEach(names, ([office, name]) => joinMember(client, office, name, onReceived), { discard: true })
  const receivedSince = Effect.suspend(() => {
    const before = received
    return Effect.map(Effect.sleep("100 millis"), () => received > before)
  })
  return { client, settle: Effect.repeat(receivedSince, { while: (isBusy) => isBusy }) }
})

const startComputer = (client: Client, office: string, servers: ReadonlyMap<string, MemoryMcp.MemoryMcpServer>) =>
  Effect.map(
    Computer.layer({ name: "desk", office, config: configOf([...servers.keys()]) }).pipe(
      Layer.provide([MemoryMcp.layer(servers), Inputs.layer(), Layer.succeedContext(client), portDefaults]),
      Layer.provide(
        Layer.succeed(ComputerSettings, { ...ComputerSettings.defaultValue(), changeThrottle: Duration.zero })
      ),
      Layer.fresh,
      Layer.build
    ),
    (context) => Context.get(context, Computer)
  )

const startAgent = (client: Client, office: string) =>
  Effect.map(
    Agent.layer({ name: "thinker", office }).pipe(
      Layer.provide(Layer.succeedContext(client)),
      Layer.fresh,
      Layer.build
    ),
    (context) => Context.get(context, Agent)
  )

/** An Agent, and a Computer with tools of one MCP server. */
const startPair = Effect.fnUntraced(function* (client: Client, tools: number) {
  const server = yield* MemoryMcp.makeMemoryMcpServer({ tools: makeTools(tools) })
  yield* startComputer(client, "work", new Map([["files", server]]))
  return yield* startAgent(client, "work")
})

const callTool = (agent: Agent["Service"]) =>
  agent.callTool({ computer: "desk", tool: "tool_0", params: { path: "a.md" } })

const windowAt = (server: string, index: number) => ({
  server,
  uri: `window://${server}/${index}?priority=${index % 100}`,
  contents: [{ text: `Line of window ${index}\n`.repeat(20) }]
})

/** A cost by size. Server and members run in this process on the memory transport: connections do not count. */
export interface Curve {
  readonly name: string
  /** What grows. */
  readonly by: string
  readonly sizes: ReadonlyArray<number>
  /** CPU time at this size in microseconds. */
  readonly cost: (size: number) => Effect.Effect<number, unknown, Scope.Scope>
}

const numbered = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}-${index}`)

const memoryServers = (count: number) =>
  Effect.map(
    Effect.forEach(numbered(count, "server"), (name) =>
      Effect.map(MemoryMcp.makeMemoryMcpServer({ tools: makeTools(5, name) }), (server) => [name, server] as const)
    ),
    (servers) => new Map(servers)
  )

/** The listing of one MCP server. */
const listingOf = (size: number) =>
  Object.values(configOf(["files"]).servers).map((config) => ({
    config,
    tools: makeTools(size).map(({ definition }) => definition)
  }))

const toolsOf = (size: number) =>
  [...buildCatalogue(listingOf(size)).entries].map(([name, { tool }]) => [name, tool] as const)

const toolCounts = [10, 100, 1000, 10_000]

export const curves: ReadonlyArray<Curve> = [
  {
    name: "call",
    by: "offices of the Server",
    sizes: [1, 10, 100, 1000, 10_000],
    cost: Effect.fnUntraced(function* (size) {
      const { client, settle } = yield* startServerWith(numbered(size, "office").map((office) => [office, "idle"]))
      const agent = yield* startPair(client, 10)
      yield* settle
      return yield* costOf(callTool(agent))
    })
  },
  {
    name: "call",
    by: "members of the office",
    sizes: [1, 10, 100, 1000],
    cost: Effect.fnUntraced(function* (size) {
      const { client, settle } = yield* startServerWith(numbered(size, "idle").map((name) => ["work", name]))
      const agent = yield* startPair(client, 10)
      yield* settle
      return yield* costOf(callTool(agent))
    })
  },
  {
    name: "join and leave",
    by: "members of the office",
    sizes: [1, 10, 100, 1000],
    cost: Effect.fnUntraced(function* (size) {
      const { client, settle } = yield* startServerWith(numbered(size, "idle").map((name) => ["work", name]))
      yield* settle
      return yield* costOf(Effect.scoped(joinMember(client, "work", "newcomer")))
    })
  },
  {
    name: "get_tools",
    by: "tools of the Computer",
    sizes: toolCounts,
    cost: Effect.fnUntraced(function* (size) {
      const agent = yield* startPair(yield* startServer, size)
      return yield* costOf(agent.getTools("desk"))
    })
  },
  {
    name: "call",
    by: "tools of the Computer",
    sizes: toolCounts,
    cost: Effect.fnUntraced(function* (size) {
      return yield* costOf(callTool(yield* startPair(yield* startServer, size)))
    })
  },
  {
    name: "catalogue",
    by: "tools of the Computer",
    sizes: toolCounts,
    cost: (size) => {
      const listed = listingOf(size)
      return costOf(Effect.sync(() => buildCatalogue(listed)))
    }
  },
  {
    name: "index for the search",
    by: "tools of the office",
    sizes: toolCounts,
    cost: (size) => {
      const tools = toolsOf(size)
      return costOf(Effect.sync(() => makeToolIndex(tools)))
    }
  },
  {
    name: "search",
    by: "tools of the office",
    sizes: toolCounts,
    cost: (size) => {
      const index = makeToolIndex(toolsOf(size))
      return costOf(Effect.sync(() => index.search("work with a file of number 7", 10)))
    }
  },
  {
    name: "desktop",
    by: "windows of one MCP server",
    sizes: [10, 100, 1000],
    cost: (size) => {
      const windows = Array.from({ length: size }, (_, index) => windowAt("files", index))
      return costOf(Effect.sync(() => organizeDesktop(windows, undefined, [])))
    }
  },
  {
    name: "desktop",
    by: "MCP servers with ten windows each",
    sizes: [1, 10, 100],
    cost: (size) => {
      const windows = numbered(size, "server").flatMap((server) =>
        Array.from({ length: 10 }, (_, index) => windowAt(server, index))
      )
      return costOf(Effect.sync(() => organizeDesktop(windows, undefined, [])))
    }
  },
  {
    name: "start of a Computer",
    by: "MCP servers",
    sizes: [1, 10, 30, 100, 300],
    cost: Effect.fnUntraced(function* (size) {
      const client = yield* startServer
      const servers = yield* memoryServers(size)
      const start = Effect.gen(function* () {
        const computer = yield* startComputer(client, "work", servers)
        yield* Effect.repeat(Effect.yieldNow, {
          while: () => Effect.map(computer.servers, (states) => ![...states.values()].every(isOffered))
        })
        yield* computer.catalogue
      })
      return yield* costOf(Effect.scoped(start))
    })
  },
  {
    name: "reload of a configuration",
    by: "MCP servers, of which one changes",
    sizes: [1, 10, 30, 100, 300],
    cost: Effect.fnUntraced(function* (size) {
      const client = yield* startServer
      const servers = yield* memoryServers(size)
      const computer = yield* startComputer(client, "work", servers)
      const config = configOf([...servers.keys()])
      const [first] = Object.values(config.servers)
      if (first === undefined) throw new Error("no MCP server")
      let isForbidden = false
      const reload = Effect.suspend(() => {
        isForbidden = !isForbidden
        const [name = ""] = servers.keys()
        const changed = { ...first, forbiddenTools: isForbidden ? [`${name}_1`] : [] }
        return computer.reconfigure({
          config: { ...config, servers: { ...config.servers, [name]: changed } },
          variables: {}
        })
      })
      return yield* costOf(reload)
    })
  }
]
