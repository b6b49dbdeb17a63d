/** A whole office in this process for the examples with promises: a Server, and a Computer with an MCP server. */
import { runComputer, runServer } from "a2c-smcp/promise"

const everything = { command: "npx", args: ["-y", "@modelcontextprotocol/server-everything", "stdio"] }

/** Starts the office, and gives what an Agent needs to join it. */
export const startOffice = async () => {
  const server = await runServer({ authenticate: "allowAll" })
  const place = { url: server.url, office: "team" }
  const desk = await runComputer({
    ...place,
    name: "desk",
    config: { mcpServers: { everything } },
    approve: ["get-sum"]
  })
  // A Computer joins before its MCP servers have started: the tools of the model are those of its start.
  for await (const servers of desk.changes()) {
    if (servers.get("everything")?._tag === "Ready") break
  }
  return {
    ...place,
    [Symbol.asyncDispose]: async () => {
      await desk.close()
      await server.close()
    }
  }
}
