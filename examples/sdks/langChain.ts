/** Uses the tools of an office in an agent of LangChain; its fake model replaces a real one. */
import { DynamicStructuredTool } from "@langchain/core/tools"
import { fakeModel } from "@langchain/core/testing"
import { AIMessage, createAgent } from "langchain"
import { Effect } from "effect"
import { makeOfficeMcpSession } from "a2c-smcp"
import { listLangChainTools, makeMcpClient } from "a2c-smcp/llm"
import { Office } from "../shared/office.ts"

const model = fakeModel()
  .respondWithTools([{ name: "desk__temperature", args: { city: "Vienna" } }])
  .respond(new AIMessage("Leave your coat at home."))

const program = Effect.gen(function* () {
  const client = yield* makeMcpClient(yield* makeOfficeMcpSession({ office: "team" }))
  const { messages } = yield* Effect.promise(async (signal) => {
    const tools = (await listLangChainTools(client)).map((tool) => new DynamicStructuredTool(tool))
    const agent = createAgent({ model, tools })
    return agent.invoke({ messages: [{ role: "user", content: "Do I need a coat in Vienna?" }] }, { signal })
  })
  for (const { text, type } of messages) console.log(`${type}: ${text}`)
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, Office)))
