import { assert, describe, it } from "@effect/vitest"
import { focusedName, tabTo, waitUntil } from "./scripted/expectations.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import { withInspection, withSnapshot, withSession, withoutSession } from "./scripted/preparations.ts"
import { agent, makeBatch, makeMember, makeNode, makeSnapshot, startTime, team } from "./scripted/pageFixtures.ts"
import { RejectedCommand } from "./scripted/ScriptedServer.ts"

describePages("office page", () => {
  const { open } = usePages()

  describe("list of offices", () => {
    it("shows offices with members, rates and failures", async () => {
      const { page, server } = await open("#/offices")
      server.send(
        makeBatch([
          { _tag: "Activity", at: startTime + 1_000, offices: [{ ...team, node: "n1", calls: 12, failed: 3 }] }
        ])
      )
      const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "team" }) })
      await row.getByRole("cell", { name: "12", exact: true }).waitFor()
      await row.getByRole("cell", { name: "3", exact: true }).waitFor()
      await row.getByText("1 Agent, 1 Computer").waitFor()
      await row.getByRole("img", { name: "calls per second in the last minute, at most 12" }).waitFor()
    })

    it("adds and removes offices as members enter and leave", async () => {
      const { page, server } = await open("#/offices")
      const lab = page.getByRole("link", { name: "lab" })
      server.send(
        makeBatch([{ _tag: "Entered", member: makeMember({ sid: "sid-lab", office: "lab", name: "bench" }) }])
      )
      await lab.waitFor()
      server.send(makeBatch([{ _tag: "Left", sid: "sid-lab", at: startTime }]))
      await lab.waitFor({ state: "detached" })
    })

    it("counts the MCP servers that do not run, where Computers have reported them", async () => {
      const { page } = await open("#/offices", withInspection())
      const row = page.getByRole("row", { name: /team/ })
      await row.locator("[data-title='Failed MCP servers']").getByText("1", { exact: true }).waitFor()
    })

    it("shows nodes with their failing components", async () => {
      const { page, server } = await open("#/offices")
      const components = { registry: { ok: false, error: "connection refused" } }
      server.send(makeBatch([{ _tag: "Node", node: makeNode({ state: "draining", components }) }]))
      await page.getByText("draining", { exact: true }).waitFor()
      await page.getByText("connection refused").waitFor()
      await page.getByText("3 ms / 8 ms / 21 ms").waitFor()
    })

    it("shows the latest rejections", async () => {
      const { page, server } = await open("#/offices")
      server.send(
        makeBatch([
          {
            _tag: "Rejected",
            node: "n1",
            at: startTime,
            what: "connection",
            code: 401,
            reason: "missing_credentials",
            remoteAddress: "10.0.0.7"
          }
        ])
      )
      await page.getByRole("row", { name: /connection 401 missing_credentials 10\.0\.0\.7/ }).waitFor()
    })

    it("names the commands that start the first office", async () => {
      const { page, server } = await open("#/offices", withSnapshot({ members: [] }))
      await page.getByText(`a2c computer ${server.connectionFlags} --office team --config mcp.json`).waitFor()
    })

    it("states how many members the Server left out", async () => {
      const { page } = await open("#/offices", withSnapshot({ omittedMembers: 1_200 }))
      await page.getByText("1,200 further members are not listed.").waitFor()
    })
  })

  describe("disconnecting a member", () => {
    it("sends the command after a confirmation, with the token of the session", async () => {
      const { page, server } = await open("#/office/0.2/team/settings")
      await page.getByRole("button", { name: "Disconnect desk" }).click()
      const dialog = page.getByRole("dialog", { name: "Disconnect this member?" })
      await dialog.getByRole("button", { name: "Disconnect" }).click()
      await dialog.waitFor({ state: "detached" })
      assert.deepStrictEqual(server.commands, [{ _tag: "Disconnect", sid: "sid-desk" }])
      const headers = server.headers.at(-1)
      assert.deepStrictEqual(
        [headers?.["x-a2c-csrf"], headers?.["content-type"]],
        ["token-of-the-session", "application/json"]
      )
    })

    it("sends nothing when the dialog is cancelled, and returns the focus", async () => {
      const { page, server } = await open("#/office/0.2/team/settings")
      const button = page.getByRole("button", { name: "Disconnect desk" })
      await button.focus()
      await page.keyboard.press("Enter")
      const dialog = page.getByRole("dialog")
      await dialog.waitFor()
      await page.keyboard.press("Escape")
      await dialog.waitFor({ state: "detached" })
      assert.deepStrictEqual(server.commands, [])
      assert.strictEqual(await focusedName(page), "Disconnect desk")
    })

    it("shows the error of the Server in the dialog", async () => {
      const { page } = await open("#/office/0.2/team/settings", ({ replies }) => {
        replies.Disconnect = () => new RejectedCommand(404, "unknown member")
      })
      await page.getByRole("button", { name: "Disconnect desk" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click()
      await page.getByRole("alert").getByText("unknown member").waitFor()
    })
  })

  it("drains a node after a confirmation", async () => {
    const { page, server } = await open("#/offices")
    await page.getByRole("button", { name: "Drain the node n1" }).click()
    const dialog = page.getByRole("dialog", { name: "Drain this node?" })
    await dialog.getByRole("button", { name: "Drain" }).click()
    await dialog.waitFor({ state: "detached" })
    assert.deepStrictEqual(server.commands, [{ _tag: "Drain", node: "n1" }])
  })

  describe("sign-in", () => {
    it("asks for a key, and opens the stream with it", async () => {
      const { page } = await open("", withoutSession)
      await page.getByLabel("Key or token").fill("operator-key")
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByRole("link", { name: "team" }).waitFor()
      await page.getByText("Connected", { exact: true }).waitFor()
    })

    it("explains a rejected key", async () => {
      const { page, server } = await open("", withoutSession)
      await page.getByLabel("Key or token").fill("other")
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByRole("alert").getByText("The Server rejected the key").waitFor()
      assert.strictEqual(server.openStreams, 0)
    })

    it("signs out, and asks for a key again", async () => {
      const { page, server } = await open("")
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Key or token").waitFor()
      assert.isUndefined(server.session)
      assert.strictEqual(await page.getByRole("link", { name: "team" }).count(), 0)
    })

    it("asks for a key when the session ends while the page is open", async () => {
      const { page, server } = await open("")
      server.session = undefined
      server.dropStreams()
      await page.getByLabel("Key or token").waitFor()
    })
  })

  describe("connection", () => {
    it("reconnects after the stream ends, and shows the new state", async () => {
      const { page, server } = await open("")
      server.snapshot = makeSnapshot({ stream: "stream-2", members: [makeMember({ office: "lab" })] })
      server.dropStreams()
      await page.getByRole("link", { name: "lab" }).waitFor()
      await page.getByRole("status").getByText("Connected").waitFor()
      assert.strictEqual(await page.getByRole("link", { name: "team" }).count(), 0)
    })

    it("states that the Server is unavailable until it returns", async () => {
      const { page, server } = await open("")
      server.isDown = true
      server.dropStreams()
      await page.getByRole("status").getByText("Server unavailable, trying again").waitFor()
      server.isDown = false
      await page.getByRole("status").getByText("Connected").waitFor()
    })

    it("states which events were lost", async () => {
      const { page, server } = await open("")
      server.send(makeBatch([], { droppedEvents: 7, omittedCalls: 1_500 }))
      await page.getByText("7 events were lost, because this page was too slow").waitFor()
      await page.getByText("1,500 calls were counted, but are not listed").waitFor()
    })

    it("watches the office that is shown, again after a reconnection", async () => {
      const { page, server } = await open("#/office/0.2/team/overview")
      server.snapshot = makeSnapshot({ stream: "stream-2", members: [makeMember({ name: "new" }), agent] })
      server.dropStreams()
      await page.getByRole("link", { name: /^new/ }).waitFor()
      await waitUntil(() => page.evaluate("document.querySelector('.connection-Connected') !== null"))
      await waitUntil(() => server.focused.length === 2)
      assert.deepStrictEqual(server.focused, ["team", "team"])
    })
  })

  describe("navigation", () => {
    it("stays where it is scrolled while events arrive", async () => {
      const members = Array.from({ length: 30 }, (_, index) => makeMember({ sid: `${index}`, name: `c${index}` }))
      const { page, server } = await open("#/office/0.2/team/settings", withSnapshot({ members }))
      await page.getByRole("button", { name: "Disconnect c29" }).waitFor()
      await page.evaluate("scrollTo(0, document.body.scrollHeight)")
      const before = await page.evaluate("scrollY")
      assert.isAbove(Number(before), 0)
      server.send(makeBatch([{ _tag: "Entered", member: makeMember({ sid: "late", name: "late" }) }]))
      await page.getByRole("button", { name: "Disconnect late" }).waitFor()
      assert.strictEqual(await page.evaluate("scrollY"), before)
    })

    it("gives each view an address and a title, and the back button returns", async () => {
      const { page } = await open("#/offices")
      await page.getByRole("link", { name: "team" }).click()
      await page.getByRole("link", { name: "Activity", exact: true }).click()
      await page.getByRole("heading", { name: /team.*Activity/ }).waitFor()
      await waitUntil(async () => (await page.title()) === "team · Activity · A2C-SMCP")
      await page.goBack()
      await page.getByRole("heading", { name: /team.*Overview/ }).waitFor()
      await page.goBack()
      await page.getByRole("heading", { name: "Offices" }).waitFor()
      await waitUntil(async () => (await page.title()) === "Offices · A2C-SMCP")
    })

    it("says that an address names no view", async () => {
      const { page } = await open("#/office/0.2/team/elsewhere")
      await page.getByText("The address names no view of an office.").waitFor()
      await page.getByRole("link", { name: "Activity" }).click()
      await page.getByRole("heading", { name: /team.*Activity/ }).waitFor()
    })

    it("shows the only office of a page that serves one", async () => {
      const { page } = await open("", withSession({ office: team }))
      await page.getByRole("heading", { name: /team.*Overview/ }).waitFor()
      assert.strictEqual(await page.getByRole("link", { name: "Offices" }).count(), 0)
    })

    it("jumps to the content from the first link", async () => {
      const { page } = await open("#/offices")
      await page.keyboard.press("Tab")
      await page.keyboard.press("Enter")
      assert.strictEqual(await page.evaluate("document.activeElement.id"), "content")
    })

    it("reaches a view of an office by the keyboard alone", async () => {
      const { page } = await open("#/offices")
      await tabTo(page, "team")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: /team.*Overview/ }).waitFor()
      await tabTo(page, "Explore")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: /team.*Tools/ }).waitFor()
    })
  })

  describe("theme", () => {
    it("follows the browser until one is chosen, and keeps the choice", async () => {
      const { page } = await open("")
      const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor")
      const light = await background()
      await page.emulateMedia({ colorScheme: "dark" })
      const dark = await background()
      assert.notStrictEqual(dark, light)
      await page.getByLabel("Colours").selectOption("light")
      assert.strictEqual(await background(), light)
      await page.reload()
      await page.getByRole("heading", { name: "Offices" }).waitFor()
      assert.strictEqual(await background(), light)
      await page.getByLabel("Colours").selectOption("system")
    })
  })
})
