import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeMemoryMcpServer, type MemoryTool } from "../../../src/adapters/memory/MemoryMcp.ts"
import { describePages } from "../scripted/usePages.ts"
import { waitUntil } from "../scripted/expectations.ts"
import { DemoOffice } from "./DemoOffice.ts"
import { cardOf, useLivePages } from "./useLivePages.ts"
import { configOf } from "./LiveParts.ts"

const lateTool: MemoryTool = {
  definition: { name: "late_tool", description: "Is added late", inputSchema: { type: "object" } },
  run: () => Effect.succeed({ content: [] })
}

describePages("office page of a live Server", () => {
  const office = new DemoOffice()
  const { openUrl } = useLivePages(office, () => office.start())

  it("finds a tool of any Computer, and shows its parameters and its rule of consent", async () => {
    const { page } = await openUrl(office.view("tools"))
    const tools = page.getByRole("listbox", { name: "Tools" })
    const details = page.getByRole("region", { name: "Tool", exact: true })
    await tools.getByText("lamp__switch").waitFor()
    await page.getByLabel("Search tools").fill("sum numbers")
    await page.getByText(/^1 of \d+ tools$/).waitFor()
    await tools.getByRole("option").click()
    await details.getByRole("heading", { name: "add", exact: true }).waitFor()
    await details.getByText("runs without consent").waitFor()
    await details.locator("details").getByText("Parameters", { exact: true }).click()
    await details.getByRole("cell", { name: "Second number" }).waitFor()
    await page.getByLabel("Search tools").fill("clear_notes")
    await tools.getByRole("option").filter({ hasText: "clear_notes" }).click()
    await details.getByText("needs consent").waitFor()
  })

  it("shows tools that an MCP server adds and removes", async () => {
    const { page } = await openUrl(office.view("tools"))
    const server = await office.parts.run(makeMemoryMcpServer({ tools: [] }))
    const sessions = { changing: await office.parts.run(server.connect) }
    const member = { url: office.url, office: office.office, name: "attic", config: configOf({}) }
    const attic = await office.parts.computer({ ...member, sessions })
    const option = page.getByRole("option").filter({ hasText: "late_tool" })
    await office.parts.run(server.setTools([lateTool]))
    await page.getByLabel("Search tools").fill("late_tool")
    await option.waitFor()
    await office.parts.run(server.setTools([]))
    await option.waitFor({ state: "detached" })
    await attic.stop()
  })

  it("gets the messages of a prompt, with values that its MCP server suggests", async () => {
    const { accessibilityFindings, page } = await openUrl(office.view("prompts"))
    await page.getByRole("option", { name: /^completable-prompt/ }).click()
    await page.getByLabel(/^department/).fill("Eng")
    await page.locator("datalist option[value=Engineering]").waitFor({ state: "attached" })
    await page.getByLabel(/^department/).fill("Engineering")
    await page.getByLabel(/^name/).focus()
    await page.locator("datalist option[value=Alice]").waitFor({ state: "attached" })
    await page.getByLabel(/^name/).fill("Alice")
    await page.getByRole("button", { name: "Get the messages" }).click()
    await page
      .getByRole("region", { name: "Messages" })
      .getByText(/Alice.*Engineering/)
      .first()
      .waitFor()
    assert.deepStrictEqual(await accessibilityFindings(), [])
  })

  it("shows a window that changes with a call", async () => {
    const { page } = await openUrl(office.view("windows"))
    const desk = cardOf(page, "desk")
    await desk.getByText("The board is empty.").waitFor()
    await office.call({ computer: "desk", tool: "add_note", params: { text: "Water **the plants**" } })
    await desk.getByRole("listitem").getByText("Water the plants").last().waitFor()
    await desk.getByText("1 note on the board").waitFor()
    await page.getByLabel("Show windows as").selectOption("text")
    await desk.getByText("- Water **the plants**").waitFor()
    await cardOf(page, "lab").getByText("The desktop of this Computer is empty.").waitFor()
  })

  it("finds documents by their keywords, and shows the text of one", async () => {
    const { page } = await openUrl(office.view("documents"))
    const desk = cardOf(page, "desk")
    const found = desk.getByRole("button", { name: "The board of notes" })
    await found.waitFor()
    await page.getByLabel("Keywords").fill("spaceship")
    await page.keyboard.press("Enter")
    await desk.getByText("This Computer has no such documents.").waitFor()
    await page.getByLabel("Keywords").fill("manual")
    await page.keyboard.press("Enter")
    await found.click()
    const document = page.getByRole("region", { name: "Document", exact: true })
    await document.getByText("text/markdown").waitFor()
    await document.getByText("The tools of this MCP server change two").waitFor()
    await waitUntil(async () => (await document.locator("strong").allTextContents()).includes("document"))
  })
})
