/** Uses the tools of an office in the OpenAI Agents SDK; a script replaces the model. */
import { Agent, Runner } from "@openai/agents"
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing"
import { makeAgentsServer } from "a2c-smcp/llm"
import { connectAgent } from "a2c-smcp/promise"
import { startOffice } from "../shared/localOffice.ts"

// This SDK names tools by letters, digits and `_` only.
const model = new ScriptedModel([
  [functionCall("desk__get_sum", { a: 2, b: 3 }, { callId: "call_1" })],
  [assistantMessage("It is five.")]
])

await using place = await startOffice()
await using office = await connectAgent({ ...place, name: "adviser" })

const agent = new Agent({ name: "adviser", model, mcpServers: [makeAgentsServer(await office.mcpClient())] })
const { finalOutput, newItems } = await new Runner({ tracingDisabled: true }).run(agent, "What is two plus three?", {
  signal: AbortSignal.timeout(60_000)
})
for (const item of newItems) {
  if (item.type === "tool_call_output_item") console.log(JSON.stringify(item.output))
}
console.log(finalOutput)
