/** Mounts an office on the HTTP server of a Fastify application. */
import { connectAgent, runComputer, runServer } from "a2c-smcp/promise"
import fastify from "fastify"

const app = fastify()
app.get("/hello", () => "Hello from Fastify")
const url = await app.listen({ host: "127.0.0.1", port: 0 })

// The office has the path /smcp; Fastify gets all other requests.
const server = await runServer({ httpServer: app.server, authenticate: "allowAll" })
const place = { url: server.url, office: "team" }
const desk = await runComputer({
  ...place,
  name: "desk",
  config: { mcpServers: { memory: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] } } },
  confirm: () => true
})
const agent = await connectAgent({ ...place, name: "thinker" })

const page = await fetch(`${url}/hello`)
const { content } = await agent.callTool({ tool: "read_graph" })
console.log(await page.text(), "-", content)

await agent.close()
await desk.close()
await server.close()
await app.close()
