/** Gets a prompt of an MCP server at another computer, and completes one of its arguments. */
import { connectAgent, runComputer, runServer } from "a2c-smcp/promise"

await using server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }

await using _desk = await runComputer({
  ...place,
  name: "desk",
  config: {
    mcpServers: { everything: { command: "npx", args: ["-y", "@modelcontextprotocol/server-everything", "stdio"] } }
  }
})

await using agent = await connectAgent({ ...place, name: "thinker" })

for (const { id, prompts, templates } of await agent.mcpServers("desk")) {
  console.log(id, "has", prompts.length, "prompts and", templates.length, "resource templates")
  for (const { name } of prompts) console.log("-", name)
}

const params = { name: "args-prompt", arguments: { city: "Paris" } }
const { messages } = await agent.mcpRequest("desk", { server: "everything", method: "prompts/get", params })
console.log(JSON.stringify(messages))

const { completion } = await agent.mcpRequest("desk", {
  server: "everything",
  method: "completion/complete",
  params: {
    ref: { type: "ref/prompt", name: "completable-prompt" },
    argument: { name: "department", value: "E" }
  }
})
console.log(JSON.stringify(completion))
