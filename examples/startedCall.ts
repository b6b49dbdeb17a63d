/** Starts a long call, leaves the office, and fetches the result later. */
import { connectAgent, runComputer, runServer } from "a2c-smcp/promise"

await using server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }

await using _desk = await runComputer({
  ...place,
  name: "desk",
  config: {
    mcpServers: { everything: { command: "npx", args: ["-y", "@modelcontextprotocol/server-everything", "stdio"] } }
  },
  approve: ["*"]
})

const agent = await connectAgent({ ...place, name: "thinker" })
const { computer, id } = await agent.startTool({ tool: "simulate-research-query", params: { topic: "tea" } })
console.log((await agent.startedTool(computer, id).status()).state, "at", computer)
await agent.close()

await using later = await connectAgent({ ...place, name: "thinker" })
const { content } = await later.startedTool(computer, id).result()
for (const block of content) if (block.type === "text") console.log(block.text.split("\n", 1)[0])
