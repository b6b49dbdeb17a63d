/** Publishes an office as an MCP server over HTTP, as `a2c agent mcp --http` does, and connects a host. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect } from "effect"
import { makeOfficeMcpSession, publishHttp } from "a2c-smcp"
import { Office } from "./shared/office.ts"

/** Any MCP host works; it needs only the URL. */
const visit = async (url: string) => {
  const host = new Client({ name: "host", version: "1.0.0" })
  await host.connect(new StreamableHTTPClientTransport(new URL(url)))
  const { tools } = await host.listTools()
  console.log(...tools.map(({ name }) => name))
  const { content } = await host.callTool({ name: "desk__temperature", arguments: { city: "Vienna" } })
  console.log(content)
  await host.close()
}

const program = Effect.gen(function* () {
  // A host of a large office lists tools to find and call the others, and the pinned tools.
  const session = yield* makeOfficeMcpSession({ office: "team", tools: "search", pinned: ["desk/temp*"] })
  const { url } = yield* publishHttp(session, { port: 0, token: "allowAll" })
  yield* Effect.promise(() => visit(url))
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, Office)))
