import { setTimeout as sleep } from "node:timers/promises"
import { Context, Duration, Effect, Exit, Layer, Result, Scope } from "effect"
import * as JsonSchemaValidator from "../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import * as McpClient from "../../../src/adapters/mcp/client/McpClient.ts"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { ComputerSettings } from "../../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../../src/application/computer/inputs/Inputs.ts"
import { isOffered } from "../../../src/application/computer/servers/ServersSnapshot.ts"
import { TransportClient } from "../../../src/application/ports/Transport.ts"
import { Limits } from "../../../src/application/server/Limits.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { oneIn, pick, type Random } from "../random.ts"
import { type Feeder, must, type Note, type Verdict } from "../Surface.ts"
import { makeWitness } from "./calls.ts"
import { type Child, layerOf } from "../../adapters/mcp/client/stdio/childrenInMemory.ts"
import { errorsTo } from "./errors.ts"
import { documentOf, type HostilePeer, type Moment, readInput, toolOf, windowOf, windowText } from "./mcpPeer.ts"
import { makeStdioPeer } from "./stdioPeer.ts"
import { until } from "./wait.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Observability } from "../../../src/application/server/observability/Observability.ts"
import { portDefaults } from "../../portDefaults.ts"

/** A malicious MCP server and its configuration. */
export interface MaliciousServer {
  readonly peer: HostilePeer & Partial<Child>
  readonly config: JsonObject
}

/** The tolerated behaviour of malicious servers. */
export interface McpOfficeOptions {
  readonly maliciousServers: ReadonlyArray<MaliciousServer>
  /** The session survives every message and ends only with the process. */
  readonly isLasting: boolean
  /** How long to wait for a reply that may never arrive; without it every request has a reply. */
  readonly timeouts?: {
    readonly answer: Duration.Duration
    readonly session: Duration.Duration
    readonly windows: Duration.Duration
  }
}

export const office = "office"
export const pc = "pc"
const witnessName = "witness"

/** Timeout of a correct reply on a busy machine, in whole seconds. */
const enough = 10

/** How long a session may stay unresponsive before a new one starts, in milliseconds. */
const anew = 3000

/** How long to wait for a request that may never arrive, in milliseconds. */
const unasked = 100

/** The number of pages of an endless listing; seldom above the limit. */
const pages = { defaults: [1, 1, 1, 3], endless: 1100, seldom: 200 }

/** The witness reads the desktop once in this number of turns: it reads the windows of all servers. */
const betweenLooks = 8

/** Disabled limits: reaching them would hide the code behind them. */
const limits = { ...Limits.defaultValue(), messagesPerSecond: 1_000_000, messageBurst: 1_000_000 }

const settings = (timeouts: McpOfficeOptions["timeouts"]): ComputerSettings => ({
  ...ComputerSettings.defaultValue(),
  changeThrottle: Duration.zero,
  ...(timeouts !== undefined && {
    connectTimeout: timeouts.session,
    readTimeout: timeouts.windows
  }),
  resolveDpe: ({ uri }) => Effect.succeed({ uri: `https://example.org/?${uri.length}` })
})

/** A Computer in an office in memory. Its processes over stdio are fake. */
export const openComputer = Effect.fnUntraced(function* (
  servers: { readonly [name: string]: JsonObject },
  findChild: (name: string) => Child,
  computerSettings: ComputerSettings
) {
  const place = yield* Server.layer.pipe(
    Layer.provideMerge(MemoryTransport.layer()),
    Layer.provide(MemoryCluster.layer),
    Layer.provide(Layer.succeed(Limits, limits)),
    Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
    Layer.fresh,
    Layer.build
  )
  const transport = Layer.succeed(TransportClient, Context.get(place, TransportClient))
  const shared = { default_tool_meta: { auto_apply: true } }
  const config = Result.getOrThrow(
    parseComputerConfig({
      servers: Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, { ...server, ...shared }]))
    })
  )
  const computer = Context.get(
    yield* Computer.layer({ name: pc, office, config }).pipe(
      Layer.provide(transport),
      Layer.provide(Inputs.layer()),
      Layer.provide(McpClient.layer.pipe(Layer.provide(layerOf(findChild)))),
      Layer.provide(JsonSchemaValidator.layer),
      Layer.provide(portDefaults),
      Layer.provide(Layer.succeed(ComputerSettings, computerSettings)),
      Layer.build
    ),
    Computer
  )
  return { place, transport, computer }
})

/**
 * A Computer in an office in memory. All of its MCP servers are malicious except the witness, which an Agent calls all
 * the time.
 */
export const openMcpOffice = (
  note: Note,
  { isLasting, timeouts, maliciousServers }: McpOfficeOptions
): Effect.Effect<Feeder, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const witness = makeStdioPeer(witnessName)
    const find = (name: string): Child => {
      const { started = () => undefined, received = () => undefined } =
        maliciousServers.find(({ peer }) => peer.name === name)?.peer ?? witness
      return { started, received }
    }
    const { computer, place, transport } = yield* openComputer(
      {
        [witnessName]: { type: "stdio", server_parameters: { command: "x", args: [witnessName] } },
        ...Object.fromEntries(maliciousServers.map(({ config, peer }) => [peer.name, config]))
      },
      find,
      settings(timeouts)
    )
    const context = yield* Effect.context<Scope.Scope>()
    const run = Effect.runPromiseWith(context)
    const { load } = Context.get(place, Server)

    let connection: { readonly agent: Agent["Service"]; readonly scope: Scope.Closeable } | undefined
    const agent = (): Agent["Service"] => {
      if (connection === undefined) throw new Error("no Agent connected")
      return connection.agent
    }
    const enter = async (): Promise<void> => {
      const scope = Scope.makeUnsafe()
      const built = Agent.layer({ name: "agent", office }).pipe(Layer.provide(transport), Layer.fresh, Layer.build)
      connection = { scope, agent: Context.get(await run(Scope.provide(built, scope)), Agent) }
    }
    const leave = async (): Promise<void> => {
      if (connection !== undefined) await run(Scope.close(connection.scope, Exit.void))
      connection = undefined
      await until(
        () => load().sessions === 1 && load().calls === 0,
        () => `leaked: ${JSON.stringify(load())}`
      )
    }

    /** Expects a reply or a protocol error: an Agent must not see any other failure. */
    const request = async <A>(
      asking: Effect.Effect<A, { readonly _tag: string; readonly message: string }>
    ): Promise<A | undefined> => {
      const bounded = timeouts === undefined ? asking : Effect.timeout(asking, timeouts.answer)
      const answer = await run(Effect.result(bounded))
      if (Result.isSuccess(answer)) return answer.success
      const { _tag, message } = answer.failure
      must(_tag === "ProtocolError" || _tag === "TimeoutError", `an Agent received ${_tag}: ${message}`)
      return undefined
    }
    let turns = 0
    const call = (tool: string, turn: number) =>
      agent().callTool({ computer: pc, tool, params: { turn }, timeout: enough })
    const gives = async (name: string, turn: number): Promise<boolean> => {
      const { content } = await run(call(toolOf(name), turn))
      return JSON.stringify(content) === JSON.stringify([{ type: "text", text: JSON.stringify({ turn }) }])
    }

    const isUp = async (name: string): Promise<boolean> => isOffered((await run(computer.servers)).get(name))
    const isWell = async (name: string): Promise<boolean> => {
      turns += 1
      return (await isUp(name)) && Promise.race([gives(name, turns), sleep(anew, false)])
    }

    const calls = async ({ callsOf, name }: HostilePeer): Promise<Verdict> => {
      turns += 1
      const turn = turns
      const result = await request(call(toolOf(name), turn))
      must(callsOf(turn) <= 1, "one call ran the tool twice")
      return result?.isError === false ? "accepted" : "refused"
    }
    const lists = async ({ name }: HostilePeer): Promise<Verdict> => {
      // The Computer knows its tools and configuration: these requests must succeed.
      const tools = await run(agent().getTools(pc))
      const others = tools.filter(({ name: tool }) => !tool.startsWith("ask-"))
      for (const { name: tool } of others.slice(0, 2)) await request(call(tool, 0))
      await request(agent().getResources(pc, name))
      await request(agent().findDocuments(pc))
      return others.length > 0 ? "accepted" : "refused"
    }
    const reads = async ({ name }: HostilePeer): Promise<Verdict> => {
      const desktop = await request(agent().getDesktop(pc, { window: windowOf(name) }))
      const document = await request(agent().getDpe(pc, documentOf(name)))
      return desktop?.length === 1 || document !== undefined ? "accepted" : "refused"
    }
    const received = (peer: HostilePeer) => Promise.race([peer.played(), sleep(unasked)])
    const starts = async (peer: HostilePeer): Promise<Verdict> => {
      await run(computer.restart(peer.name))
      return (await isUp(peer.name)) ? "accepted" : "refused"
    }
    const relists = async (peer: HostilePeer, what: "tools" | "resources", random: Random): Promise<void> => {
      const notified = received(peer)
      if (oneIn(random, 2)) await starts(peer)
      else peer.notifyChanged(what)
      await notified
    }

    const provoke = async (peer: HostilePeer, moment: Moment, output: Buffer, random: Random): Promise<Verdict> => {
      switch (moment) {
        case "say":
          peer.print(output, random)
          return calls(peer)
        case "call":
          return calls(peer)
        case "read":
          return reads(peer)
        case "tools":
        case "resources":
          await relists(peer, moment, random)
          return lists(peer)
        case "hello":
        case "accept":
          return starts(peer)
        case "subscribe":
        case "listen":
        case "leave": {
          const notified = received(peer)
          const verdict = await starts(peer)
          await notified
          return verdict
        }
      }
    }
    /** Messages at these moments affect the session until its end. */
    const isRemembered = (moment: Moment): boolean => !["say", "call", "read"].includes(moment)

    const { begin, end } = makeWitness(async (turn) => {
      const tools = await run(agent().getTools(pc))
      must(
        tools.some(({ name }) => name === toolOf(witnessName)),
        "its tool is not listed"
      )
      if (turn % betweenLooks === 0) {
        const shown = await run(agent().getDesktop(pc))
        must(
          shown.some((window) => window.includes(windowText(witnessName))),
          "its window is not shown"
        )
      }
      return gives(witnessName, turn)
    })

    const feeder: Feeder = {
      feed: async (input, random, lane) => {
        const peer = maliciousServers[lane]?.peer
        if (peer === undefined) throw new Error("no peer in this lane")
        const { moment, output } = readInput(input)
        peer.play({
          moment,
          output,
          times: isLasting && oneIn(random, pages.seldom) ? pages.endless : pick(random, pages.defaults)
        })
        const verdict = await provoke(peer, moment, output, random)
        peer.play(undefined)
        if (isLasting && !isRemembered(moment)) {
          must(await isWell(peer.name), "the session no longer works after an odd message")
        } else {
          await until(
            async () => (await isWell(peer.name)) || (await starts(peer), false),
            () => `${peer.name} does not work after a restart`
          )
        }
        return verdict
      },
      begin: async () => {
        await enter()
        for (const { peer } of maliciousServers) await run(computer.restart(peer.name))
        await begin()
      },
      settle: async () => {
        await end()
        for (const { peer } of maliciousServers) await run(computer.restart(peer.name))
        await leave()
      },
      finish: () => Promise.resolve()
    }
    return feeder
  }).pipe(Effect.provide(errorsTo(note)))
