/** Uses the tools of an office in the AI SDK; its mock model replaces a real one. */
import { createMCPClient } from "@ai-sdk/mcp"
import { generateText, isStepCount } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { makeAiSdkTransport } from "a2c-smcp/llm"
import { connectAgent } from "a2c-smcp/promise"
import { startOffice } from "../shared/localOffice.ts"

const nothingSpent = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 }
}
const model = new MockLanguageModelV4({
  doGenerate: [
    {
      content: [
        {
          type: "tool-call",
          toolCallId: "call_1",
          toolName: "desk__get-sum",
          input: JSON.stringify({ a: 2, b: 3 })
        }
      ],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage: nothingSpent,
      warnings: []
    },
    {
      content: [{ type: "text", text: "It is five." }],
      finishReason: { unified: "stop", raw: undefined },
      usage: nothingSpent,
      warnings: []
    }
  ]
})

await using place = await startOffice()
await using agent = await connectAgent({ ...place, name: "adviser" })

const office = await createMCPClient({ transport: makeAiSdkTransport(await agent.mcpClient()) })
const { steps, text } = await generateText({
  model,
  tools: await office.tools(),
  stopWhen: isStepCount(5),
  prompt: "What is two plus three?",
  abortSignal: AbortSignal.timeout(60_000)
})
for (const { toolResults } of steps) {
  for (const { output } of toolResults) console.log(JSON.stringify(output))
}
console.log(text)
await office.close()
