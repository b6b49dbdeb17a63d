/** Uses the API without Effect: promises, async iterables and plain errors. */
import { A2cError, connectAgent, runComputer, runServer } from "a2c-smcp/promise"

const config = {
  mcpServers: { memory: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] } }
}

await using server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }
await using _desk = await runComputer({
  ...place,
  name: "desk",
  config,
  settings: { confirm: ({ tool }) => tool.startsWith("read_") }
})
await using agent = await connectAgent({ ...place, name: "thinker" })

// Only one Computer has the tool, so the call names none. The signal cancels the call on the Computer.
const { content } = await agent.callTool({ tool: "read_graph" }, { signal: AbortSignal.timeout(10_000) })
console.log(content)

// Nothing is printed here: the call waits for nothing.
await agent.callTool({
  tool: "read_graph",
  onStatus: (status) => console.log(status._tag === "WaitingForConsent" ? "waits for consent" : "waits for servers")
})

try {
  await agent.callTool({ tool: "fly" })
} catch (error) {
  if (error instanceof A2cError) console.log(error.code, "-", error.message)
}

for await (const { computers } of agent.changes()) {
  console.log("Computers:", ...computers.keys())
  break
}
