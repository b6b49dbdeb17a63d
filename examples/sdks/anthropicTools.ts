/** Uses the tools of an office in the tool runner of the Anthropic SDK; a script replaces the model. */
import Anthropic from "@anthropic-ai/sdk"
import { mcpTools } from "@anthropic-ai/sdk/helpers/beta/mcp"
import { withSignal } from "a2c-smcp/llm"
import { connectAgent } from "a2c-smcp/promise"
import { startOffice } from "../shared/localOffice.ts"

const script = [
  {
    stop_reason: "tool_use",
    content: [{ type: "tool_use", id: "toolu_1", name: "desk__get-sum", input: { a: 2, b: 3 } }]
  },
  { stop_reason: "end_turn", content: [{ type: "text", text: "It is five." }] }
]
const anthropic = new Anthropic({
  apiKey: "not needed",
  fetch: async () => Response.json({ type: "message", role: "assistant", usage: {}, ...script.shift() })
})

await using place = await startOffice()
await using agent = await connectAgent({ ...place, name: "adviser" })

const client = await agent.mcpClient()
// The helper passes no signal to tools, so this binds them to the signal of the runner.
const signal = AbortSignal.timeout(60_000)
const tools = mcpTools(await client.allTools(), withSignal(client, signal))
const runner = anthropic.beta.messages.toolRunner(
  {
    model: "claude",
    max_tokens: 1000,
    tools,
    messages: [{ role: "user", content: "What is two plus three?" }]
  },
  { signal }
)
await runner
for (const { content } of runner.params.messages) console.log(JSON.stringify(content))
