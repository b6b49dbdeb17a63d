/**
 * A host of bench/shared.ts: connects to MCP servers by the SDK, lists their tools, calls one tool, and prints a report. It
 * keeps the connections until its stdin ends.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"

/** The configuration of a host, and its first call. */
export interface HostOrder {
  readonly servers: ReadonlyArray<
    { readonly command: string; readonly args: ReadonlyArray<string> } | { readonly url: string }
  >
  readonly tool: string
}

/** The number of tools that a host sees, and the milliseconds until its first call has ended. */
export interface HostReport {
  readonly tools: number
  readonly time: number
}

/** Milliseconds that a server may take for its start or a request. */
const timeout = 120_000

const { servers, tool } = JSON.parse(process.argv[2] ?? "") as HostOrder

const begun = performance.now()
const connected = await Promise.all(
  servers.map(async (server) => {
    const client = new Client({ name: "host", version: "0" })
    const transport =
      "url" in server
        ? new StreamableHTTPClientTransport(new URL(server.url))
        : new StdioClientTransport({ command: server.command, args: [...server.args], stderr: "ignore" })
    await client.connect(transport, { timeout })
    const listed = await client.listTools({}, { timeout })
    return { client, names: listed.tools.map(({ name }) => name) }
  })
)
const owner = connected.find(({ names }) => names.includes(tool))
const result = await owner?.client.callTool({ name: tool, arguments: { message: "hi" } }, undefined, { timeout })
if (result === undefined || result.isError === true) throw new Error(`the call of ${tool} failed`)
const tools = connected.reduce((sum, { names }) => sum + names.length, 0)
process.stdout.write(`${JSON.stringify({ tools, time: performance.now() - begun } satisfies HostReport)}\n`)

for await (const _ of process.stdin);
await Promise.all(connected.map(({ client }) => client.close()))
