import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ConnectedAgent, StartedTool } from "../../../src/main/entrypoints/promise.ts"
import { hangingTool, textResult, tool } from "../../conformance/members.ts"
import { firstText } from "../../firstText.ts"
import { codeOf, inOffice, type PromiseOffice } from "./promiseOffice.ts"

const echo = tool("echo", (params) => Effect.succeed(textResult(JSON.stringify(params))))

const makeDesk = async (office: PromiseOffice) => {
  const { hanging } = Effect.runSync(hangingTool("hang"))
  const servers = {
    alpha: { ...(await office.mcpServer({ tools: [echo, hanging] })), default_tool_meta: { auto_apply: true } }
  }
  for (const name of ["desk", "lab"]) await office.computer({ name, config: { servers } })
}

type Find = (office: PromiseOffice, agent: ConnectedAgent, task: StartedTool) => Promise<StartedTool>

/** The ways to a call that was started. */
const finds: ReadonlyArray<readonly [string, Find]> = [
  ["its handle", async (_, __, task) => task],
  ["its name at the same Agent", async (_, agent, { computer, id }) => agent.startedTool(computer, id)],
  [
    "its name at a later Agent",
    async (office, agent, { computer, id }) => {
      await agent.close()
      return (await office.agent()).startedTool(computer, id)
    }
  ]
]

describe.each(finds)("a started call by %s", (_, find) => {
  const started = (tool: string, use: (task: StartedTool) => Promise<void>, params = {}) =>
    inOffice(async (office) => {
      await makeDesk(office)
      const agent = await office.agent()
      const first = await agent.startTool({ computer: "lab", tool, params })
      const task = await find(office, agent, first)
      assert.deepStrictEqual([task.id, task.computer], [first.id, "lab"])
      await use(task)
    })

  it("has its result and its state", () =>
    started(
      "echo",
      async (task) => {
        assert.strictEqual(firstText(await task.result()), '{"a":1}')
        const { createdAt, updatedAt, ...status } = await task.status()
        assert.deepStrictEqual(status, { tool: "echo", state: "completed" })
        assert.isAtLeast(updatedAt, createdAt)
      },
      { a: 1 }
    ))

  it("is cancelled", () =>
    started("hang", async (task) => {
      assert.strictEqual((await task.status()).state, "working")
      await task.cancel()
      assert.strictEqual((await task.status()).state, "cancelled")
      assert.strictEqual((await task.result()).meta?.["a2c_cancelled"], true)
    }))

  it("stays when a wait for its result is aborted", () =>
    started("hang", async (task) => {
      const ending = new AbortController()
      const waiting = codeOf(task.result(ending))
      ending.abort()
      assert.strictEqual(await waiting, "aborted")
      assert.strictEqual((await task.status()).state, "working")
    }))
})

describe("a call that is not known", () => {
  it.each(["status", "result", "cancel"] as const)("rejects `%s` with `task_lost`", (method) =>
    inOffice(async (office) => {
      await makeDesk(office)
      const agent = await office.agent()
      const { id } = await agent.startTool({ computer: "lab", tool: "echo" })
      assert.strictEqual(await codeOf(agent.startedTool("desk", id)[method]()), "task_lost")
    })
  )
})
