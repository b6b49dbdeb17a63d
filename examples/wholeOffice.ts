/** Runs a Server, a Computer and an Agent in one program, and calls a tool with arguments. */
import { connectAgent, runComputer, runServer } from "a2c-smcp/promise"

// Listens on 127.0.0.1 and a free port; "allowAll" suits programs of this machine only.
const server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }

const desk = await runComputer({
  ...place,
  name: "desk",
  config: {
    mcpServers: { everything: { command: "npx", args: ["-y", "@modelcontextprotocol/server-everything", "stdio"] } }
  },
  confirm: ({ tool }) => tool === "get-sum"
})

const agent = await connectAgent({ ...place, name: "thinker" })
const { content } = await agent.callTool({ tool: "get-sum", params: { a: 2, b: 3 } })
for (const block of content) {
  if (block.type === "text") console.log(block.text)
}

await agent.close()
await desk.close()
await server.close()
