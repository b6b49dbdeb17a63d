/** Uses the tools of an office in an agent of LangChain; its fake model replaces a real one. */
import { DynamicStructuredTool } from "@langchain/core/tools"
import { fakeModel } from "@langchain/core/testing"
import { AIMessage, createAgent } from "langchain"
import { listLangChainTools } from "a2c-smcp/llm"
import { connectAgent } from "a2c-smcp/promise"
import { startOffice } from "../shared/localOffice.ts"

const model = fakeModel()
  .respondWithTools([{ name: "desk__get-sum", args: { a: 2, b: 3 } }])
  .respond(new AIMessage("It is five."))

await using place = await startOffice()
await using office = await connectAgent({ ...place, name: "adviser" })

const client = await office.mcpClient()
const tools = (await listLangChainTools(client)).map((tool) => new DynamicStructuredTool(tool))
const agent = createAgent({ model, tools })
const { messages } = await agent.invoke(
  { messages: [{ role: "user", content: "What is two plus three?" }] },
  { signal: AbortSignal.timeout(60_000) }
)
for (const { text, type } of messages) console.log(`${type}: ${text}`)
