import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { McpSessionError } from "../../../src/application/ports/McpSession.ts"
import { A2cError, type ComputerOptions } from "../../../src/main/entrypoints/promise.ts"
import { hangingTool, textResult, tool } from "../../conformance/members.ts"
import { inOffice, type PromiseOffice } from "./promiseOffice.ts"

const rejectionOf = async (promise: Promise<unknown>): Promise<A2cError> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof A2cError) return error
    throw error
  }
  throw new Error("the promise was not rejected")
}

const echo = tool("echo", () => Effect.succeed(textResult("echoed")))
const secret = "hunter2-hunter2"
const data = { at: 1, key: secret, list: [{ text: `it is ${secret}` }, null] }

/** A Computer with an MCP server whose prompts fail, and which gets a secret. */
const deskWith = async (office: PromiseOffice, options: Partial<ComputerOptions> = {}) => {
  const failure = new McpSessionError({ reason: "protocol", code: -32_001, message: "no", data })
  const parts = { tools: [echo], capabilities: { prompts: true }, answer: () => Effect.fail(failure) }
  const { server_parameters, ...rest } = await office.mcpServer(parts)
  const alpha = { ...rest, server_parameters: { ...server_parameters, headers: { "x-key": "${input:key}" } } }
  const inputs = [{ type: "promptString", id: "key", description: "" }]
  const config = { inputs, servers: { alpha } }
  return office.computer({ config, inputs: { values: { key: secret } }, ...options })
}

describe("the rejection of a promise", () => {
  it("has the code and the data of an error of an MCP server, without secrets", () =>
    inOffice(async (office) => {
      await deskWith(office)
      const agent = await office.agent()
      const [server] = await agent.mcpServers("desk")
      const request = { server: server?.id ?? "", method: "prompts/get", params: { name: "p" } } as const
      const { code, extra, message } = await rejectionOf(agent.mcpRequest("desk", request))
      const redacted = { at: 1, key: "<redacted>", list: [{ text: "it is <redacted>" }, null] }
      assert.deepStrictEqual([code, message, extra], ["mcp_error", "no", { code: -32_001, data: redacted }])
    }))

  it("has the cause of a defect", () =>
    inOffice(async (office) => {
      await deskWith(office)
      const agent = await office.agent()
      const defect = new Error("it broke")
      const params = {
        get broken(): unknown {
          throw defect
        }
      }
      const { cause, code, message } = await rejectionOf(agent.callTool({ computer: "desk", tool: "echo", params }))
      assert.deepStrictEqual([code, message, cause === defect], ["internal", "it broke", true])
    }))
})

describe("the cause of a rejection", () => {
  it("is the reason of the abort, before and during a request", () =>
    inOffice(async (office) => {
      const { hanging, started } = await Effect.runPromise(hangingTool("hang"))
      const alpha = { ...(await office.mcpServer({ tools: [hanging] })), default_tool_meta: { auto_apply: true } }
      await office.computer({ config: { servers: { alpha } } })
      const agent = await office.agent()
      const reason = new Error("enough")
      const before = await rejectionOf(agent.members({ signal: AbortSignal.abort(reason) }))
      const ending = new AbortController()
      const during = rejectionOf(agent.callTool({ computer: "desk", tool: "hang" }, ending))
      await Effect.runPromise(started)
      ending.abort(reason)
      for (const { cause, code } of [before, await during])
        assert.deepStrictEqual([code, cause === reason], ["aborted", true])
    }))

  it("is the error of the protocol, whose members it has", () =>
    inOffice(async (office) => {
      const { cause, code, extra, message } = await rejectionOf((await office.agent()).getDpe("desk", "http://x"))
      assert.deepStrictEqual([code, extra], [4012, { uri: "http://x" }])
      assert.propertyVal(cause, "_tag", "ProtocolError")
      assert.propertyVal(cause, "message", message)
    }))
})

describe("a hook of a Computer", () => {
  type Hook = (options: { readonly signal: AbortSignal }) => Promise<never>
  /** Calls that reach a hook which never resolves. */
  const hooks: ReadonlyArray<readonly [string, (hook: Hook) => Partial<ComputerOptions>]> = [
    ["policy", (hook) => ({ policy: (_, options) => hook(options) })],
    ["confirm", (hook) => ({ confirm: (_, options) => hook(options) })]
  ]

  it.each(hooks)("learns by its signal that the call has ended: %s", (_, optionsOf) =>
    inOffice(async (office) => {
      const logs: Array<string> = []
      const calling = new AbortController()
      const aborted = new Promise((resolve) => {
        const hook: Hook = ({ signal }) => {
          signal.addEventListener("abort", () => resolve("aborted"))
          calling.abort()
          return new Promise(() => undefined)
        }
        void (async () => {
          const log: ComputerOptions["log"] = ({ message }) => void logs.push(JSON.stringify(message))
          await deskWith(office, { ...optionsOf(hook), log })
          const agent = await office.agent()
          await agent.callTool({ computer: "desk", tool: "echo" }, calling).catch(() => undefined)
        })()
      })
      assert.strictEqual(await aborted, "aborted")
      assert.deepStrictEqual(
        logs.filter((line) => line.includes("hook failed")),
        []
      )
    })
  )

  it.each([
    ["policy", { policy: () => Promise.reject(new Error("it broke")) }],
    ["confirm", { confirm: () => Promise.reject(new Error("it broke")) }],
    [
      "confirm",
      {
        confirm: () => {
          throw new Error("it broke")
        }
      }
    ]
  ] as ReadonlyArray<readonly [string, Partial<ComputerOptions>]>)(
    "is logged by its name when it fails, and allows nothing: %s",
    (name, options) =>
      inOffice(async (office) => {
        const logs: Array<string> = []
        const log: ComputerOptions["log"] = ({ cause, message }) => void logs.push(JSON.stringify([message, cause]))
        await deskWith(office, { ...options, log })
        const { isError } = await (await office.agent()).callTool({ computer: "desk", tool: "echo" })
        assert.isTrue(isError)
        const [line] = logs.filter((one) => one.includes("hook failed"))
        assert.include(line, name)
        assert.include(line, "it broke")
      })
  )
})
