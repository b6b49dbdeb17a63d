/** Approves the calls of an Agent in its own program. The owner of the Computer allows this by `approvers`. */
import { connectAgent, runComputer, runServer } from "a2c-smcp/promise"

await using server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }

await using desk = await runComputer({
  ...place,
  name: "desk",
  config: {
    mcpServers: { everything: { command: "npx", args: ["-y", "@modelcontextprotocol/server-everything", "stdio"] } }
  },
  approvers: ["agent"]
})

await using agent = await connectAgent({ ...place, name: "thinker" })

const stop = new AbortController()

const approve = async () => {
  for await (const open of agent.approvals({ signal: stop.signal })) {
    for (const { computer, id, tool } of open) {
      console.log("waiting:", tool, "at", computer)
      await agent.decideApproval(computer, id, { action: "allow", scope: "tool" })
    }
  }
}
const approving = approve().catch(() => undefined)

const { content } = await agent.callTool({
  tool: "get-sum",
  params: { a: 2, b: 3 },
  onStatus: (status) => {
    if (status._tag === "Decided") console.log("decided by", status.by)
  }
})
for (const block of content) if (block.type === "text") console.log(block.text)

for (const { by, tool } of await desk.grants()) console.log(tool, "is allowed by", by)
stop.abort()
await approving
