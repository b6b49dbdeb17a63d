/** The Agent that a web page can be: what stands below the Server and the Computer runs in a browser as it is. */
import { connectAgent } from "a2c-smcp/agent"
import { runComputer, runServer } from "a2c-smcp/promise"

const config = {
  mcpServers: { memory: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] } }
}

await using server = await runServer({ allowedOrigins: ["https://app.example.org"] })
const { url } = server
await using _desk = await runComputer({
  url,
  office: "team",
  name: "desk",
  config,
  settings: { confirm: () => true }
})

await using agent = await connectAgent({ url, office: "team", name: "page" })
const { content } = await agent.callTool({ tool: "read_graph" })
console.log(content)
for await (const { computers } of agent.changes()) {
  console.log("Computers:", ...computers.keys())
  break
}
