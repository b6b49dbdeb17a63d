/** Calls a tool with arguments in the office of a running Server. */
import { connectAgent } from "a2c-smcp/promise"

const url = process.env["A2C_SERVER"] ?? "http://127.0.0.1:7070"
const agent = await connectAgent({ url, office: "team", name: "thinker" })
const { content } = await agent.callTool({ tool: "get-sum", params: { a: 2, b: 3 } })
console.log(content)
await agent.close()
