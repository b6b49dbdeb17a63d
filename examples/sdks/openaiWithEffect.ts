/** Uses the tools of an office in the OpenAI Agents SDK, with Effect; a script replaces the model. */
import { Agent, Runner } from "@openai/agents"
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing"
import { Effect } from "effect"
import { makeOfficeMcpSession } from "a2c-smcp"
import { makeAgentsServer, makeMcpClient } from "a2c-smcp/llm"
import { Office } from "../shared/office.ts"

const model = new ScriptedModel([
  [functionCall("desk__temperature", { city: "Vienna" }, { callId: "call_1" })],
  [assistantMessage("Leave your coat at home.")]
])

const program = Effect.gen(function* () {
  const office = makeAgentsServer(yield* makeMcpClient(yield* makeOfficeMcpSession({ office: "team" })))
  const agent = new Agent({ name: "adviser", model, mcpServers: [office] })
  const { finalOutput, newItems } = yield* Effect.promise((signal) =>
    new Runner({ tracingDisabled: true }).run(agent, "Do I need a coat in Vienna?", { signal })
  )
  for (const item of newItems) {
    if (item.type === "tool_call_output_item") console.log(JSON.stringify(item.output))
  }
  console.log(finalOutput)
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, Office)))
