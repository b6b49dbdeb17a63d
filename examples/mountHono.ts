/** Mounts an office on the HTTP server of a Hono application on Node. */
import { once } from "node:events"
import type { Server } from "node:http"
import { serve } from "@hono/node-server"
import { connectAgent, runComputer, runServer } from "a2c-smcp/promise"
import { Hono } from "hono"

const app = new Hono()
app.get("/hello", (context) => context.text("Hello from Hono"))
const httpServer = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }) as Server
if (!httpServer.listening) await once(httpServer, "listening")

// The office has the path /smcp; Hono gets all other requests.
const server = await runServer({ httpServer, authenticate: "allowAll" })
const place = { url: server.url, office: "team" }
const desk = await runComputer({
  ...place,
  name: "desk",
  config: { mcpServers: { memory: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] } } },
  confirm: () => true
})
const agent = await connectAgent({ ...place, name: "thinker" })

const page = await fetch(`${server.url}/hello`)
const { content } = await agent.callTool({ tool: "read_graph" })
console.log(await page.text(), "-", content)

await agent.close()
await desk.close()
await server.close()
httpServer.close()
