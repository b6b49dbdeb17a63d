/** Makes an Agent for a web page: the Agent runs in a browser without changes. */
import { connectAgent } from "a2c-smcp/agent"
import { runComputer, runServer } from "a2c-smcp/promise"

const config = {
  mcpServers: { memory: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] } }
}

await using server = await runServer({ authenticate: "allowAll", allowedOrigins: ["https://app.example.org"] })
const { url } = server
await using _desk = await runComputer({
  url,
  office: "team",
  name: "desk",
  config,
  confirm: () => true
})

await using agent = await connectAgent({ url, office: "team", name: "page" })
const { content } = await agent.callTool({ tool: "read_graph" })
console.log(content)
for await (const { computers } of agent.changes()) {
  console.log("Computers:", ...computers.keys())
  break
}
