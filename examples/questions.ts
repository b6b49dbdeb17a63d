/** Answers the questions of an MCP server in the program of the calling Agent. */
import { connectAgent, runComputer, runServer } from "a2c-smcp/promise"

await using server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }

await using desk = await runComputer({
  ...place,
  name: "desk",
  config: {
    mcpServers: { everything: { command: "npx", args: ["-y", "@modelcontextprotocol/server-everything", "stdio"] } }
  },
  approve: ["*"]
})

await using agent = await connectAgent({ ...place, name: "thinker" })

const answered = await agent.callTool({
  tool: "trigger-elicitation-request",
  onInput: (question) => {
    console.log("question:", question.message)
    if (question.mode === "url") return { action: "decline" }
    console.log("required:", question.schema["required"])
    return { action: "accept", content: { name: "Ada", integer: 7 } }
  }
})
for (const block of answered.content) if (block.type === "text") console.log(block.text)
console.log((await desk.history()).map(({ outcome, tool }) => `${tool}: ${outcome}`).join())
