import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client"
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Context, Duration, Effect, Layer, Redacted, type Scope } from "effect"
import { publishHttp } from "../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../src/application/bridge/OfficeMcpSession.ts"
import { ComputerSettings } from "../../../src/application/computer/ComputerSettings.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { appCapability } from "../../../src/domain/tools/appTools.ts"
import { office, openComputer, pc } from "./McpOffice.ts"
import {
  type List,
  makeDirectServer,
  makeStdioServer,
  type OddServer,
  plainTool,
  plainUri,
  startHttpServers,
  ways
} from "./oddServer.ts"

/** The timeout of calls in seconds, and of requests to MCP servers: longer than the time that an input may take. */
const timeout = 120

const token = Redacted.make("the-token-of-the-hosts")

/** A host of the published office: a client of an official SDK, whose schemas judge what it receives. */
export interface Host {
  readonly name: string
  /** The items of a whole list; rejects when the SDK refuses it. */
  readonly list: (list: List) => Promise<ReadonlyArray<object>>
  /** Rejects when the call fails, or the SDK refuses its result. */
  readonly call: (server: string) => Promise<object>
  /** Rejects as a call does, and so does `read`. */
  readonly prompt: (server: string) => Promise<object>
  readonly read: (server: string) => Promise<object>
}

type Client = Pick<
  LegacyClient | ModernClient,
  "listTools" | "listResources" | "listResourceTemplates" | "listPrompts" | "callTool" | "getPrompt" | "readResource"
>

/** The names of a server's parts for a host. */
interface Names {
  readonly tool: (server: string) => string
  readonly uri: (server: string) => string
}

const officeNames: Names = {
  tool: (server) => `${pc}__${plainTool(server)}`,
  uri: (server) => `mcp://${pc}/${server}/${plainUri}`
}
const directNames: Names = { tool: plainTool, uri: () => plainUri }

/** The client of MCP 2026-07-28 keeps a list for as long as its office says, unless each request refreshes it. */
const again = { cacheMode: "refresh" } as const

const makeHost = (name: string, client: Client, names: Names): Host => ({
  name,
  list: async (list) => {
    switch (list) {
      case "tools":
        return (await client.listTools(undefined, again)).tools
      case "resources":
        return (await client.listResources(undefined, again)).resources
      case "resourceTemplates":
        return (await client.listResourceTemplates(undefined, again)).resourceTemplates
      case "prompts":
        return (await client.listPrompts(undefined, again)).prompts
    }
  },
  call: (server) => client.callTool({ name: names.tool(server), arguments: {} }),
  prompt: (server) => client.getPrompt({ name: names.tool(server) }),
  read: (server) => client.readResource({ uri: names.uri(server) }, again)
})

export interface OddOffice {
  readonly servers: ReadonlyArray<OddServer>
  readonly hostsOf: (server: OddServer) => ReadonlyArray<Host>
  /** Opens a new session with a server without the backoff after its failures. */
  readonly restart: (server: string) => Promise<void>
}

const identity = { name: "host", version: "1" }

const connectHosts = Effect.fnUntraced(function* (at: string, names: Names) {
  const url = new URL(at)
  const requestInit = { headers: { Authorization: `Bearer ${Redacted.value(token)}` } }
  // Hosts that show apps also see their resources.
  const capabilities = { extensions: appCapability }
  const older = new LegacyClient(identity, { capabilities })
  const newer = new ModernClient(identity, { capabilities, versionNegotiation: { mode: "auto" } })
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      await older.connect(new StreamableHTTPClientTransport(url, { requestInit }) as Transport)
      await newer.connect(new ModernHttp(url, { requestInit }))
    }),
    () => Effect.promise(() => Promise.all([older.close(), newer.close()]))
  )
  return [makeHost("v1", older, names), makeHost("v2", newer, names)]
})

const configOf = (server: OddServer & { readonly url?: string }): JsonObject => {
  if (server.url === undefined) return { type: "stdio", server_parameters: { command: "x", args: [server.name] } }
  return server.way === "sse"
    ? { type: "sse", server_parameters: { url: server.url, timeout, sse_read_timeout: timeout } }
    : { type: "streamable", server_parameters: { url: server.url, timeout: `PT${timeout}S` } }
}

/**
 * An office whose Computer has odd MCP servers of every way, published to hosts of both official SDKs, and an odd session that
 * is published without an office.
 */
export const openOddOffice: Effect.Effect<OddOffice, unknown, Scope.Scope> = Effect.gen(function* () {
  const stdio = makeStdioServer("stdio")
  const [, ...httpWays] = ways
  const http = yield* startHttpServers(httpWays.map((way) => [way, way] as const))
  const servers: ReadonlyArray<OddServer> = [stdio, ...http]
  const { computer, transport } = yield* openComputer(
    Object.fromEntries([stdio, ...http].map((server) => [server.name, configOf(server)])),
    () => stdio,
    { ...ComputerSettings.defaultValue(), changeThrottle: Duration.zero }
  )
  const agent = yield* Agent.layer({ name: "agent", office }).pipe(
    Layer.provide(transport),
    Layer.fresh,
    Layer.build,
    Effect.map(Context.get(Agent))
  )
  const session = yield* Effect.provideService(makeOfficeMcpSession({ office, timeout, tools: "all" }), Agent, agent)
  const { url } = yield* publishHttp(session, { port: 0, token })
  const hosts = yield* connectHosts(url, officeNames)
  const direct = makeDirectServer("direct")
  const published = yield* publishHttp(direct.session, { port: 0, token })
  const directHosts = yield* connectHosts(published.url, directNames)
  return {
    servers: [...servers, direct.server],
    hostsOf: ({ way }) => (way === "direct" ? directHosts : hosts),
    restart: (server) => Effect.runPromise(computer.restart(server))
  }
})
