/** Uses the tools of an office in the AI SDK; its mock model replaces a real one. */
import { createMCPClient } from "@ai-sdk/mcp"
import { generateText, isStepCount } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { Effect } from "effect"
import { makeOfficeMcpSession } from "a2c-smcp"
import { makeAiSdkTransport, makeMcpClient } from "a2c-smcp/llm"
import { Office } from "../shared/office.ts"

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
          toolName: "desk__temperature",
          input: JSON.stringify({ city: "Vienna" })
        }
      ],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage: nothingSpent,
      warnings: []
    },
    {
      content: [{ type: "text", text: "Leave your coat at home." }],
      finishReason: { unified: "stop", raw: undefined },
      usage: nothingSpent,
      warnings: []
    }
  ]
})

const program = Effect.gen(function* () {
  const transport = makeAiSdkTransport(yield* makeMcpClient(yield* makeOfficeMcpSession({ office: "team" })))
  const office = yield* Effect.acquireRelease(
    Effect.promise(() => createMCPClient({ transport })),
    (client) => Effect.promise(() => client.close())
  )
  const { steps, text } = yield* Effect.promise(async (abortSignal) =>
    generateText({
      model,
      tools: await office.tools(),
      stopWhen: isStepCount(5),
      prompt: "Do I need a coat in Vienna?",
      abortSignal
    })
  )
  for (const { toolResults } of steps) {
    for (const { output } of toolResults) console.log(JSON.stringify(output))
  }
  console.log(text)
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, Office)))
