/** Uses the tools of an office in an agent of Mastra; a script replaces the model. */
import { Agent, type AgentConfig } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { Effect } from "effect"
import { makeOfficeMcpSession } from "a2c-smcp"
import { listMastraTools, makeMcpClient } from "a2c-smcp/llm"
import { Office } from "../shared/office.ts"

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
          ? { type: "text", text: "Leave your coat at home." }
          : {
              type: "tool-call",
              toolCallId: "call_1",
              toolName: "desk__temperature",
              input: JSON.stringify({ city: "Vienna" })
            }
      ],
      finishReason: { unified: isAnswered ? "stop" : "tool-calls", raw: undefined },
      usage: nothingSpent,
      warnings: []
    }
  },
  doStream: () => Promise.reject(new Error("this script does not stream"))
}

const program = Effect.gen(function* () {
  const client = yield* makeMcpClient(yield* makeOfficeMcpSession({ office: "team" }))
  const agent = new Agent({
    id: "adviser",
    name: "adviser",
    instructions: "Advise on clothes.",
    model,
    // Mastra calls this function in each run, so the agent has the tools of that moment.
    tools: async () => Object.fromEntries((await listMastraTools(client)).map((tool) => [tool.id, createTool(tool)]))
  })
  const { steps, text } = yield* Effect.promise((abortSignal) =>
    agent.generate("Do I need a coat in Vienna?", { abortSignal })
  )
  for (const { toolResults } of steps) {
    for (const { payload } of toolResults) console.log(JSON.stringify(payload.result))
  }
  console.log(text)
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, Office)))
