import { assert, describe, it } from "@effect/vitest"
import { describePages } from "../scripted/usePages.ts"
import { tabTo } from "../scripted/expectations.ts"
import { DemoOffice } from "./DemoOffice.ts"
import { useLivePages } from "./useLivePages.ts"

const echo = { tool: "echo", computer: "lab" }
const addNote = { tool: "add_note", computer: "desk" }
const slow = { tool: "trigger-long-running-operation", computer: "lab" }

describePages("office page of a live Server", () => {
  describe("in an office without an Agent", () => {
    const office = new DemoOffice()
    const { openUrl } = useLivePages(office, async () => {
      await office.start()
      await office.stopAgent()
    })

    it("calls a tool as the Agent, and shows its result", async () => {
      const { page } = await openUrl(office.view("tools", echo))
      await page.getByLabel("message *").fill("Hello, office!")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The tool succeeded").waitFor()
      await page.getByText("Echo: Hello, office!", { exact: true }).waitFor()
    })

    it("does so without a mouse", async () => {
      const { page } = await openUrl(office.view("tools", echo))
      await page.getByLabel("message *").waitFor()
      await tabTo(page, "message *")
      await page.keyboard.press("ControlOrMeta+a")
      await page.keyboard.type("Typed")
      await page.keyboard.press("Enter")
      await page.getByText("Echo: Typed", { exact: true }).waitFor()
    })

    it("shows the error of a tool, and the argument that is missing", async () => {
      const { page } = await openUrl(office.view("tools", addNote))
      await page.getByRole("button", { name: "Run" }).click()
      await page.locator("form").getByText("Required", { exact: true }).waitFor()
      await page.getByText("Arguments as JSON").click()
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill("{}")
      await page.locator("form").getByText("Required", { exact: true }).waitFor({ state: "detached" })
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The call failed").waitFor()
      await page.locator("form").getByText("Required", { exact: true }).waitFor()
    })

    it("is a member only while it calls, and cancels the call", async () => {
      const { page } = await openUrl(office.view("tools", slow))
      const { page: members } = await openUrl(office.view("overview"))
      const operator = members.getByRole("link", { name: /^operator:anonymous/ })
      await page.getByText("Arguments as JSON").click()
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill(`{"duration": 60, "steps": 60}`)
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The call runs as the Agent operator:anonymous of the office.").waitFor()
      await operator.waitFor()
      await page.getByText(/progress: \d+ of 60/).waitFor()
      await page.getByRole("progressbar", { name: "progress of the call" }).waitFor()
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
      await page.getByText("cancelled", { exact: true }).waitFor()
      await operator.waitFor({ state: "detached" })
      await members.getByText("The office has no Agent.").waitFor()
    })

    it("cancels the call of a page that is closed", async () => {
      const { page: members } = await openUrl(office.view("overview"))
      const operator = members.getByRole("link", { name: /^operator:anonymous/ })
      const { page } = await openUrl(office.view("tools", slow))
      await page.getByText("Arguments as JSON").click()
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill(`{"duration": 60, "steps": 60}`)
      await page.getByRole("button", { name: "Run" }).click()
      await operator.waitFor()
      await page.close()
      await operator.waitFor({ state: "detached" })
    })

    it("answers the question of the MCP server, also where the owner lets operators decide nothing", async () => {
      const elicits = { tool: "trigger-elicitation-request", computer: "lab" }
      const { accessibilityFindings, page } = await openUrl(office.view("tools", elicits))
      await page.getByRole("button", { name: "Run" }).click()
      const result = page.getByRole("region", { name: "Result" })
      await result.getByText("Please provide inputs for the following fields:").waitFor()
      assert.deepStrictEqual(await accessibilityFindings(), [])
      await result.getByRole("textbox", { name: /name$/ }).fill("Ada")
      await result.getByRole("button", { name: /^Send/ }).click()
      await result.getByText("- Name: Ada").first().waitFor()
    })

    it("waits for the consent of the Computer as an Agent does", async () => {
      const { page } = await openUrl(office.view("tools", { tool: "clear_notes", computer: "desk" }))
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("waiting for consent").waitFor()
      await office.answerConsent(true)
      await page.getByText("The board is empty now.", { exact: true }).waitFor()
    })
  })

  describe("in an office with an Agent", () => {
    const office = new DemoOffice()
    const { openUrl } = useLivePages(office, () => office.start())

    it("calls tools of a Computer that permits it, beside the Agent", async () => {
      const { page } = await openUrl(office.view("tools", addNote))
      await page.getByLabel("text *").fill("Beside the Agent")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("Note 1 is on the board.", { exact: true }).waitFor()
      const { page: members } = await openUrl(office.view("overview"))
      await members.getByRole("link", { name: /^demo-agent/ }).waitFor()
      const { page: calls } = await openUrl(office.view("activity"))
      const row = calls.getByRole("option").filter({ hasText: "add_note" }).first()
      await row.click()
      await calls.getByRole("definition").getByText("operator:anonymous", { exact: true }).waitFor()
    })

    it("says that a Computer does not permit it, and shows the error", async () => {
      const { page } = await openUrl(office.view("tools", echo))
      await page.getByText("This Computer does not run calls of operators while the office has an Agent.").waitFor()
      await page.getByLabel("message *").fill("refused")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText(/The office has the Agent 'demo-agent'/).waitFor()
      await page.getByText(/with code 409/).waitFor()
    })
  })
})
