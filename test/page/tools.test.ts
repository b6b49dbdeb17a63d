import { assert, describe, it } from "@effect/vitest"
import { waitUntil } from "./scripted/expectations.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import { withInspection } from "./scripted/preparations.ts"
import { agent, makeBatch, makeMember, makeSnapshot, makeTool, startTime, team } from "./scripted/pageFixtures.ts"
import { RejectedCommand, type ScriptedServer } from "./scripted/ScriptedServer.ts"

const tools = "#/office/0.2/team/tools"

const withTools = (server: ScriptedServer): void => {
  server.snapshot = makeSnapshot({ members: [agent, makeMember(), makeMember({ sid: "sid-2", name: "printer" })] })
  server.replies.GetTools = ({ computer }) => ({
    tools:
      computer === "desk"
        ? [makeTool(), makeTool({ name: "read_file", bundleId: "files", description: "Reads a file." })]
        : [makeTool({ name: "print_page", description: "Prints one page." })],
    startingServers: []
  })
}

describePages("office page", () => {
  const { open } = usePages()

  describe("tools", () => {
    it("lists the tools of all Computers", async () => {
      const { page } = await open(tools, withTools)
      await page.getByText("3 of 3 tools").waitFor()
      await page.getByRole("option", { name: /^echo .*desk/ }).waitFor()
      await page.getByRole("option", { name: /^print_page .*printer/ }).waitFor()
    })

    for (const [subject, search] of [
      ["name", "print"],
      ["description", "one page"],
      ["Computer", "printer"]
    ] as const) {
      it(`finds tools by ${subject} while the search is typed`, async () => {
        const { page } = await open(tools, withTools)
        await page.getByLabel("Search tools").fill(search)
        await page.getByText("1 of 3 tools").waitFor()
        await page.getByRole("option", { name: /^print_page/ }).waitFor()
        assert.strictEqual(await page.locator(".virtual-row").count(), 1)
      })
    }

    it("shows parameters, annotations and the rule of consent of a tool", async () => {
      const { page } = await open(tools, withTools, withInspection())
      await page.getByRole("option", { name: /^echo/ }).click()
      await page.getByText("Parameters", { exact: true }).click()
      const details = page.getByRole("region", { name: "Tool" })
      await details.getByRole("row", { name: "message string yes the text" }).waitFor()
      await details.getByRole("row", { name: "times integer 1" }).waitFor()
      await details.getByText("only reads", { exact: true }).waitFor()
      await details.getByText("needs consent").waitFor()
      assert.match(page.url(), /tools\?tool=echo&computer=desk$/)
    })

    it("marks a tool that has an app", async () => {
      const { page } = await open(tools, (server) => {
        const withApp = makeTool({ name: "chart", meta: { ui: { resourceUri: "ui://charts/chart" } } })
        server.replies.GetTools = () => ({ tools: [makeTool(), withApp], startingServers: [] })
      })
      await page.getByRole("option", { name: /^chart .*\. app desk$/ }).waitFor()
      await page.getByRole("option", { name: /^echo .*\. desk$/ }).waitFor()
    })

    it("says that a tool in the address is unknown, once all tools are there", async () => {
      const { page } = await open(`${tools}?tool=gone&computer=desk`, withTools)
      await page.getByText("This office has no tool gone at this Computer.").waitFor()
    })

    it("selects tools by the arrow keys", async () => {
      const { page } = await open(tools, withTools)
      await page.getByRole("option", { name: /^echo/ }).waitFor()
      await page.getByRole("listbox", { name: "Tools" }).focus()
      await page.keyboard.press("ArrowDown")
      await page.getByRole("heading", { name: "echo" }).waitFor()
      await page.keyboard.press("ArrowDown")
      await page.getByRole("heading", { name: "read_file" }).waitFor()
      await page.keyboard.press("End")
      await page.getByRole("heading", { name: "print_page" }).waitFor()
      assert.strictEqual(await page.locator(".virtual-row[aria-selected=true]").count(), 1)
    })

    for (const part of ["toolList", "config"] as const) {
      it(`fetches the tools of a Computer again after an update of its ${part}`, async () => {
        const { page, server } = await open(tools, withTools)
        await page.getByText("3 of 3 tools").waitFor()
        server.replies.GetTools = () => ({ tools: [makeTool({ name: "new_tool" })], startingServers: [] })
        server.send(makeBatch([{ _tag: "Updated", ...team, computer: "printer", part, at: startTime }]))
        await page.getByRole("option", { name: /^new_tool/ }).waitFor()
        await page.getByRole("option", { name: /^echo/ }).waitFor()
        assert.strictEqual(await page.getByRole("option", { name: /^print_page/ }).count(), 0)
      })
    }

    it("adds the tools of a Computer that enters", async () => {
      const { page, server } = await open(tools, withTools)
      await page.getByText("3 of 3 tools").waitFor()
      server.send(makeBatch([{ _tag: "Entered", member: makeMember({ sid: "sid-3", name: "scanner" }) }]))
      await page.getByText("4 of 4 tools").waitFor()
      await page.getByRole("option", { name: /scanner$/ }).waitFor()
    })

    it("states which servers start, and which Computers fail", async () => {
      const { page } = await open(tools, (server) => {
        withTools(server)
        server.replies.GetTools = ({ computer }) =>
          computer === "desk"
            ? { tools: [], startingServers: ["files"] }
            : new RejectedCommand(408, "the Computer does not reply")
      })
      await page.getByText("desk: MCP servers start, their tools are missing: files").waitFor()
      await page.getByText("printer: the Computer does not reply (408)").waitFor()
    })

    it("names the command that starts a Computer while there are no tools", async () => {
      const { page, server } = await open(tools)
      await page.getByText(`a2c computer ${server.connectionFlags} --office team --config mcp.json`).waitFor()
    })

    it("shows a thousand tools with a few elements", async () => {
      const { page } = await open(tools, (server) => {
        server.replies.GetTools = () => ({
          tools: Array.from({ length: 1_000 }, (_, index) => makeTool({ name: `tool_${index}` })),
          startingServers: []
        })
      })
      await page.getByText("1,000 of 1,000 tools").waitFor()
      assert.isBelow(await page.locator(".virtual-row").count(), 60)
      await page.getByRole("listbox", { name: "Tools" }).focus()
      await page.keyboard.press("End")
      await page.getByRole("option", { name: /^tool_999/, selected: true }).waitFor()
      await waitUntil(async () => (await page.getByRole("option", { name: /^tool_0 / }).count()) === 0)
    })
  })
})
