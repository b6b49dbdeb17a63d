import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { startRedis, withoutRedis } from "../../fixtures/redis.ts"
import { chromiumPath } from "../../programs/launchChromium.ts"
import { useLivePages } from "./useLivePages.ts"
import { configOf, LiveParts } from "./LiveParts.ts"

const office = "team"
const members = "#/office/0.2/team/overview"
const calls = "#/office/0.2/team/activity"

/** A Computer with the tool `wait`, which does not end. */
const startComputer = async (parts: LiveParts, url: string, name: string) => {
  const wait = {
    definition: { name: `wait_at_${name}`, description: "Waits", inputSchema: { type: "object" } },
    run: () => Effect.never
  }
  const server = await parts.run(makeMemoryMcpServer({ tools: [wait] }))
  const session = await parts.run(server.connect)
  const config = configOf({
    waiting: { type: "stdio", server_parameters: { command: "-" }, default_tool_meta: { auto_apply: true } }
  })
  return parts.computer({ url, office, name, config, sessions: { waiting: session } })
}

/** Two Servers on one Redis. The Agent and the Computer `near` are at the first one, `far` is at the second one. */
const startCluster = async (parts: LiveParts) => {
  const redis = await parts.run(startRedis)
  const options = { redis: { url: Redacted.make(redis.url) } }
  const one = await parts.server(options)
  const two = await parts.server(options)
  const near = await startComputer(parts, one.service.url, "near")
  const far = await startComputer(parts, two.service.url, "far")
  const agent = await parts.agent({ url: one.service.url, office, name: "thinker" })
  return { one, two, near, far, agent, options }
}

type Cluster = Awaited<ReturnType<typeof startCluster>>

describe.skipIf(chromiumPath === undefined || withoutRedis)("office page of a cluster", () => {
  const parts = new LiveParts()
  let cluster: Cluster
  const { openUrl } = useLivePages(parts, async () => (cluster = await startCluster(parts)))
  const pageOf = (node: "one" | "two", hash = "") => openUrl(`${cluster[node].service.url}/office/${hash}`)
  const startCall = (computer: string) =>
    Effect.runPromise(
      Effect.exit(cluster.agent.service.callTool({ computer, tool: `wait_at_${computer}`, timeout: 600 }))
    )

  for (const node of ["one", "two"] as const) {
    it(`shows the nodes, the members and the calls of both Servers at Server ${node}`, async () => {
      const { page } = await pageOf(node)
      await page.getByText("1 Agent, 2 Computers", { exact: true }).waitFor()
      const nodes = page.getByRole("group", { name: "Nodes" })
      await nodes.getByText("ready", { exact: true }).nth(1).waitFor()
      await page.evaluate(`location.hash = "${members}"`)
      const computers = page.getByRole("list", { name: "Computers" })
      for (const name of ["near", "far"]) {
        const computer = computers
          .getByRole("listitem")
          .filter({ has: page.getByRole("link", { name: `${name} Computer` }) })
        await computer.getByRole("link", { name: "waiting ready" }).waitFor()
      }
      await page.evaluate(`location.hash = "${calls}"`)
      for (const computer of ["near", "far"]) {
        const result = startCall(computer)
        await page.getByRole("option").filter({ hasText: "running" }).filter({ hasText: computer }).click()
        const cancel = page.getByRole("button", { name: `Cancel the call of wait_at_${computer}` })
        await cancel.click()
        await page.getByRole("dialog").getByRole("button", { name: "Cancel call" }).click()
        await cancel.waitFor({ state: "detached" })
        assert.match(JSON.stringify(await result), /cancel/i)
        const row = page.locator(".virtual-row").filter({ hasText: `wait_at_${computer}` })
        await row.getByText("cancelled", { exact: true }).first().waitFor()
      }
    })
  }

  it("shows the tools of a Computer of the other Server, and disconnects it", async () => {
    const { page } = await pageOf("one", "#/office/0.2/team/tools")
    await page.getByRole("option").filter({ hasText: "wait_at_far" }).waitFor()
    await page.evaluate(`location.hash = "#/office/0.2/team/settings"`)
    await page.getByRole("button", { name: "Disconnect far" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await page.getByRole("button", { name: "Disconnect far" }).waitFor()
  })

  it("shows a Server that ends as unavailable, without its members", async () => {
    const { page } = await pageOf("one")
    const nodes = page.getByRole("group", { name: "Nodes" })
    await nodes.getByText("ready", { exact: true }).nth(1).waitFor()
    await page.getByText("1 Agent, 2 Computers", { exact: true }).waitFor()
    await cluster.two.stop()
    await nodes.getByText("unavailable", { exact: true }).waitFor()
    await page.getByText("1 Agent, 1 Computer", { exact: true }).waitFor()
    assert.strictEqual(await nodes.getByText("ready", { exact: true }).count(), 1)
  })

  it("reconnects when its Server starts again", async () => {
    const { page } = await pageOf("one")
    await page.getByText("1 Agent, 1 Computer", { exact: true }).waitFor()
    const { port } = new URL(cluster.one.service.url)
    await cluster.one.stop()
    await page.getByText(/^(?:Reconnecting|Server unavailable, trying again)$/).waitFor()
    cluster = { ...cluster, one: await parts.server({ ...cluster.options, port: Number(port) }) }
    await page.getByText("Connected", { exact: true }).waitFor()
    await page.getByText("1 Agent, 1 Computer", { exact: true }).waitFor()
  })
})
