/** Uses the tools of an office in the tool runner of the Anthropic SDK; a script replaces the model. */
import Anthropic from "@anthropic-ai/sdk"
import { mcpTools } from "@anthropic-ai/sdk/helpers/beta/mcp"
import { Effect } from "effect"
import { makeOfficeMcpSession } from "a2c-smcp"
import { makeMcpClient, withSignal } from "a2c-smcp/llm"
import { Office } from "../shared/office.ts"

const script = [
  {
    stop_reason: "tool_use",
    content: [{ type: "tool_use", id: "toolu_1", name: "desk__temperature", input: { city: "Vienna" } }]
  },
  { stop_reason: "end_turn", content: [{ type: "text", text: "Leave your coat at home." }] }
]
const anthropic = new Anthropic({
  apiKey: "not needed",
  fetch: async () => Response.json({ type: "message", role: "assistant", usage: {}, ...script.shift() })
})

const program = Effect.gen(function* () {
  const client = yield* makeMcpClient(yield* makeOfficeMcpSession({ office: "team" }))
  yield* Effect.promise(async (signal) => {
    // The helper passes no signal to tools, so this binds them to the signal of the runner.
    const tools = mcpTools(await client.allTools(), withSignal(client, signal))
    const runner = anthropic.beta.messages.toolRunner(
      {
        model: "claude",
        max_tokens: 1000,
        tools,
        messages: [{ role: "user", content: "Do I need a coat in Vienna?" }]
      },
      { signal }
    )
    await runner
    for (const { content } of runner.params.messages) console.log(JSON.stringify(content))
  })
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, Office)))
