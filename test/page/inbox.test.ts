import { assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { type ApprovalView, maxReasonLength } from "../../src/domain/approvals/ApprovalView.ts"
import type { PageCommand } from "../../src/domain/page/PageCommand.ts"
import type { PageCall } from "../../src/domain/page/PageEvent.ts"
import { browserTimeout } from "../programs/launchChromium.ts"
import { waitUntil } from "./scripted/expectations.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import { type Preparation, withCalls, withInspection, withSnapshot } from "./scripted/preparations.ts"
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

const waiting = withCalls(makeWaitingCall())

/** A call waits, whose approval has these fields. */
const waitingFor =
  (changes: Partial<ApprovalView>): Preparation =>
  (server) => {
    waiting(server)
    server.replies.GetApproval = () => makeApproval(changes)
  }

const decision = (isAllowed: boolean) => ({ _tag: "Decided", computer: "desk", isAllowed, by: "operator:bob" }) as const

const send = (server: ScriptedServer, ...calls: ReadonlyArray<PageCall>): void =>
  server.send(makeBatch(calls.map((call) => ({ _tag: "Call", call }))))

const cardOf = (page: Page, tool: string) => page.getByRole("article", { name: tool, exact: true })

const answers = (server: ScriptedServer): ReadonlyArray<PageCommand> =>
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

describePages("office page", () => {
  const { open } = usePages()

  describe("inbox", () => {
    it("explains itself while no call waits", async () => {
      const { page, server } = await open(inbox)
      await page.getByText("no call waits for an approval").waitFor()
      await page.getByText("No approver allowed or denied a call since this page was opened.").waitFor()
      assert.deepStrictEqual(server.commands, [])
    })

    it("shows a call as soon as it waits, with what the Computer reports", async () => {
      const { page, server } = await open(inbox, ({ replies }) => {
        replies.GetApproval = () => makeApproval({ reason: "Files of the project are shared." })
      })
      await page.getByRole("heading", { name: "Latest decisions" }).waitFor()
      send(server, makeWaitingCall())
      const card = cardOf(page, "write_file")
      for (const text of ["brain", "desk", "files", "rule 3", "Files of the project are shared."]) {
        await card.getByText(text, { exact: true }).waitFor()
      }
      await card.getByText('"path": "notes.txt"').waitFor()
      await page.getByRole("status").getByText("1 call waits for an approval").waitFor()
      assert.deepStrictEqual(server.commands, [{ ...target, _tag: "GetApproval" }])
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
        (input = question): Preparation =>
        (server) => {
          withCalls(makeWaitingCall({}, "approval-1", true))(server)
          server.replies.GetApproval = () => input
        }

      it("is answered by its form", async () => {
        const { page, server } = await open(inbox, (server) => {
          requests()(server)
          server.replies.DecideApproval = () => ({ ...question, state: "allowed", decidedBy: "operator:ops" })
        })
        const card = page.getByRole("article", { name: /write_file/ })
        await card.getByText("Who books?").waitFor()
        await card.getByText("As in the passport").waitFor()
        assert.strictEqual(await card.getByLabel("pin").getAttribute("type"), "password")
        assert.strictEqual(await card.getByLabel("age").inputValue(), "42")
        // What is typed outlives other updates.
        await card.getByLabel(/^Your name/).fill("Ada")
        send(server, makeCall({ id: "other", tool: "other" }))
        await card.getByRole("radio", { name: "Wonder Woman" }).check()
        await card.getByLabel("pin").fill("s3cret")
        await card.getByRole("button", { name: "Send: write_file" }).press("Enter")
        await waitUntil(() => answers(server).length > 0)
        assert.deepStrictEqual<unknown>(answers(server), [
          { ...target, action: "allow", content: { name: "Ada", pin: "s3cret", hero: "h2", age: 42 } }
        ])
        await page.getByText("answered by operator:ops").waitFor()
      })

      it("sends the defaults that its form shows", async () => {
        const properties = {
          name: { type: "string", default: "Ada" },
          age: { type: "integer", default: 42 },
          isMember: { type: "boolean", default: true },
          hero: { type: "string", enum: ["h1", "h2"], default: "h2" },
          tags: { type: "array", items: { type: "string", enum: ["red", "blue"] }, default: ["blue"] },
          email: { type: "string", format: "email" }
        }
        const input = { mode: "form", message: "Who books?", schema: { type: "object", properties } } as const
        const { page, server } = await open(inbox, requests(makeApproval({ input })))
        await page.getByRole("button", { name: "Send: write_file" }).press("Enter")
        await waitUntil(() => answers(server).length > 0)
        assert.deepStrictEqual<unknown>(answers(server), [
          {
            ...target,
            action: "allow",
            content: { name: "Ada", age: 42, isMember: true, hero: "h2", tags: ["blue"] }
          }
        ])
      })

      it("shows at its fields what is wrong, and keeps what was entered", async () => {
        const { page } = await open(inbox, (server) => {
          requests()(server)
          server.replies.DecideApproval = () =>
            new RejectedCommand(400, 'The answer does not fit its form: /email: must match format "email"')
        })
        const button = page.getByRole("button", { name: "Send: write_file" })
        const email = page.getByLabel("email")
        await button.waitFor()
        await email.fill("a@b")
        await page.getByLabel(/^Your name/).fill("Ada")
        await button.press("Enter")
        await page.getByText('must match format "email"').waitFor()
        assert.strictEqual(await email.getAttribute("aria-invalid"), "true")
        assert.strictEqual(await email.inputValue(), "a@b")
        assert.strictEqual(await page.getByLabel(/^Your name/).inputValue(), "Ada")
      })

      it("is not sent with what does not fit its form", async () => {
        const { page, server } = await open(inbox, requests())
        await page.getByLabel("age", { exact: true }).fill("many")
        await page.getByLabel("email").fill("ann")
        await page.getByRole("button", { name: "Send: write_file" }).press("Enter")
        for (const text of [
          "Required",
          "Enter a whole number such as 3",
          "Enter an email address such as ann@example.org"
        ])
          await page.getByText(text, { exact: true }).waitFor()
        assert.isEmpty(answers(server))
      })

      it("is declined and closed", async () => {
        for (const [name, action] of [
          ["Decline: write_file", "deny"],
          ["Close: write_file", "cancel"]
        ] as const) {
          const { page, server } = await open(inbox, requests())
          await page.getByRole("button", { name }).press("Enter")
          await waitUntil(() => answers(server).length > 0)
          assert.deepStrictEqual<unknown>(answers(server), [{ ...target, action }])
        }
      })

      it("shows the host of a page, whose link tells it nothing", async () => {
        const url = "https://good.example@b\u00fccher.example/sign-in?state=1"
        const { page, server } = await open(
          inbox,
          requests(makeApproval({ input: { mode: "url", message: "Sign in", url } }))
        )
        await page.getByText("xn--bcher-kva.example", { exact: true }).waitFor()
        const link = page.getByRole("link", { name: /sign-in/ })
        assert.strictEqual(await link.getAttribute("rel"), "noopener noreferrer")
        assert.strictEqual(
          await link.getAttribute("href"),
          "https://good.example@xn--bcher-kva.example/sign-in?state=1"
        )
        await page.getByRole("button", { name: "I opened the page: write_file" }).press("Enter")
        await waitUntil(() => answers(server).length > 0)
        assert.deepStrictEqual<unknown>(answers(server), [{ ...target, action: "allow" }])
      })
    })

    it("counts down the time that the Computer states", async () => {
      const { page } = await open(inbox, waitingFor({ expiresIn: 6_000 }))
      await page.getByText(/^expires in [1-6] s$/).waitFor()
      await page.getByText("the time is over").waitFor()
    })

    it("shows the start of long arguments, and all of them on demand", async () => {
      const { page } = await open(inbox, waitingFor({ arguments: `${"x".repeat(250_000)} the end` }))
      const button = page.getByRole("button", { name: "show all 250,008 characters" })
      await button.waitFor()
      assert.isBelow(((await page.locator("main").textContent()) ?? "").length, 10_000)
      await button.click()
      await page.getByText("the end").waitFor()
    })

    it("states that the Computer has shortened the arguments", async () => {
      const { page } = await open(inbox, waitingFor({ arguments: '{"text":"xxx…' }))
      await page.getByText(/SHA-256 of all of them is 5f2b51ca/).waitFor()
    })

    it("compares the arguments with those of the last approved call", async () => {
      const { page } = await open(
        inbox,
        waitingFor({
          arguments: '{\n  "path": "b.txt",\n  "mode": "new"\n}',
          previousArguments: '{\n  "path": "a.txt",\n  "mode": "new"\n}'
        })
      )
      await page.getByRole("heading", { name: "Compared with the last approved call" }).waitFor()
      const parts = page.locator(".diff-part")
      assert.deepStrictEqual(await parts.allTextContents(), [
        "unchanged{",
        '− removed  "path": "a.txt",',
        '+ added  "path": "b.txt",',
        'unchanged  "mode": "new"\n}'
      ])
    })

    it("states that the arguments are the same", async () => {
      const { page } = await open(inbox, waitingFor({ previousArguments: makeApproval().arguments }))
      await page.getByText("The last approved call of this tool had the same arguments.").waitFor()
      assert.strictEqual(await page.locator(".diff").count(), 0)
    })

    it("warns of a tool that has changed, and says how", async () => {
      const differences = [
        { part: "description", before: "Writes a file.", after: "Writes it, and sends it." },
        {
          part: "schema",
          before: '{"properties": {"mode": {"enum": ["new"]}}}',
          after: '{"properties": {"mode": {"enum": ["new", "over"]}, "to": {"type": "string"}}, "required": ["to"]}'
        },
        { part: "annotations", before: '{"readOnlyHint": true}', after: '{"readOnlyHint": false}' },
        { part: "server", before: "npx notes@1", after: "npx notes@2" }
      ] as const
      const change = { approvedAt: startTime, approvedBy: "operator:ann", differences }
      const { page } = await open(inbox, waitingFor({ change }))
      const warning = page.getByRole("region", { name: "Change of the tool" })
      await warning.getByText("operator:ann approved it on").waitFor()
      assert.deepStrictEqual(await warning.getByRole("heading", { level: 4 }).allTextContents(), [
        "description",
        "parameters",
        "hints",
        "how its MCP server starts"
      ])
      assert.deepStrictEqual(await warning.getByRole("listitem").allTextContents(), [
        '"mode" may also be "over"',
        '"to" is new and required: string',
        "The tool now says that it changes data"
      ])
      const shown = await warning.locator(".diff-part").allTextContents()
      for (const line of [
        "− removedWrites a file.",
        "+ addedWrites it, and sends it.",
        "− removednpx notes@1",
        "+ addednpx notes@2"
      ])
        assert.include(shown, line)
      // The warning stands before the arguments.
      assert.deepStrictEqual(await page.getByRole("article").getByRole("heading", { level: 3 }).allTextContents(), [
        "This tool has changed since it was approved",
        "Arguments"
      ])
    })

    it("shows why the details are missing, and fetches them again", async () => {
      let fetched = 0
      const { page } = await open(inbox, (server) => {
        waiting(server)
        server.replies.GetApproval = () =>
          ++fetched > 1 ? makeApproval() : new RejectedCommand(404, "no such Computer")
      })
      await page.getByRole("alert").getByText("no such Computer").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: /^Allow/ }).count(), 0)
      await page.getByRole("button", { name: "Try again" }).click()
      await page.getByRole("button", { name: "Allow once: write_file" }).waitFor()
    })

    it("shows no more cards at once than it fetches details for", async () => {
      const calls = Array.from({ length: 23 }, (_, index) => makeWaitingCall({ id: `call-${index}`, startedAt: index }))
      const { page, server } = await open(inbox, withCalls(...calls))
      await page.getByText("3 further approvals follow after these.").waitFor()
      await waitUntil(() => server.commands.length === 20)
      assert.strictEqual(await page.getByRole("article").count(), 20)
    })
  })

  describe("answer to an approval", () => {
    it("allows one call", async () => {
      const { page, server } = await open(inbox, waiting)
      await page.getByRole("button", { name: "Allow once: write_file" }).click()
      await cardOf(page, "write_file").getByText("allowed once by operator:ops").waitFor()
      assert.deepStrictEqual(answers(server), [{ ...target, action: "allow", scope: "once" }])
      assert.strictEqual(await page.getByRole("button", { name: /: write_file$/ }).count(), 0)
    })

    it.each([
      ["for 1 hour", 3_600_000],
      ["for 8 hours", 8 * 3_600_000]
    ])("allows the tool %s", async (label, millis) => {
      const { page, server } = await open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = ({ scope = "once", until = 0 }) =>
          makeApproval({ state: "allowed", decidedBy: "operator:ops", scope, until })
      })
      await page.getByLabel("How long the tool is allowed").selectOption(label)
      await page.getByRole("button", { name: "Allow this tool in this office: write_file" }).click()
      await page.getByText(/^this tool is allowed in this office by operator:ops, until .*\d$/).waitFor()
      const [answer] = answers(server)
      const until = (answer?._tag === "DecideApproval" ? answer.until : undefined) ?? 0
      assert.deepStrictEqual(answers(server), [{ ...target, action: "allow", scope: "tool", until }])
      // The time of the Server counts, not that of the browser.
      assert.isAtLeast(until - startTime, millis)
      assert.isBelow(until - startTime, millis + browserTimeout)
    })

    it("allows the tool until it is revoked", async () => {
      const { page, server } = await open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = () =>
          makeApproval({ state: "allowed", decidedBy: "operator:ops", scope: "tool" })
      })
      await page.getByLabel("How long the tool is allowed").selectOption("until it is revoked")
      await page.getByRole("button", { name: "Allow this tool in this office: write_file" }).click()
      await page.getByText("this tool is allowed in this office by operator:ops, until it is revoked").waitFor()
      assert.deepStrictEqual(answers(server), [{ ...target, action: "allow", scope: "tool" }])
    })

    it("denies a call with a reason of bounded length", async () => {
      const { page, server } = await open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = ({ reason = "" }) =>
          makeApproval({ state: "denied", decidedBy: "operator:ops", denialReason: reason })
      })
      const field = page.getByLabel("Reason of a denial")
      assert.strictEqual(await field.getAttribute("maxlength"), String(maxReasonLength))
      await field.fill(" the file is locked ")
      await page.getByRole("button", { name: "Deny: write_file" }).click()
      await page.getByText("denied by operator:ops: the file is locked").waitFor()
      assert.deepStrictEqual(answers(server), [{ ...target, action: "deny", reason: "the file is locked" }])
    })

    it("denies a call without a reason", async () => {
      const { page, server } = await open(inbox, waiting)
      await page.getByRole("button", { name: "Deny: write_file" }).click()
      await waitUntil(() => answers(server).length === 1)
      assert.deepStrictEqual(answers(server), [{ ...target, action: "deny" }])
    })

    it("shows who was faster, and takes no further answer", async () => {
      const { page } = await open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = () => new RejectedCommand(409, "The approval was denied by operator:bob")
      })
      await page.getByRole("button", { name: "Allow once: write_file" }).click()
      await cardOf(page, "write_file").getByRole("alert").getByText("The approval was denied by operator:bob").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: /: write_file$/ }).count(), 0)
    })

    it("allows a second attempt after another error", async () => {
      let sent = 0
      const { page } = await open(inbox, (server) => {
        waiting(server)
        server.replies.DecideApproval = () =>
          ++sent > 1
            ? makeApproval({ state: "allowed", decidedBy: "operator:ops", scope: "once" })
            : new RejectedCommand(500, "the Computer is busy")
      })
      const button = page.getByRole("button", { name: "Allow once: write_file" })
      await button.click()
      await page.getByRole("alert").getByText("the Computer is busy").waitFor()
      await button.click()
      await page.getByText("allowed once by operator:ops").waitFor()
    })

    it("ignores a click on a button that has just moved, and accepts it later", async () => {
      const { page, server } = await open(inbox, waiting)
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
      assert.deepStrictEqual(answers(server), [])
      await button.click()
      await waitUntil(() => answers(server).length === 1)
    })

    it("is not offered where the owner of the Computer does not let operators decide", async () => {
      const features = { inspection: true, operatorCalls: true, approvals: false }
      const { page, server } = await open(inbox, (server) => {
        server.snapshot = makeSnapshot({ members: [agent, makeMember({ features })], calls: [makeWaitingCall()] })
      })
      const card = cardOf(page, "write_file")
      await card.getByText("The owner of this Computer does not let operators decide.").waitFor()
      await card.getByText("a2c computer --approvers terminal,page").waitFor()
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
      [
        "its timeout",
        { ...ended, outcome: "4005" },
        "the call ended without a decision: the call did not run: it was not approved"
      ],
      ["a cancelled call", { ...ended, outcome: "cancelled" }, "the call was cancelled before a decision"],
      ["another status", {}, "the call does not wait for this approval any more"]
    ])("by %s is stated in its card", async (_name, changes, text) => {
      const { page, server } = await open(inbox, waiting)
      await page.getByRole("button", { name: "Allow once: write_file" }).waitFor()
      send(server, makeCall({ tool: "write_file", ...changes }))
      await cardOf(page, "write_file").getByText(text, { exact: true }).waitFor()
      await page.getByRole("status").getByText("no call waits for an approval").waitFor()
      assert.strictEqual(await page.getByRole("button", { name: /: write_file$/ }).count(), 0)
    })

    it("keeps the other cards in their order", async () => {
      const calls = ["a", "b", "c"].map((tool, index) => makeWaitingCall({ id: tool, tool, startedAt: index }))
      const { page, server } = await open(inbox, withCalls(...calls))
      await page.getByRole("button", { name: "Allow once: c" }).waitFor()
      send(
        server,
        makeCall({ id: "a", tool: "a", ...ended, outcome: "cancelled" }),
        makeWaitingCall({ id: "d", tool: "d" })
      )
      await cardOf(page, "d").waitFor()
      const titles = await page.getByRole("article").getByRole("heading", { level: 2 }).allTextContents()
      assert.deepStrictEqual(titles, ["a", "b", "c", "d"])
    })

    it("is listed with the latest decisions, which link to the call", async () => {
      const { page } = await open(
        inbox,
        withCalls(
          makeCall({ id: "1", startedAt: 1, tool: "first", ...ended, outcome: "ok", decision: decision(true) }),
          makeCall({ id: "2", startedAt: 2, tool: "second", ...ended, outcome: "4005", decision: decision(false) })
        )
      )
      const rows = page.getByRole("group", { name: "Latest decisions" }).getByRole("row")
      await rows.nth(0).getByText("second").waitFor()
      assert.match((await rows.nth(0).textContent()) ?? "", /^secondbraindeskdeniedoperator:bob/)
      assert.match((await rows.nth(1).textContent()) ?? "", /^firstbraindeskallowedoperator:bob/)
      await page.getByRole("link", { name: "second", exact: true }).click()
      const details = page.getByRole("region", { name: "Call", exact: true })
      await details.getByText("denied by operator:bob", { exact: true }).waitFor()
    })
  })

  describe("drawer of what needs a person", () => {
    const button = (page: Page) => page.getByRole("button", { name: /^Needs you/ })
    const drawer = (page: Page) => page.getByRole("complementary", { name: "Needs you" })

    it("opens from every view, and stays open when the view changes", async () => {
      const { page } = await open("#/offices", waiting)
      await button(page).click()
      await drawer(page).getByRole("button", { name: "Allow once: write_file" }).waitFor()
      for (const view of ["tools", "activity", "settings"]) {
        await page.evaluate(`location.hash = "#/office/0.2/team/${view}"`)
        await drawer(page).getByRole("button", { name: "Allow once: write_file" }).waitFor()
      }
      await button(page).click()
      await drawer(page).waitFor({ state: "detached" })
    })

    it("lists the approvals of the office that is shown", async () => {
      const lab = makeWaitingCall({ id: "2", office: "lab", tool: "mix" }, "approval-2")
      const { page } = await open(inbox, withCalls(makeWaitingCall(), lab))
      await cardOf(page, "write_file").waitFor()
      await page.evaluate(`location.hash = "#/office/0.2/lab"`)
      await cardOf(page, "mix").waitFor()
      assert.strictEqual(await cardOf(page, "write_file").count(), 0)
    })

    it("takes the focus, and gives it back at Escape", async () => {
      const { page } = await open("#/offices", waiting)
      await button(page).press("Enter")
      await waitUntil(() => page.evaluate(`document.activeElement.textContent === "Needs you"`))
      await page.keyboard.press("Escape")
      await drawer(page).waitFor({ state: "detached" })
      await waitUntil(() => page.evaluate(`document.activeElement.classList.contains("needs")`))
    })

    it("keeps its buttons in sight", async () => {
      const { page } = await open(
        inbox,
        waitingFor({ arguments: JSON.stringify({ text: "long\n".repeat(500) }, null, 1) })
      )
      const allow = drawer(page).getByRole("button", { name: "Allow once: write_file" })
      await allow.waitFor()
      const { height = 0, y = Number.NaN } = (await allow.boundingBox()) ?? {}
      assert.isBelow(y + height, page.viewportSize()?.height ?? 0)
    })

    it("lists the MCP servers of the office that failed", async () => {
      const { page } = await open("#/office/0.2/team", withInspection())
      await page.getByRole("button", { name: "Needs you (1)" }).click()
      const card = drawer(page).getByRole("article").filter({ hasText: "files failing" })
      await card.getByText("exit code 1").waitFor()
      await card.getByRole("link", { name: "Show the Computer desk" }).click()
      await page.getByRole("heading", { name: "Computer desk" }).waitFor()
    })
  })

  describe("number of open approvals", () => {
    const calls = [
      makeWaitingCall({ id: "1" }),
      makeWaitingCall({ id: "2" }),
      makeWaitingCall({ id: "3", office: "lab" })
    ]
    const members = [makeMember(), makeMember({ sid: "lab", office: "lab" })]
    const twoOffices = withSnapshot({ members, calls })
    const done = (id: string, office = "team") =>
      makeCall({ id, office, endedAt: startTime, outcome: "ok", tool: "write_file" })

    it("stands in the title for all offices, and at the button for one", async () => {
      const { page, server } = await open(inbox, twoOffices)
      await page.getByRole("button", { name: "Needs you (2)" }).waitFor()
      await waitUntil(async () => (await page.title()) === "(3) team · Overview · A2C-SMCP")
      send(server, done("1"), done("3", "lab"))
      await page.getByRole("button", { name: "Needs you (1)" }).waitFor()
      await waitUntil(async () => (await page.title()) === "(1) team · Overview · A2C-SMCP")
      send(server, done("2"))
      await page.getByRole("button", { name: "Needs you", exact: true }).waitFor()
      await waitUntil(async () => (await page.title()) === "team · Overview · A2C-SMCP")
    })

    it("stands in the row of its office, and opens the drawer", async () => {
      const { page } = await open("#/offices", twoOffices)
      await waitUntil(async () => (await page.title()) === "(3) Offices · A2C-SMCP")
      const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "lab" }) })
      await row.getByRole("link", { name: "1 open approval", exact: true }).waitFor()
      await page.getByRole("link", { name: "2 open approvals" }).click()
      await page.getByRole("heading", { name: /team.*Overview/ }).waitFor()
      await page.getByRole("complementary", { name: "Needs you" }).waitFor()
    })
  })

  describe("sound", () => {
    const tones = (page: Page): Promise<number> => page.evaluate("tones")

    it("is off until it is turned on, and stays on after a reload", async () => {
      const { page, server } = await open(inbox, waiting)
      const toggle = page.getByLabel("Sound for new approvals")
      await page.evaluate(countTones)
      send(server, makeWaitingCall({ id: "2", tool: "second" }))
      await cardOf(page, "second").waitFor()
      assert.strictEqual(await tones(page), 0)
      await toggle.check()
      await waitUntil(async () => (await tones(page)) === 1)
      send(server, makeWaitingCall({ id: "3", tool: "third" }))
      await cardOf(page, "third").waitFor()
      await waitUntil(async () => (await tones(page)) === 2)

      await page.reload()
      await cardOf(page, "write_file").waitFor()
      assert.isTrue(await toggle.isChecked())
      await page.evaluate(countTones)
      await page.evaluate(`location.hash = "#/offices"`)
      // Approvals of other offices are new as well.
      send(server, makeWaitingCall({ id: "4", office: "lab" }))
      await waitUntil(async () => (await tones(page)) === 1)
      await page.evaluate(`location.hash = "${inbox}"`)
      await toggle.uncheck()
      send(server, makeWaitingCall({ id: "5", tool: "fifth" }))
      await cardOf(page, "fifth").waitFor()
      assert.strictEqual(await tones(page), 1)
    })

    it("respects the policy of the Server", async () => {
      const { page, server } = await open(inbox, waiting)
      await page.getByLabel("Sound for new approvals").check()
      send(server, makeWaitingCall({ id: "2", tool: "second" }))
      await cardOf(page, "second").waitFor()
      await page.getByLabel("Sound for new approvals").uncheck()
    })
  })
})
