/** The functions of a page with the domain and an Agent; the test calls them from outside. */
import { connectAgent } from "a2c-smcp/agent"
import worker from "./worker.ts"

const useDomain = (): Promise<unknown> => worker.fetch().json()

/** Calls a tool of a Computer over some transports. */
const add = async (url: string, transports: ReadonlyArray<"polling" | "websocket">): Promise<unknown> => {
  await using agent = await connectAgent({ url, transports, office: "team", name: "page" })
  const { content } = await agent.callTool({ tool: "get-sum", params: { a: 2, b: 3 } })
  return content
}

Object.assign(globalThis, { add, useDomain })
