import { assert, describe, it } from "@effect/vitest"
import { busyViews, prepareBusyServer } from "./scripted/busyOffice.ts"
import { focusedName, tabTo, waitUntil } from "./scripted/expectations.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import { withSnapshot, withoutSession } from "./scripted/preparations.ts"
import { makeApproval, makeSnapshot, makeWaitingCall, team } from "./scripted/pageFixtures.ts"
import type { ScriptedServer } from "./scripted/ScriptedServer.ts"

/** Widths with the themes that axe checks there. A width changes no colours. */
const widths = [
  { width: 1280, themes: ["light", "dark"] },
  { width: 390, themes: ["dark"] }
] as const

const withoutMembers = withSnapshot({ members: [], nodes: [] })

const asking = (server: ScriptedServer): void => {
  server.snapshot = makeSnapshot({ calls: [makeWaitingCall({}, "approval-1", true)] })
  const choices = { type: "array", items: { enum: ["a", "b"] }, default: ["a"] }
  const properties = {
    name: { type: "string", description: "Yours" },
    pin: { format: "password" },
    agree: { type: "boolean" },
    choices
  }
  const schema = { type: "object", properties, required: ["name"] }
  server.replies.GetApproval = () => makeApproval({ input: { mode: "form", message: "Who?", schema } })
}

const emptyViews = Object.entries(busyViews).map(
  ([view, hash]) => [`the empty view ${view}`, hash.split("?")[0] ?? "", withoutMembers] as const
)

const audited: ReadonlyArray<readonly [string, string, (server: ScriptedServer) => void]> = [
  ...Object.entries(busyViews).map(([view, hash]) => [`the view ${view}`, hash, prepareBusyServer] as const),
  ...emptyViews,
  ["a question", "#/office/0.2/team/inbox", asking],
  ["the form for sign-in", "", withoutSession]
]

describePages("office page", () => {
  const { open } = usePages()

  describe("accessibility", () => {
    for (const [name, hash, prepare] of audited) {
      it(`has no violations in ${name}, in both themes and at all widths`, async () => {
        const { accessibilityFindings, page } = await open(hash, prepare)
        await waitUntil(async () => (await page.getByText("loading", { exact: true }).count()) === 0)
        for (const { themes, width } of widths) {
          await page.setViewportSize({ width, height: 800 })
          for (const colorScheme of themes) {
            await page.emulateMedia({ colorScheme })
            assert.deepStrictEqual(await accessibilityFindings(), [], `${colorScheme} ${width}`)
          }
          const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
          assert.isAtMost(Number(overflow), 0, `overflow at ${width}`)
        }
      })
    }

    it("has no violations in a dialog", async () => {
      const { accessibilityFindings, page } = await open("#/office/0.2/team/settings")
      await page.getByRole("button", { name: "Disconnect desk" }).click()
      await page.getByRole("dialog").waitFor()
      assert.deepStrictEqual(await accessibilityFindings(), [])
    })

    it("has no violations in the outcome of an approval", async () => {
      const { accessibilityFindings, page } = await open("#/office/0.2/team/inbox", prepareBusyServer)
      await page.getByRole("button", { name: "Deny: write_file" }).click()
      await page.getByText("allowed once by operator:ops").waitFor()
      assert.deepStrictEqual(await accessibilityFindings(), [])
    })

    it("finds a planted violation", async () => {
      const { accessibilityFindings, page } = await open("")
      await page.evaluate("document.querySelector('main').append(document.createElement('input'))")
      assert.match((await accessibilityFindings()).join(), /^label: /)
    })
  })

  it("shows the link of the current view at 390 pixels", async () => {
    const { page } = await open("#/offices")
    await page.setViewportSize({ width: 390, height: 800 })
    await page.evaluate(`location.hash = "#/office/0.2/team/documents"`)
    const link = page.getByRole("link", { name: "Documents" })
    await waitUntil(async () => {
      const { width = 390, x = 0 } = (await link.boundingBox()) ?? {}
      return x >= 0 && x + width <= 390
    })
  })

  describe("keyboard", () => {
    it("signs in and out, and changes the theme", async () => {
      const { page } = await open("", withoutSession)
      await tabTo(page, "Key or token")
      await page.keyboard.type("operator-key")
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "team" }).waitFor()
      await page.getByRole("combobox", { name: "Colours" }).focus()
      for (const [key, colorScheme] of [
        ["ArrowDown", "light"],
        ["ArrowDown", "dark"],
        ["ArrowUp", "light"],
        ["ArrowUp", "light dark"]
      ] as const) {
        await page.keyboard.press(key)
        const expression = `getComputedStyle(document.documentElement).colorScheme === "${colorScheme}"`
        await waitUntil(() => page.evaluate(expression))
      }
      await tabTo(page, "Sign out")
      await page.keyboard.press("Enter")
      await page.getByLabel("Key or token").waitFor()
    })

    it("opens an office, disconnects a member, and drains a node", async () => {
      const { page, server } = await open("#/offices")
      await tabTo(page, "team")
      await page.keyboard.press("Enter")
      await page.getByRole("link", { name: "Settings" }).waitFor()
      await tabTo(page, "Settings")
      await page.keyboard.press("Enter")
      await page.getByRole("button", { name: "Disconnect desk" }).waitFor()
      await tabTo(page, "Disconnect desk")
      await page.keyboard.press("Enter")
      await tabTo(page, "Disconnect")
      await page.keyboard.press("Enter")
      await waitUntil(() => server.commands.length === 1)
      await page.getByRole("dialog").waitFor({ state: "detached" })
      await page.evaluate(`location.hash = "#/offices"`)
      await page.getByRole("button", { name: "Drain the node n1" }).waitFor()
      await tabTo(page, "Drain the node n1")
      await page.keyboard.press("Enter")
      await tabTo(page, "Drain")
      await page.keyboard.press("Enter")
      await waitUntil(() => server.commands.length === 2)
      assert.deepStrictEqual(server.commands, [
        { _tag: "Disconnect", sid: "sid-desk" },
        { _tag: "Drain", node: "n1" }
      ])
    })

    it("allows a tool until it is revoked, denies a call, and turns on the sound", async () => {
      const { page, server } = await open("#/office/0.2/team/inbox", (server) => {
        server.snapshot = makeSnapshot({
          calls: [makeWaitingCall({ id: "a", tool: "write_file" }), makeWaitingCall({ id: "b", tool: "send_mail" })]
        })
      })
      await page.getByRole("button", { name: "Deny: send_mail" }).waitFor()
      await tabTo(page, "Sound for new approvals")
      await page.keyboard.press("Space")
      assert.isTrue(await page.getByLabel("Sound for new approvals").isChecked())
      await tabTo(page, "Allow this tool in this office: write_file")
      await page.keyboard.press("Tab")
      await page.keyboard.press("End")
      await page.keyboard.press("Shift+Tab")
      await page.keyboard.press("Enter")
      await waitUntil(() => server.commands.some(({ _tag }) => _tag === "DecideApproval"))
      await page.getByRole("button", { name: "Deny: write_file" }).waitFor({ state: "detached" })
      assert.match(await focusedName(page), /^allowed once by operator:ops/)
      await tabTo(page, "Reason of a denial")
      await page.keyboard.type("not now")
      await page.keyboard.press("Enter")
      await page.getByRole("button", { name: "Deny: send_mail" }).waitFor({ state: "detached" })
      const target = { _tag: "DecideApproval", ...team, computer: "desk", id: "approval-1" } as const
      assert.deepStrictEqual(
        server.commands.filter(({ _tag }) => _tag === "DecideApproval"),
        [
          { ...target, action: "allow", scope: "tool" },
          { ...target, action: "deny", reason: "not now" }
        ]
      )
    })

    it("finds a tool, opens its form, and runs it", async () => {
      const { page } = await open("#/office/0.2/team/tools", (server) => {
        prepareBusyServer(server)
        server.call = async function* () {
          yield { _tag: "Result", result: { content: [{ type: "text", text: "created" }] } }
        }
      })
      await tabTo(page, "Search tools")
      await page.keyboard.type("create")
      await page.getByText("1 of 15 tools").waitFor()
      await page.keyboard.press("Tab")
      await page.keyboard.press("ArrowDown")
      await page.getByRole("heading", { name: "create_issue" }).waitFor()
      await tabTo(page, "title *")
      await page.keyboard.type("first")
      await tabTo(page, "Add assignee")
      await page.keyboard.press("Enter")
      await tabTo(page, "name *")
      await page.keyboard.type("Ann")
      await tabTo(page, "Run")
      await page.keyboard.press("Enter")
      await page.getByText("created", { exact: true }).waitFor()
    })

    it("filters, pauses, selects and cancels calls", async () => {
      const { page, server } = await open("#/office/0.2/team/activity", prepareBusyServer)
      await tabTo(page, "Filter")
      await page.keyboard.type("status:running")
      await page.getByText(/^1 call, since /).waitFor()
      await tabTo(page, "Pause")
      await page.keyboard.press("Space")
      await page.keyboard.press("Tab")
      await page.keyboard.press("ArrowUp")
      await page.getByText("10 s ago").waitFor()
      await page.keyboard.press("Tab")
      await page.keyboard.press("ArrowDown")
      await page.getByRole("heading", { name: "run_tests" }).waitFor()
      await tabTo(page, "Cancel the call of run_tests")
      await page.keyboard.press("Enter")
      await tabTo(page, "Cancel call")
      await page.keyboard.press("Enter")
      await waitUntil(() => server.commands.some(({ _tag }) => _tag === "CancelCall"))
      await page.getByRole("dialog").waitFor({ state: "detached" })
      await tabTo(page, "Copy the command")
    })

    it("changes the format of windows", async () => {
      const { page } = await open("#/office/0.2/team/windows", prepareBusyServer)
      await page.getByRole("cell", { name: "4,812" }).waitFor()
      await page.getByRole("combobox", { name: "Show windows as" }).focus()
      await page.keyboard.press("ArrowDown")
      await page.getByText("| unit  | 4,812  | 0      |").waitFor()
      await page.keyboard.press("ArrowUp")
      await page.getByRole("cell", { name: "4,812" }).waitFor()
    })

    it("searches, pages through and opens documents", async () => {
      const { page, server } = await open("#/office/0.2/team/documents", prepareBusyServer)
      await page.getByRole("button", { name: "Report of week 1" }).waitFor()
      await tabTo(page, "Keywords")
      await page.keyboard.type("report")
      await page.keyboard.press("Enter")
      await waitUntil(() => server.commands.some((one) => one._tag === "FindDocuments" && one.keywords?.length === 1))
      await page.getByRole("button", { name: "Report of week 1" }).waitFor()
      await tabTo(page, "Report of week 1")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "dpe://notes/report-1.pdf?format=markdown" }).waitFor()
      await tabTo(page, "Next")
      await page.keyboard.press("Enter")
      await page.getByText("21 to 28 of 64").waitFor()
    })
  })
})
