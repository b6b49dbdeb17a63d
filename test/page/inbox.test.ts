import { afterAll, assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { maxReasonLength } from "../../src/domain/approvals/ApprovalView.ts"
import type { PageCommand } from "../../src/domain/page/PageCommand.ts"
import type { PageCall } from "../../src/domain/page/PageEvent.ts"
import { browserTimeout, chromiumPath } from "../programs/launchChromium.ts"
import { waitUntil } from "./scripted/expectations.ts"
import { type OpenPage, PageBrowser } from "./scripted/PageBrowser.ts"
import {
  agent,
  makeApproval,
  makeBatch,
  makeCall,
  makeMember,
  makeSnapshot,
  makeWaitingCall,
  startTime,
  team
} from "./scripted/pageFixtures.ts"
import { RejectedCommand, type ScriptedServer } from "./scripted/ScriptedServer.ts"

const inbox = "#/office/0.2/team/inbox"

const withCalls =
  (...calls: ReadonlyArray<PageCall>) =>
  (server: ScriptedServer): void => {
    server.snapshot = makeSnapshot({ calls })
  }

const waiting = withCalls(makeWaitingCall())

const decision = (isAllowed: boolean) => ({ _tag: "Decided", computer: "desk", isAllowed, by: "operator:bob" }) as const

const send = ({ server }: OpenPage, ...calls: ReadonlyArray<PageCall>): void =>
  server.send(makeBatch(calls.map((call) => ({ _tag: "Call", call }))))

const cardOf = (page: Page, tool: string) => page.getByRole("article", { name: tool, exact: true })

const answers = ({ server }: OpenPage): ReadonlyArray<PageCommand> =>
  server.commands.filter(({ _tag }) => _tag === "DecideApproval")

const target = { _tag: "DecideApproval", ...team, computer: "desk", id: "approval-1" } as const

/** Replaces the sound of the browser, and counts tones in `globalThis.tones`. */
const countTones = `
  globalThis.tones = 0
  globalThis.AudioContext = class {
    currentTime = 0
    resume() { return Promise.resolve() }
  }
  globalThis.GainNode = class {
    gain = { setValueAtTime() {}, exponentialRampToValueAtTime() {} }
    connect() {}
  }
  globalThis.OscillatorNode = class {
    connect(node) { return node }
    start() { globalThis.tones += 1 }
    stop() {}
  }
`

describe.skipIf(chromiumPath === undefined)("office page", () => {
  const browser = new PageBrowser()
  afterAll(() => browser.close(), browserTimeout)
  const options = { timeout: browserTimeout }

  describe("inbox", () => {
    it("explains itself while no call waits", options, async () => {
      await using opened = await browser.open(inbox)
      const { page } = opened
      await page.getByText("no call waits for an approval").waitFor()
      await page.getByText("No approver decided a call since this page was opened.").waitFor()
      assert.deepStrictEqual(opened.server.commands, [])
    })

    it("shows a call as soon as it waits, with what the Computer reports", options, async () => {
      await using opened = await browser.open(inbox, ({ replies }) => {
        replies.GetApproval = () => makeApproval({ reason: "Files of the project are shared." })
      })
      const { page, server } = opened
      await page.getByRole("heading", { name: "Latest decisions" }).waitFor()
      send(opened, makeWaitingCall())
      const card = cardOf(page, "write_file")
      for (const text of ["brain", "desk", "files", "rule 3", "Files of the project are shared."]) {
        await card.getByText(text, { exact: true }).waitFor()
      }
      await card.getByText('"path": "notes.txt"').waitFor()
      await page.getByRole("status").getByText("1 call waits for an approval").waitFor()
      assert.deepStrictEqual(server.commands, [{ ...target, _tag: "GetApproval" }])
      assert.deepStrictEqual(await opened.faults(), [])
    })

    describe("question", () => {
      const schema = {
        type: "object",
        properties: {
          name: { type: "string", title: "Your name", description: "As in the passport" },
          email: { type: "string", format: "email" },
          pin: { type: "string", format: "password" },
          hero: {
            type: "string",
            oneOf: [
              { const: "h1", title: "Superman" },
              { const: "h2", title: "Wonder Woman" }
            ]
          },
          age: { type: "integer", default: 42 }
        },
        required: ["name"]
      }
      const question = makeApproval({ input: { mode: "form", message: "Who books?", schema } })
      const requests =
        (input = question) =>
        (server: ScriptedServer) => {
          withCalls(makeWaitingCall({}, "approval-1", true))(server)
          server.replies.GetApproval = () => input
        }

      it("is answered by its form", options, async () => {
        await using opened = await browser.open(inbox, (server) => {
          requests()(server)
          server.replies.DecideApproval = () => ({ ...question, state: "allowed", decidedBy: "operator:ops" })
        })
        const { page } = opened
        const card = page.getByRole("article", { name: /write_file/ })
        await card.getByText("Who books?").waitFor()
        await card.getByText("As in the passport").waitFor()
        assert.strictEqual(await card.getByLabel("pin").getAttribute("type"), "password")
        assert.strictEqual(await card.getByLabel("age").inputValue(), "42")
        // What is typed outlives other updates.
        await card.getByLabel(/^name/).fill("Ada")
        send(opened, makeCall({ id: "other", tool: "other" }))
        await card.getByLabel("hero").selectOption({ label: "Wonder Woman (h2)" })
        await card.getByLabel("pin").fill("s3cret")
        await card.getByRole("button", { name: "Send: write_file" }).press("Enter")
        await waitUntil(() => answers(opened).length > 0)
        assert.deepStrictEqual<unknown>(answers(opened), [
          { ...target, action: "allow", content: { name: "Ada", pin: "s3cret", hero: "h2", age: 42 } }
        ])
        await page.getByText("answered by operator:ops").waitFor()
        assert.deepStrictEqual(await opened.faults(), [])
      })

      it("shows at its fields what is wrong, and keeps what was entered", options, async () => {
        await using opened = await browser.open(inbox, (server) => {
          requests()(server)
          server.replies.DecideApproval = () =>
            new RejectedCommand(400, 'The answer does not fit its form: /email: must match format "email"')
        })
        const { page } = opened
        const button = page.getByRole("button", { name: "Send: write_file" })
        const email = page.getByLabel("email")
        await button.waitFor()
        await email.fill("nonsense")
        await page.getByLabel(/^name/).fill("Ada")
        await button.press("Enter")
        await page.getByText('must match format "email"').waitFor()
        assert.strictEqual(await email.getAttribute("aria-invalid"), "true")
        assert.strictEqual(await email.inputValue(), "nonsense")
        assert.strictEqual(await page.getByLabel(/^name/).inputValue(), "Ada")
      })

      it("is not sent with a missing number", options, async () => {
        await using opened = await browser.open(inbox, requests())
        const { page } = opened
        await page.getByLabel("age").fill("many")
        await page.getByRole("button", { name: "Send: write_file" }).press("Enter")
        await page.getByText("must be a number").waitFor()
        assert.isEmpty(answers(opened))
      })

      it("is declined and closed", options, async () => {
        for (const [name, action] of [
          ["Decline: write_file", "deny"],
          ["Close: write_file", "cancel"]
        ] as const) {
          await using opened = await browser.open(inbox, requests())
          await opened.page.getByRole("button", { name }).press("Enter")
          await waitUntil(() => answers(opened).length > 0)
          assert.deepStrictEqual<unknown>(answers(opened), [{ ...target, action }])
        }
      })

      it("shows the host of a page, whose link tells it nothing", options, async () => {
        const url = "https://good.example@b\u00fccher.example/sign-in?state=1"
        await using opened = await browser.open(
          inbox,
          requests(makeApproval({ input: { mode: "url", message: "Sign in", url } }))
        )
        const { page } = opened
        await page.getByText("xn--bcher-kva.example", { exact: true }).waitFor()
        const link = page.getByRole("link", { name: /sign-in/ })
        assert.strictEqual(await link.getAttribute("rel"), "noopener noreferrer")
        assert.strictEqual(
          await link.getAttribute("href"),
          "https://good.example@xn--bcher-kva.example/sign-in?state=1"
        )
        await page.getByRole("button", { name: "I opened the page: write_file" }).press("Enter")
        await waitUntil(() => answers(opened).length > 0)
        assert.deepStrictEqual<unknown>(answers(opened), [{ ...target, action: "allow" }])
      })
    })

    it("counts down the time that the Computer states", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.GetApproval = () => makeApproval({ expiresIn: 6_000 })
      })
      const { page } = opened
      await page.getByText(/^expires in [1-6] s$/).waitFor()
      await page.getByText("the time is over").waitFor()
    })

    it("shows the start of long arguments, and all of them on demand", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.GetApproval = () => makeApproval({ arguments: `${"x".repeat(250_000)} the end` })
      })
      const { page } = opened
      const button = page.getByRole("button", { name: "show all 250,008 characters" })
      await button.waitFor()
      assert.isBelow(((await page.locator("main").textContent()) ?? "").length, 10_000)
      await button.click()
      await page.getByText("the end").waitFor()
    })

    it("states that the Computer has shortened the arguments", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.GetApproval = () => makeApproval({ arguments: '{"text":"xxx…' })
      })
      await opened.page.getByText(/SHA-256 of all of them is 5f2b51ca/).waitFor()
    })

    it("compares the arguments with those of the last approved call", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.GetApproval = () =>
          makeApproval({
            arguments: '{\n  "path": "b.txt",\n  "mode": "new"\n}',
            previousArguments: '{\n  "path": "a.txt",\n  "mode": "new"\n}'
          })
      })
      const { page } = opened
      await page.getByRole("heading", { name: "Compared with the last approved call" }).waitFor()
      const parts = page.locator(".diff-part")
      assert.deepStrictEqual(await parts.allTextContents(), [
        "unchanged{",
        '− removed  "path": "a.txt",',
        '+ added  "path": "b.txt",',
        'unchanged  "mode": "new"\n}'
      ])
    })

    it("states that the arguments are the same", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.GetApproval = () => makeApproval({ previousArguments: makeApproval().arguments })
      })
      await opened.page.getByText("The last approved call of this tool had the same arguments.").waitFor()
      assert.strictEqual(await opened.page.locator(".diff").count(), 0)
    })

    it("warns of a tool whose definition has changed, and shows both definitions", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        const differences = [
          { part: "description", before: "Writes a file.", after: "Writes it, and sends it." }
        ] as const
        server.replies.GetApproval = () =>
          makeApproval({ change: { approvedAt: startTime, approvedBy: "operator:ann", differences } })
      })
      const { page } = opened
      const warning = page.getByRole("region", { name: "Change of the tool" })
      await warning.getByText("operator:ann approved another definition on").waitFor()
      await warning.getByRole("heading", { name: "Description" }).waitFor()
      assert.deepStrictEqual(await warning.locator(".diff-part").allTextContents(), [
        "− removedWrites a file.",
        "+ addedWrites it, and sends it."
      ])
      // The warning stands before the arguments.
      assert.deepStrictEqual(await page.getByRole("article").getByRole("heading", { level: 3 }).allTextContents(), [
        "The definition of this tool has changed",
        "Arguments"
      ])
    })

    it("shows why the details are missing, and fetches them again", options, async () => {
      let fetched = 0
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.GetApproval = () =>
          ++fetched > 1 ? makeApproval() : new RejectedCommand(404, "no such Computer")
      })
      const { page } = opened
      await page.getByRole("alert").getByText("no such Computer").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: /^Allow/ }).count(), 0)
      await page.getByRole("button", { name: "Try again" }).click()
      await page.getByRole("button", { name: "Allow once: write_file" }).waitFor()
    })

    it("shows no more cards at once than it fetches details for", options, async () => {
      const calls = Array.from({ length: 23 }, (_, index) => makeWaitingCall({ id: `call-${index}`, startedAt: index }))
      await using opened = await browser.open(inbox, withCalls(...calls))
      const { page, server } = opened
      await page.getByText("3 further approvals follow after these.").waitFor()
      await waitUntil(() => server.commands.length === 20)
      assert.strictEqual(await page.getByRole("article").count(), 20)
    })
  })

  describe("answer to an approval", () => {
    it("allows one call", options, async () => {
      await using opened = await browser.open(inbox, waiting)
      const { page } = opened
      await page.getByRole("button", { name: "Allow once: write_file" }).click()
      await cardOf(page, "write_file").getByText("allowed once by operator:ops").waitFor()
      assert.deepStrictEqual(answers(opened), [{ ...target, action: "allow", scope: "once" }])
      assert.strictEqual(await page.getByRole("button", { name: /: write_file$/ }).count(), 0)
    })

    it.each([
      ["for 1 hour", 3_600_000],
      ["for 8 hours", 8 * 3_600_000]
    ])("allows the tool %s", options, async (label, millis) => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = ({ scope = "once", until = 0 }) =>
          makeApproval({ state: "allowed", decidedBy: "operator:ops", scope, until })
      })
      const { page } = opened
      await page.getByLabel("How long the tool is allowed").selectOption(label)
      await page.getByRole("button", { name: "Allow this tool in this office: write_file" }).click()
      await page.getByText(/^this tool is allowed in this office by operator:ops, until .*\d$/).waitFor()
      const [answer] = answers(opened)
      const until = (answer?._tag === "DecideApproval" ? answer.until : undefined) ?? 0
      assert.deepStrictEqual(answers(opened), [{ ...target, action: "allow", scope: "tool", until }])
      // The time of the Server counts, not that of the browser.
      assert.isAtLeast(until - startTime, millis)
      assert.isBelow(until - startTime, millis + browserTimeout)
    })

    it("allows the tool until it is revoked", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = () =>
          makeApproval({ state: "allowed", decidedBy: "operator:ops", scope: "tool" })
      })
      const { page } = opened
      await page.getByLabel("How long the tool is allowed").selectOption("until it is revoked")
      await page.getByRole("button", { name: "Allow this tool in this office: write_file" }).click()
      await page.getByText("this tool is allowed in this office by operator:ops, until it is revoked").waitFor()
      assert.deepStrictEqual(answers(opened), [{ ...target, action: "allow", scope: "tool" }])
    })

    it("denies a call with a reason of bounded length", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = ({ reason = "" }) =>
          makeApproval({ state: "denied", decidedBy: "operator:ops", denialReason: reason })
      })
      const { page } = opened
      const field = page.getByLabel("Reason of a denial")
      assert.strictEqual(await field.getAttribute("maxlength"), String(maxReasonLength))
      await field.fill(" the file is locked ")
      await page.getByRole("button", { name: "Deny: write_file" }).click()
      await page.getByText("denied by operator:ops: the file is locked").waitFor()
      assert.deepStrictEqual(answers(opened), [{ ...target, action: "deny", reason: "the file is locked" }])
    })

    it("denies a call without a reason", options, async () => {
      await using opened = await browser.open(inbox, waiting)
      await opened.page.getByRole("button", { name: "Deny: write_file" }).click()
      await waitUntil(() => answers(opened).length === 1)
      assert.deepStrictEqual(answers(opened), [{ ...target, action: "deny" }])
    })

    it("shows who was faster, and takes no further answer", options, async () => {
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = () => new RejectedCommand(409, "The approval was denied by operator:bob")
      })
      const { page } = opened
      await page.getByRole("button", { name: "Allow once: write_file" }).click()
      await cardOf(page, "write_file").getByRole("alert").getByText("The approval was denied by operator:bob").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: /: write_file$/ }).count(), 0)
    })

    it("allows a second attempt after another error", options, async () => {
      let sent = 0
      await using opened = await browser.open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = () =>
          ++sent > 1
            ? makeApproval({ state: "allowed", decidedBy: "operator:ops", scope: "once" })
            : new RejectedCommand(500, "the Computer is busy")
      })
      const { page } = opened
      const button = page.getByRole("button", { name: "Allow once: write_file" })
      await button.click()
      await page.getByRole("alert").getByText("the Computer is busy").waitFor()
      await button.click()
      await page.getByText("allowed once by operator:ops").waitFor()
    })

    it("ignores a click on a button that has just moved, and accepts it later", options, async () => {
      await using opened = await browser.open(inbox, waiting)
      const { page } = opened
      const button = page.getByRole("button", { name: "Allow once: write_file" })
      await page.locator('button[aria-disabled="false"]').first().waitFor()
      await page.evaluate(`(() => {
        const button = document.querySelector(".answers button")
        button.closest("article").parentElement.style.paddingTop = "30px"
        const press = () => button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }))
        return new Promise((pressed) => {
          // The page has observed the change before: its observer is older.
          const observer = new ResizeObserver(() => setTimeout(() => {
            press()
            // A command would have been sent by then.
            setTimeout(pressed, 100)
          }))
          observer.observe(button.closest("article").parentElement)
        })
      })()`)
      assert.deepStrictEqual(answers(opened), [])
      await button.click()
      await waitUntil(() => answers(opened).length === 1)
    })

    it("is not offered where the owner of the Computer does not let operators decide", options, async () => {
      const features = { inspection: true, operatorCalls: true, approvals: false }
      await using opened = await browser.open(inbox, (server) => {
        server.snapshot = makeSnapshot({ members: [agent, makeMember({ features })], calls: [makeWaitingCall()] })
      })
      const { page, server } = opened
      const card = cardOf(page, "write_file")
      await card.getByText("The owner of this Computer does not let operators decide.").waitFor()
      await card.getByText("a2c computer --approvers page").waitFor()
      await card.getByText("brain", { exact: true }).waitFor()
      assert.strictEqual(await card.getByRole("button").count(), 0)
      assert.deepStrictEqual(server.commands, [])
    })
  })

  describe("end of an approval", () => {
    const ended = { endedAt: startTime + 1_000 }

    it.each([
      ["another approver", { status: decision(true), decision: decision(true) }, "allowed by operator:bob"],
      ["a denial", { ...ended, outcome: "4005", decision: decision(false) }, "denied by operator:bob"],
      ["its timeout", { ...ended, outcome: "4005" }, "the call ended without a decision: error 4005"],
      ["a cancelled call", { ...ended, outcome: "cancelled" }, "the call was cancelled before a decision"],
      ["another status", {}, "the call does not wait for this approval any more"]
    ])("by %s is stated in its card", options, async (_name, changes, text) => {
      await using opened = await browser.open(inbox, waiting)
      const { page } = opened
      await page.getByRole("button", { name: "Allow once: write_file" }).waitFor()
      send(opened, makeCall({ tool: "write_file", ...changes }))
      await cardOf(page, "write_file").getByText(text, { exact: true }).waitFor()
      await page.getByRole("status").getByText("no call waits for an approval").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: /: write_file$/ }).count(), 0)
    })

    it("keeps the other cards in their order", options, async () => {
      const calls = ["a", "b", "c"].map((tool, index) => makeWaitingCall({ id: tool, tool, startedAt: index }))
      await using opened = await browser.open(inbox, withCalls(...calls))
      const { page } = opened
      await page.getByRole("button", { name: "Allow once: c" }).waitFor()
      send(
        opened,
        makeCall({ id: "a", tool: "a", ...ended, outcome: "cancelled" }),
        makeWaitingCall({ id: "d", tool: "d" })
      )
      await cardOf(page, "d").waitFor()
      const titles = await page.getByRole("article").getByRole("heading", { level: 2 }).allTextContents()
      assert.deepStrictEqual(titles, ["a", "b", "c", "d"])
    })

    it("is listed with the latest decisions, which link to the call", options, async () => {
      await using opened = await browser.open(
        inbox,
        withCalls(
          makeCall({ id: "1", startedAt: 1, tool: "first", ...ended, outcome: "ok", decision: decision(true) }),
          makeCall({ id: "2", startedAt: 2, tool: "second", ...ended, outcome: "4005", decision: decision(false) })
        )
      )
      const { page } = opened
      const rows = page.getByRole("group", { name: "Latest decisions" }).getByRole("row")
      await rows.nth(1).getByText("second").waitFor()
      assert.match((await rows.nth(1).textContent()) ?? "", /^secondbraindeskdeniedoperator:bob/)
      assert.match((await rows.nth(2).textContent()) ?? "", /^firstbraindeskallowedoperator:bob/)
      await page.getByRole("link", { name: "second" }).click()
      const details = page.getByRole("region", { name: "Call", exact: true })
      await details.getByText("denied by operator:bob", { exact: true }).waitFor()
    })
  })

  describe("number of open approvals", () => {
    const calls = [
      makeWaitingCall({ id: "1" }),
      makeWaitingCall({ id: "2" }),
      makeWaitingCall({ id: "3", office: "lab" })
    ]
    const twoOffices = (server: ScriptedServer): void => {
      server.snapshot = makeSnapshot({ members: [makeMember(), makeMember({ sid: "lab", office: "lab" })], calls })
    }
    const done = (id: string, office = "team") =>
      makeCall({ id, office, endedAt: startTime, outcome: "ok", tool: "write_file" })

    it("stands in the title for all offices, and in the navigation for one", options, async () => {
      await using opened = await browser.open(inbox, twoOffices)
      const { page } = opened
      await page.getByRole("link", { name: "Inbox (2)" }).waitFor()
      await waitUntil(async () => (await page.title()) === "(3) team · Inbox · A2C-SMCP")
      send(opened, done("1"), done("3", "lab"))
      await page.getByRole("link", { name: "Inbox (1)" }).waitFor()
      await waitUntil(async () => (await page.title()) === "(1) team · Inbox · A2C-SMCP")
      send(opened, done("2"))
      await page.getByRole("link", { name: "Inbox", exact: true }).waitFor()
      await waitUntil(async () => (await page.title()) === "team · Inbox · A2C-SMCP")
    })

    it("stands in the row of its office, and leads to the inbox", options, async () => {
      await using opened = await browser.open("#/offices", twoOffices)
      const { page } = opened
      await waitUntil(async () => (await page.title()) === "(3) Offices · A2C-SMCP")
      const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "lab" }) })
      await row.getByRole("link", { name: "1 open approval", exact: true }).waitFor()
      await page.getByRole("link", { name: "2 open approvals" }).click()
      await page.getByRole("heading", { name: /team.*Inbox/ }).waitFor()
    })
  })

  describe("sound", () => {
    const tones = (page: Page): Promise<number> => page.evaluate("tones")

    it("is off until it is turned on, and stays on after a reload", options, async () => {
      await using opened = await browser.open(inbox, waiting)
      const { page } = opened
      const toggle = page.getByLabel("Sound for new approvals")
      await page.evaluate(countTones)
      send(opened, makeWaitingCall({ id: "2", tool: "second" }))
      await cardOf(page, "second").waitFor()
      assert.strictEqual(await tones(page), 0)
      await toggle.check()
      await waitUntil(async () => (await tones(page)) === 1)
      send(opened, makeWaitingCall({ id: "3", tool: "third" }))
      await cardOf(page, "third").waitFor()
      await waitUntil(async () => (await tones(page)) === 2)

      await page.reload()
      await cardOf(page, "write_file").waitFor()
      assert.isTrue(await toggle.isChecked())
      await page.evaluate(countTones)
      await page.evaluate(`location.hash = "#/offices"`)
      // Approvals of other offices are new as well.
      send(opened, makeWaitingCall({ id: "4", office: "lab" }))
      await waitUntil(async () => (await tones(page)) === 1)
      await page.evaluate(`location.hash = "${inbox}"`)
      await toggle.uncheck()
      send(opened, makeWaitingCall({ id: "5", tool: "fifth" }))
      await cardOf(page, "fifth").waitFor()
      assert.strictEqual(await tones(page), 1)
    })

    it("respects the policy of the Server", options, async () => {
      await using opened = await browser.open(inbox, waiting)
      const { page } = opened
      await page.getByLabel("Sound for new approvals").check()
      send(opened, makeWaitingCall({ id: "2", tool: "second" }))
      await cardOf(page, "second").waitFor()
      assert.deepStrictEqual(await opened.faults(), [])
      await page.getByLabel("Sound for new approvals").uncheck()
    })
  })
})
