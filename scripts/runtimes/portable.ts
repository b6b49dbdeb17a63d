/** What runs without Node: the domain, an Agent and a Computer of functions. */
import { Result } from "effect"
import { connectAgent } from "a2c-smcp/agent"
import { joinAsComputer, type JoinedComputer } from "a2c-smcp/computer"
import { lineForVersion, parseVersion, parseWindowUri } from "a2c-smcp/domain"

type Transports = ReadonlyArray<"polling" | "websocket">

const line = lineForVersion(Result.getOrThrow(parseVersion("0.2.0")))

/** Parses a URI and decodes a message. */
export const useDomain = () => ({
  path: Result.getOrThrow(parseWindowUri("window://com.example.editor/src%2Fmain?priority=80")).path,
  result: Result.getOrThrow(
    line.calls.toolCall.reply.decode({ content: [{ type: "text", text: "hi" }, { type: "hologram" }] })
  )
})

/** Calls a tool of a Computer over some transports. */
export const add = async (url: string, computer: string, transports: Transports): Promise<unknown> => {
  // Node 22 does not know the syntax `await using`.
  const agent = await connectAgent({ url, transports, office: "team", name: "page" })
  const { content } = await agent.callTool({ computer, tool: "get-sum", params: { a: 2, b: 3 } })
  await agent.close()
  return content
}

/** Joins with functions of the names that `agent.ts` calls, and a window with the number of cancelled calls. */
export const joinWithFunctions = async (
  url: string,
  name: string,
  transports?: Transports
): Promise<JoinedComputer> => {
  let cancelled = 0
  const number = { type: "number" }
  const computer = await joinAsComputer({
    url,
    office: "team",
    name,
    ...(transports !== undefined && { transports }),
    confirm: ({ params, tool }) => tool !== "echo" || params["message"] !== "no",
    tools: [
      {
        name: "get-sum",
        description: "Adds numbers",
        params: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
        run: ({ a, b }) => `The sum of ${String(a)} and ${String(b)} is ${Number(a) + Number(b)}.`
      },
      { name: "echo", description: "Repeats a message", run: ({ message }) => `Echo: ${String(message)}` },
      {
        name: "trigger-long-running-operation",
        description: "Runs until it is cancelled",
        run: (_, { signal }) =>
          new Promise<void>((resolve) => {
            signal.addEventListener("abort", () => {
              cancelled += 1
              computer.changed("cancelled")
              resolve()
            })
          })
      }
    ],
    windows: [{ name: "cancelled", text: () => String(cancelled) }]
  })
  // Where evaluation of code is forbidden, a validator that compiles schemas to functions would fail.
  const refused = await computer.callTool({ tool: "get-sum", params: { a: "x" } })
  if (!refused.isError) throw new Error("unchecked")
  return computer
}
