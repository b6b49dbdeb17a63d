import { assert, describe, it } from "@effect/vitest"
import type { PageCall } from "../../src/domain/page/PageEvent.ts"
import { waitUntil } from "./scripted/expectations.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import { withCalls } from "./scripted/preparations.ts"
import { makeBatch, makeCall, makeSession, startTime } from "./scripted/pageFixtures.ts"

const callsView = "#/office/0.2/team/activity"

/** A call that ended; a later index starts later. */
const ended = (index: number, changes: Partial<PageCall> = {}): PageCall =>
  makeCall({
    id: `call-${index}`,
    startedAt: startTime - 50_000 + index * 100,
    endedAt: startTime - 50_000 + index * 100 + 40,
    outcome: "ok",
    ...changes
  })

const phases: ReadonlyArray<readonly [string, Partial<PageCall>]> = [
  ["done", { endedAt: startTime, outcome: "ok" }],
  ["failed", { endedAt: startTime, outcome: "tool_error" }],
  ["cancelled", { endedAt: startTime, outcome: "cancelled" }],
  [
    "denied",
    {
      endedAt: startTime,
      outcome: "4005",
      decision: { _tag: "Decided", computer: "desk", isAllowed: false, by: "operator:ops" }
    }
  ],
  ["consent", { status: { _tag: "WaitingForConsent", computer: "desk" } }],
  ["waiting", { status: { _tag: "WaitingForServers", computer: "desk", servers: ["files"] } }],
  ["running", {}]
]

describePages("office page", () => {
  const { open } = usePages()

  describe("calls", () => {
    it("shows each phase as a word in the list and as a bar in the timeline", async () => {
      const calls = phases.map(([phase, changes]) => makeCall({ id: phase, tool: `tool_${phase}`, ...changes }))
      const { page } = await open(callsView, withCalls(...calls))
      const list = page.getByRole("listbox", { name: "Calls" })
      for (const [phase] of phases) {
        await list.getByRole("option", { name: new RegExp(`^${phase} tool_${phase}`) }).waitFor()
        await page.locator(`.lane .bar-${phase}`).first().waitFor({ state: "attached" })
        await page.getByRole("list", { name: "Colours" }).getByText(phase).waitFor()
      }
    })

    it("states that the operator of the page denied the call", async () => {
      const [, changes] = phases.find(([phase]) => phase === "denied") ?? assert.fail("no denied call")
      const { page } = await open(`${callsView}?call=call-1`, withCalls(makeCall(changes)))
      await page.getByRole("article").getByText("you denied this call").waitFor()
    })

    it("shows the requests of members for lists on demand only", async () => {
      const { tool: _tool, ...listing } = ended(2, { event: "client:get_tools" })
      const { page } = await open(callsView, withCalls(ended(1), listing))
      await page.getByText("1 call, p50 40 ms, p99 40 ms").waitFor()
      await page.getByLabel("Housekeeping").check()
      await page.getByRole("option", { name: /client:get_tools/ }).waitFor()
    })

    it("states since when calls are known, and what the filter searches", async () => {
      const { page, server } = await open(callsView)
      await page.getByText(/No call was made since \d\d:\d\d:\d\d, when this page was opened\./).waitFor()
      assert.match(
        (await page.getByLabel("Filter").getAttribute("placeholder")) ?? "",
        /tool, Computer, Agent or event/
      )
      server.send(makeBatch([{ _tag: "Call", call: makeCall({ startedAt: startTime + 60_000 }) }]))
      await page.getByText(/^1 call, since \d\d:\d\d:\d\d, when this page was opened$/).waitFor()
      server.send(makeBatch([{ _tag: "Call", call: ended(2) }]))
      await page.getByText(/^2 calls, p50 40 ms, p99 40 ms, since \d\d:\d\d:\d\d, while a page was open$/).waitFor()
    })

    it("shows no details of a call that the filter hides", async () => {
      const { page } = await open(callsView, withCalls(ended(1)))
      const details = page.getByRole("region", { name: "Call", exact: true })
      await page.getByRole("listbox", { name: "Calls" }).getByRole("option").first().click()
      await details.getByText("Request id").waitFor()
      await page.getByLabel("Filter").fill("status:cancelled")
      await details.getByText("Request id").waitFor({ state: "detached" })
    })

    it("follows a call from its start to its end", async () => {
      const { page, server } = await open(callsView)
      await page.getByText(`a2c agent ${server.connectionFlags} --office team call echo message=hi`).waitFor()
      server.send(makeBatch([{ _tag: "Call", call: makeCall() }]))
      await page.getByRole("option", { name: /^running echo/ }).waitFor()
      server.send(makeBatch([{ _tag: "Call", call: makeCall({ endedAt: startTime, outcome: "4004" }) }]))
      await page.getByRole("option", { name: /^failed echo .* 1 s / }).waitFor()
    })

    it("shows the call that was pressed, when another call moves it before the release", async () => {
      const { page, server } = await open(callsView, withCalls(ended(1, { tool: "pressed" })))
      const row = page.getByRole("option", { name: /pressed/ })
      await row.hover()
      await page.mouse.down()
      server.send(makeBatch([{ _tag: "Call", call: ended(2, { tool: "later" }) }]))
      await page.getByRole("option", { name: /later/ }).waitFor()
      await page.mouse.up()
      await page.getByRole("region", { name: "Call", exact: true }).getByRole("heading", { name: "pressed" }).waitFor()
    })

    it("shows a lane for each Computer", async () => {
      const { page } = await open(callsView, withCalls(ended(1), ended(2, { computer: "printer" })))
      const lanes = page.locator(".lane-name")
      await lanes.getByText("printer").waitFor()
      await lanes.getByText("desk").waitFor()
    })

    it("filters while the text is typed, and keeps the filter in the address", async () => {
      const calls = [ended(1), ended(2, { tool: "read_file", outcome: "tool_error" }), ended(3, { tool: "read_all" })]
      const { page } = await open(callsView, withCalls(...calls))
      await page.getByLabel("Filter").fill("tool:read status:failed")
      await page.getByText("1 call, p50 40 ms, p99 40 ms").waitFor()
      assert.strictEqual(await page.locator(".virtual-row").count(), 1)
      await page.reload()
      await page.getByText("1 call, p50 40 ms, p99 40 ms").waitFor()
    })

    it("explains an invalid filter, and shows all calls", async () => {
      const { page } = await open(callsView, withCalls(ended(1), ended(2)))
      await page.getByLabel("Filter").fill("status:broken")
      await page.getByText(/status must be one of .*; found "broken"/).waitFor()
      assert.strictEqual(await page.getByLabel("Filter").getAttribute("aria-invalid"), "true")
      assert.strictEqual(await page.locator(".virtual-row").count(), 2)
    })

    it("stops at the moment of a pause, and continues with the missed calls", async () => {
      const { page, server } = await open(callsView, withCalls(ended(1)))
      await page.getByRole("button", { name: "Pause" }).click()
      server.send(makeBatch([{ _tag: "Call", call: ended(2) }], { omittedCalls: 5 }))
      await page.getByText("5 calls were counted, but are not listed").waitFor()
      assert.strictEqual(await page.locator(".virtual-row").count(), 1)
      await page.getByRole("button", { name: "Pause" }).click()
      await waitUntil(async () => (await page.locator(".virtual-row").count()) === 2)
    })

    it("shows the details of the call that the address names", async () => {
      const call = ended(1, { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", outcome: "4004" })
      const { page } = await open(`${callsView}?call=call-1`, withCalls(call))
      const details = page.getByRole("region", { name: "Call", exact: true })
      for (const text of ["40 ms", "brain", "brain-key", "req-1", "4bf92f3577b34da6a3ce929d0e0e4736", "error 4004"]) {
        await details.getByText(text, { exact: true }).waitFor()
      }
    })

    it("shows captured arguments and results, and the command of the call", async () => {
      const { page, server } = await open(`${callsView}?call=call-1`, (server) => {
        withCalls(ended(1))(server)
        server.replies.GetCallBody = () => ({
          params: '{"message":"it\'s"}',
          result: '{"content":[{"type":"text","text":"said"}]}'
        })
      })
      await page.getByText("said", { exact: true }).waitFor()
      await page
        .getByText(
          `a2c agent ${server.connectionFlags} --office team --protocol 0.2 call --computer desk echo '{"message":"it'\\''s"}'`
        )
        .waitFor()
    })

    it("asks for no arguments where the Server does not capture them", async () => {
      const { page, server } = await open(`${callsView}?call=call-1`, (server) => {
        withCalls(ended(1))(server)
        server.session = makeSession({ hasBodies: false })
      })
      await page.getByText("The arguments are missing").waitFor()
      assert.deepStrictEqual(server.commands, [])
    })

    it("copies the command", async () => {
      const { page, server } = await open(`${callsView}?call=call-1`, withCalls(ended(1)))
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
      await page.getByRole("button", { name: "Copy the command" }).click()
      await page.getByText("copied", { exact: true }).waitFor()
      const copied: string = await page.evaluate("navigator.clipboard.readText()")
      const flags = `${server.connectionFlags} --office team --protocol 0.2`
      assert.include(copied, `a2c agent ${flags} call --computer desk echo`)
    })

    it("cancels a running call after a confirmation", async () => {
      const { page, server } = await open(`${callsView}?call=call-1`, (server) => {
        withCalls(makeCall())(server)
        server.session = makeSession({ hasBodies: false })
      })
      await page.getByRole("button", { name: "Cancel the call of echo" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Cancel call" }).click()
      await page.getByRole("dialog").waitFor({ state: "detached" })
      assert.deepStrictEqual(server.commands, [{ _tag: "CancelCall", id: "call-1" }])
    })

    it("selects a call by its bar, and shows its row", async () => {
      const calls = Array.from({ length: 100 }, (_, index) => ended(index, { tool: `tool_${index}` }))
      const { page } = await open(callsView, withCalls(...calls))
      await page.locator(".lane .call").first().waitFor({ state: "attached" })
      await page.locator(".lane .call").first().dispatchEvent("click")
      await page.getByRole("heading", { name: "tool_0", exact: true }).waitFor()
      await page.getByRole("option", { name: /tool_0 /, selected: true }).waitFor()
    })

    it("keeps the rows of a scrolled list in their place while calls are added", async () => {
      const calls = Array.from({ length: 200 }, (_, index) => ended(index, { tool: `tool_${index}` }))
      const { page, server } = await open(callsView, withCalls(...calls))
      const row = page.getByRole("option", { name: /tool_100 / })
      await page.locator(".virtual-list").evaluate("document.querySelector('.virtual-list').scrollTop = 3600")
      await row.waitFor()
      const before = await row.boundingBox()
      server.send(
        makeBatch(Array.from({ length: 30 }, (_, index) => ({ _tag: "Call" as const, call: ended(300 + index) })))
      )
      await page.getByText(/^230 calls/).waitFor()
      assert.deepStrictEqual(await row.boundingBox(), before)
    })
  })
})
