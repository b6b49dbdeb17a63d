/** Uses the API without Effect: promises, async iterables and plain errors. */
import { A2cError, connectAgent, type ContentBlock, runComputer, runServer } from "a2c-smcp/promise"

await using server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }

await using _desk = await runComputer({
  ...place,
  name: "desk",
  config: {
    mcpServers: { memory: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] } }
  },
  confirm: ({ params, requester, tool }) => {
    console.log(`${requester} calls ${tool} with ${JSON.stringify(params)}`)
    return tool.startsWith("search_")
  }
})

await using agent = await connectAgent({ ...place, name: "thinker" })

// Only one Computer has the tool, so the call names none. The signal cancels the call on the Computer.
const { content, isError, meta } = await agent.callTool(
  { tool: "search_nodes", params: { query: "Ada" } },
  { signal: AbortSignal.timeout(10_000) }
)

const ending = new AbortController()
const calling = agent.callTool({ tool: "read_graph" }, { signal: ending.signal })
ending.abort()
try {
  await calling
} catch (error) {
  if (!(error instanceof A2cError && error.code === "aborted")) throw error
  console.log("cancelled")
}

const describe = (block: ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
    case "audio":
      return `${block.mimeType} of ${block.data.length} characters`
    case "resource_link":
      return block.uri
    case "resource":
      return block.resource.uri
    default:
      return `a block of the newer type ${String(block.type)}`
  }
}
console.log(isError ? "failed" : "done", meta, content.map(describe))

// Nothing is printed here: the call waits for nothing.
await agent.callTool({
  tool: "read_graph",
  onStatus: ({ _tag, computer }) => console.log(_tag, "at", computer)
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
