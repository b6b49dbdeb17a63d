/** Uses the tools of an office in an agent of Mastra; a script replaces the model. */
import { Agent, type AgentConfig } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { listMastraTools } from "a2c-smcp/llm"
import { connectAgent } from "a2c-smcp/promise"
import { startOffice } from "../shared/localOffice.ts"

const nothingSpent = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 }
}
const model: AgentConfig["model"] = {
  specificationVersion: "v4",
  provider: "script",
  modelId: "script",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => {
    const isAnswered = prompt.at(-1)?.role === "tool"
    return {
      content: [
        isAnswered
          ? { type: "text", text: "It is five." }
          : {
              type: "tool-call",
              toolCallId: "call_1",
              toolName: "desk__get-sum",
              input: JSON.stringify({ a: 2, b: 3 })
            }
      ],
      finishReason: { unified: isAnswered ? "stop" : "tool-calls", raw: undefined },
      usage: nothingSpent,
      warnings: []
    }
  },
  doStream: () => Promise.reject(new Error("this script does not stream"))
}

await using place = await startOffice()
await using office = await connectAgent({ ...place, name: "adviser" })

const client = await office.mcpClient()
const agent = new Agent({
  id: "adviser",
  name: "adviser",
  instructions: "Calculate with tools.",
  model,
  // Mastra calls this function in each run, so the agent has the tools of that moment.
  tools: async () => Object.fromEntries((await listMastraTools(client)).map((tool) => [tool.id, createTool(tool)]))
})
const { steps, text } = await agent.generate("What is two plus three?", { abortSignal: AbortSignal.timeout(60_000) })
for (const { toolResults } of steps) {
  for (const { payload } of toolResults) console.log(JSON.stringify(payload.result))
}
console.log(text)
