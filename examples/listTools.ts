/** Lists the members of the office of a running Server, and the tools of all Computers. */
import { connectAgent } from "a2c-smcp/promise"

const url = process.env["A2C_SERVER"] ?? "http://127.0.0.1:7070"
const agent = await connectAgent({ url, office: "team", name: "thinker" })
for (const { name, role, version } of await agent.members()) {
  console.log(role, name, version)
  const tools = role === "computer" ? await agent.getTools(name) : []
  for (const tool of tools) console.log("-", tool.name, tool.description)
}
await agent.close()
