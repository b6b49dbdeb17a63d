import { assert, describe, it } from "@effect/vitest"
import { browserTimeout, chromiumPath } from "../../programs/launchChromium.ts"
import { tabTo } from "../scripted/expectations.ts"
import { DemoOffice } from "./DemoOffice.ts"
import { cardOf, useBrowser } from "./LiveBrowser.ts"

const echo = { tool: "echo", computer: "lab" }
const addNote = { tool: "add_note", computer: "desk" }
const slow = { tool: "trigger-long-running-operation", computer: "lab" }

describe.skipIf(chromiumPath === undefined)("office page of a live Server", () => {
  const options = { timeout: browserTimeout }

  describe("in an office without an Agent", () => {
    const office = new DemoOffice()
    const browser = useBrowser(office, async () => {
      await office.start()
      await office.stopAgent()
    })

    it("calls a tool as the Agent, and shows its result", options, async () => {
      await using opened = await browser.openUrl(office.view("try", echo))
      const { page } = opened
      await page.getByLabel("message *").fill("Hello, office!")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The tool succeeded").waitFor()
      await page.getByText("Echo: Hello, office!", { exact: true }).waitFor()
      assert.deepStrictEqual(await opened.faults(), [])
    })

    it("does so without a mouse", options, async () => {
      await using opened = await browser.openUrl(office.view("try", echo))
      const { page } = opened
      await page.getByLabel("message *").waitFor()
      await tabTo(page, "message *")
      await page.keyboard.press("ControlOrMeta+a")
      await page.keyboard.type("Typed")
      await page.keyboard.press("Enter")
      await page.getByText("Echo: Typed", { exact: true }).waitFor()
    })

    it("shows the error of a tool, and the argument that is missing", options, async () => {
      await using opened = await browser.openUrl(office.view("try", addNote))
      const { page } = opened
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill("{}")
      await page.getByRole("list", { name: "Missing arguments" }).getByText("text").waitFor()
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText(/The tool returned an error|Failed after/).waitFor()
    })

    it("is a member only while it calls, and cancels the call", options, async () => {
      await using opened = await browser.openUrl(office.view("try", slow))
      await using members = await browser.openUrl(office.view("members"))
      const { page } = opened
      const operator = cardOf(members.page, "Agent operator:anonymous")
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill(`{"duration": 60, "steps": 60}`)
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The call runs as the Agent operator:anonymous of the office.").waitFor()
      await operator.waitFor()
      await page.getByText(/progress: \d+ of 60/).waitFor()
      await page.getByRole("progressbar", { name: "progress of the call" }).waitFor()
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
      await page.getByText("cancelled", { exact: true }).waitFor()
      await operator.waitFor({ state: "detached" })
      await members.page.getByText("The office has no Agent.").waitFor()
      assert.deepStrictEqual(await opened.faults(), [])
    })

    it("cancels the call of a page that is closed", options, async () => {
      await using members = await browser.openUrl(office.view("members"))
      const operator = cardOf(members.page, "Agent operator:anonymous")
      {
        await using opened = await browser.openUrl(office.view("try", slow))
        const { page } = opened
        await page.getByRole("textbox", { name: "Arguments as JSON" }).fill(`{"duration": 60, "steps": 60}`)
        await page.getByRole("button", { name: "Run" }).click()
        await operator.waitFor()
      }
      await operator.waitFor({ state: "detached" })
    })

    it(
      "answers the question of the MCP server, also where the owner lets operators decide nothing",
      options,
      async () => {
        const elicits = { tool: "trigger-elicitation-request", computer: "lab" }
        await using opened = await browser.openUrl(office.view("try", elicits))
        const { page } = opened
        await page.getByRole("button", { name: "Run" }).click()
        const result = page.getByRole("region", { name: "Result" })
        await result.getByText("Please provide inputs for the following fields:").waitFor()
        assert.deepStrictEqual(await opened.accessibilityFindings(), [])
        await result.getByLabel(/^name/).fill("Ada")
        await result.getByRole("button", { name: /^Send/ }).click()
        await result.getByText("- Name: Ada").first().waitFor()
        assert.deepStrictEqual(await opened.faults(), [])
      }
    )

    it("waits for the consent of the Computer as an Agent does", options, async () => {
      await using opened = await browser.openUrl(office.view("try", { tool: "clear_notes", computer: "desk" }))
      const { page } = opened
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("waiting for consent").waitFor()
      await office.answerConsent(true)
      await page.getByText("The board is empty now.", { exact: true }).waitFor()
    })
  })

  describe("in an office with an Agent", () => {
    const office = new DemoOffice()
    const browser = useBrowser(office, () => office.start())

    it("calls tools of a Computer that permits it, beside the Agent", options, async () => {
      await using opened = await browser.openUrl(office.view("try", addNote))
      const { page } = opened
      await page.getByLabel("text *").fill("Beside the Agent")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("Note 1 is on the board.", { exact: true }).waitFor()
      await using members = await browser.openUrl(office.view("members"))
      await cardOf(members.page, "Agent demo-agent").waitFor()
      await using calls = await browser.openUrl(office.view("calls"))
      const row = calls.page.getByRole("option").filter({ hasText: "add_note" }).first()
      await row.click()
      await calls.page.getByRole("definition").getByText("operator:anonymous", { exact: true }).waitFor()
      assert.deepStrictEqual(await opened.faults(), [])
    })

    it("says that a Computer does not permit it, and shows the error", options, async () => {
      await using opened = await browser.openUrl(office.view("try", echo))
      const { page } = opened
      await page.getByText("This Computer does not run calls of operators while the office has an Agent.").waitFor()
      await page.getByLabel("message *").fill("refused")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText(/The office has the Agent 'demo-agent'/).waitFor()
      await page.getByText(/with code 409/).waitFor()
    })
  })
})
