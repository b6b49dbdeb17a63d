import { assert, it } from "@effect/vitest"
import { Stream } from "effect"
import { describePages } from "../scripted/usePages.ts"
import { DemoOffice } from "./DemoOffice.ts"
import { cardOf, rowOf, useLivePages } from "./useLivePages.ts"
import { configOf } from "./LiveParts.ts"

/** An MCP server that writes to stderr and exits. */
const failing = configOf({
  failing: {
    type: "stdio",
    server_parameters: {
      command: process.execPath,
      args: ["-e", "console.error('no account is configured'); process.exit(3)"]
    }
  }
})

describePages("office page of a live Server", () => {
  const office = new DemoOffice()
  const { openUrl } = useLivePages(office, () => office.start())
  const member = (name: string) => ({ url: office.url, office: office.office, name })

  it("counts the members of an office, also those that join and leave", async () => {
    const { page } = await openUrl(office.offices)
    await page.getByText("1 Agent, 2 Computers", { exact: true }).waitFor()
    const attic = await office.parts.computer({ ...member("attic"), config: configOf({}) })
    await page.getByText("1 Agent, 3 Computers", { exact: true }).waitFor()
    await attic.stop()
    await page.getByText("1 Agent, 2 Computers", { exact: true }).waitFor()
  })

  it("shows a Computer while it is in the office", async () => {
    const { page } = await openUrl(office.view("overview", { computer: "attic" }))
    await page
      .getByRole("list", { name: "Agents" })
      .getByRole("link", { name: /^demo-agent/ })
      .waitFor()
    const attic = await office.parts.computer({ ...member("attic"), config: configOf({}) })
    const node = page.getByRole("list", { name: "Computers" }).getByRole("link", { name: /^attic/ })
    await node.waitFor()
    await cardOf(page, "Computer attic").getByText("This Computer has no MCP servers.").waitFor()
    await attic.stop()
    await node.waitFor({ state: "detached" })
    await cardOf(page, "Computer attic").waitFor({ state: "detached" })
  })

  it("shows the MCP servers of a Computer, and those that are stopped and started", async () => {
    const { page } = await openUrl(office.view("overview", { computer: "desk" }))
    const desk = cardOf(page, "Computer desk")
    const memory = rowOf(desk, "memory")
    await memory.getByText("ready", { exact: true }).waitFor()
    await memory.getByRole("cell", { name: "9", exact: true }).waitFor()
    await office.parts.run(office.desk.service.stop("memory"))
    await memory.getByText("stopped", { exact: true }).waitFor()
    await office.parts.run(office.desk.service.start("memory"))
    await memory.getByText("ready", { exact: true }).waitFor()
  })

  for (const [stderr, title] of [
    [true, "shows why an MCP server fails, and its stderr where the Computer shares it"],
    [false, "shows why an MCP server fails, without the stderr that the Computer does not share"]
  ] as const) {
    it(title, async () => {
      const { page } = await openUrl(office.view("overview", { computer: "attic" }))
      const operators = { states: true, stderr }
      const attic = await office.parts.computer({ ...member("attic"), config: failing, operators })
      const row = rowOf(cardOf(page, "Computer attic"), "failing")
      await row.getByText("the process exited with code 3").first().waitFor()
      if (stderr) {
        await row.locator("summary").click()
        await row.getByText("no account is configured").first().waitFor()
      } else {
        assert.strictEqual(await row.locator("details").count(), 0)
      }
      await attic.stop()
    })
  }

  it("shows that a Computer keeps its states private", async () => {
    const { page } = await openUrl(office.view("overview", { computer: "attic" }))
    const attic = await office.parts.computer({
      ...member("attic"),
      config: configOf({}),
      operators: { states: false }
    })
    await cardOf(page, "Computer attic").getByText("This information is not available").waitFor()
    await attic.stop()
  })

  it("disconnects a member, which joins again", async () => {
    const { page } = await openUrl(office.view("overview", { computer: "lab" }))
    await cardOf(page, "Computer lab").waitFor()
    const { status } = office.lab.service
    const lost = office.parts.run(Stream.runHead(Stream.filter(status, ({ _tag }) => _tag === "Disconnected")))
    await page.getByRole("button", { name: "Disconnect lab" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await lost
    await office.parts.run(Stream.runHead(Stream.filter(status, ({ _tag }) => _tag === "Joined")))
    await cardOf(page, "Computer lab").waitFor()
  })

  it("lists the device and the tool pack of a Computer, and why a Computer has none", async () => {
    const { page } = await openUrl(office.view("overview", { computer: "desk" }))
    const desk = cardOf(page, "Computer desk")
    await rowOf(desk, "lamp").getByText("connected").waitFor()
    await rowOf(desk, "lamp").getByText("switch, state").waitFor()
    await rowOf(desk, "text_counter").getByText("ready").waitFor()
    await page.goto(office.view("overview", { computer: "lab" }))
    await cardOf(page, "Computer lab").getByText("This Computer has neither devices nor tool packs.").waitFor()
  })

  it("offers no sign-out on a Server without authentication", async () => {
    const { page } = await openUrl(office.offices)
    await page.getByText("Connected", { exact: true }).waitFor()
    assert.strictEqual(await page.getByRole("button", { name: "Sign out" }).count(), 0)
  })

  it("drains the Server, shows that it drains, and shows which joins it rejects", async () => {
    await using drained = await new DemoOffice().startServer()
    const { page } = await openUrl(drained.offices)
    await page.getByRole("button", { name: "Drain the node single" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Drain" }).click()
    await page.getByText("draining", { exact: true }).waitFor()
    assert.strictEqual(await page.getByRole("button", { name: "Drain the node single" }).count(), 0)
    const member = { url: drained.url, office: "late", name: "attic", config: configOf({}) }
    await drained.parts.computer(member).catch(() => undefined)
    await page
      .getByRole("group", { name: "Rejections" })
      .getByText(/The Server is shutting down/)
      .first()
      .waitFor()
  })
})
