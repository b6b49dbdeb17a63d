import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { bundledCommand } from "../../programs/bundleCommand.ts"
import { describePages } from "../scripted/usePages.ts"
import { waitUntil } from "../scripted/expectations.ts"
import { DemoOffice } from "./DemoOffice.ts"
import { useLivePages } from "./useLivePages.ts"

const run = promisify(execFile)

/** The row of the latest call of a tool in the list. */
const callOf = (page: Page, tool: string) =>
  page.getByRole("listbox", { name: "Calls" }).getByRole("option").filter({ hasText: tool }).first()

const details = (page: Page) => page.getByRole("region", { name: "Call", exact: true })

const longCall = {
  computer: "lab",
  tool: "trigger-long-running-operation",
  params: { duration: 60, steps: 60 }
}

describePages("office page of a live Server", () => {
  const office = new DemoOffice()
  const { openUrl } = useLivePages(office, () => office.start())

  it("shows a call that waits for consent, and its end after the consent", async () => {
    const { page } = await openUrl(office.view("activity"))
    await page.getByText("Connected", { exact: true }).waitFor()
    const { result } = office.startCall({ computer: "desk", tool: "clear_notes" })
    const row = callOf(page, "clear_notes")
    await row.getByText("consent", { exact: true }).waitFor()
    await row.click()
    await details(page).getByText("waiting for consent").waitFor()
    await office.answerConsent(true)
    await row.getByText("done", { exact: true }).waitFor()
    await details(page)
      .getByText(/running after|consent after .*, done after/)
      .waitFor()
    await result
  })

  it("shows a call without consent as denied, and who denied it", async () => {
    const { page } = await openUrl(office.view("activity"))
    await page.getByText("Connected", { exact: true }).waitFor()
    const { result } = office.startCall({ computer: "desk", tool: "clear_notes" })
    await callOf(page, "clear_notes").getByText("consent", { exact: true }).waitFor()
    await office.answerConsent(false)
    await callOf(page, "clear_notes").getByText("denied", { exact: true }).waitFor()
    await callOf(page, "clear_notes").click()
    await details(page)
      .getByText(/denied this call$/)
      .waitFor()
    await result
  })

  it("shows the progress of a call, and cancels it for the Agent", async () => {
    const { page } = await openUrl(office.view("activity"))
    await page.getByText("Connected", { exact: true }).waitFor()
    const { result } = office.startCall(longCall)
    await callOf(page, longCall.tool).click()
    await details(page)
      .getByText(/progress: \d+ of 60/)
      .waitFor()
    await page.getByRole("button", { name: `Cancel the call of ${longCall.tool}` }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Cancel call" }).click()
    await callOf(page, longCall.tool).getByText("cancelled", { exact: true }).waitFor()
    assert.match(JSON.stringify(await result), /cancel/i)
  })

  it("shows captured arguments and results", async () => {
    const { page } = await openUrl(office.view("activity"))
    await page.getByText("Connected", { exact: true }).waitFor()
    await office.call({ computer: "desk", tool: "add_note", params: { text: "Water the plants" } })
    await callOf(page, "add_note").click()
    await details(page)
      .getByText(/"text":\s*"Water the plants"/)
      .first()
      .waitFor()
    await details(page)
      .getByText(/Note \d+ is on the board/)
      .first()
      .waitFor()
  })

  it("filters calls, and shows the percentiles of those that match", async () => {
    const { page } = await openUrl(office.view("activity"))
    await page.getByText("Connected", { exact: true }).waitFor()
    for (const message of ["one", "two", "three"]) {
      await office.call({ computer: "lab", tool: "echo", params: { message } })
    }
    await office.call({ computer: "desk", tool: "make_coffee" })
    const state = page.locator("#call-filter-state")
    await page.getByLabel("Filter").fill("tool:echo status:done")
    await waitUntil(async () => /^3 calls, p50 .* m?s, p99 .* m?s, since /.test((await state.textContent()) ?? ""))
    await page.getByLabel("Filter").fill("tool:make_coffee -status:done")
    await waitUntil(async () => /^1 call\b/.test((await state.textContent()) ?? ""))
    await page.getByLabel("Filter").fill("duration>1h")
    await page.getByText("duration must be a number with the unit ms, s or m").waitFor()
  })

  it("shows the latencies and the calls per second of the node", async () => {
    const { page } = await openUrl(office.offices)
    await office.call({ computer: "lab", tool: "echo", params: { message: "hello" } })
    const nodes = page.getByRole("group", { name: "Nodes" })
    await nodes.getByText(/^\d+(?:\.\d+)? (?:µs|ms|s) \/ .* \/ .*$/).waitFor()
  })

  it("formats a call as a command, which makes the call again in a shell", async () => {
    const { page } = await openUrl(office.view("activity"))
    await page.getByText("Connected", { exact: true }).waitFor()
    const message = `it's "quoted" $HOME \`ls\` ü`
    await office.call({ computer: "lab", tool: "echo", params: { message } })
    const command = details(page).getByText(/^a2c agent .*quoted/)
    // The list may still show an earlier call first.
    await waitUntil(async () => {
      await callOf(page, "echo").click()
      return (await command.count()) > 0
    })
    const text = (await command.textContent()) ?? ""
    await office.stopAgent()
    const script = `a2c() { '${process.execPath}' '${bundledCommand}' "$@"; }\n${text}`
    const { stdout } = await run("sh", ["-c", script], { env: { ...process.env, A2C_SERVER: office.url } })
    assert.strictEqual(stdout.trim(), `Echo: ${message}`)
    await office.startAgent()
  })

  it("says that arguments and results are not captured by default", async () => {
    await using plain = await new DemoOffice().startServer(false)
    await plain.startDesk({})
    await plain.startAgent()
    const { page } = await openUrl(plain.view("activity"))
    await page.getByText("Connected", { exact: true }).waitFor()
    await plain.call({ computer: "desk", tool: "add_note", params: { text: "secret words" } })
    await callOf(page, "add_note").click()
    await details(page).getByText("The arguments are missing: only a2c server --page-bodies captures them.").waitFor()
    assert.notInclude((await details(page).textContent()) ?? "", "secret words")
  })
})
