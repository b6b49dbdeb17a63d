/** Serves two protocol lines, and joins as an Agent on the newest one. */
import { connectAgent, runServer } from "a2c-smcp/promise"

const server = await runServer({ authenticate: "allowAll", lines: ["0.3", "0.4"] })
const agent = await connectAgent({ url: server.url, office: "team", name: "thinker", protocol: "auto" })
console.log(await agent.members())
await agent.close()
await server.close()
