import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import type { JsonObject } from "../../src/domain/json.ts"
import type { PageCallMessage, PageCallRequest } from "../../src/domain/page/PageCommand.ts"
import { browserTimeout } from "../programs/launchChromium.ts"
import { focusedName, waitUntil } from "./scripted/expectations.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import { type Preparation, withSnapshot, withSession } from "./scripted/preparations.ts"
import { agent, makeMember, makeTool, team } from "./scripted/pageFixtures.ts"

const tryEcho = "#/office/0.2/team/tools?tool=echo&computer=desk"

const withTool =
  (...messages: ReadonlyArray<PageCallMessage>): Preparation =>
  (server) => {
    server.replies.GetTools = () => ({ tools: [makeTool()], startingServers: [] })
    server.call = async function* () {
      yield* messages
    }
  }

const resultOf = (...content: ReadonlyArray<JsonObject>): PageCallMessage => ({ _tag: "Result", result: { content } })

/** Calls the tool with what it requires. */
const run = async (page: Page): Promise<void> => {
  await page.getByLabel("message *").fill("hi")
  await page.getByRole("button", { name: "Run" }).click()
}

/** A red pixel. */
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="

describePages("office page", () => {
  const { open } = usePages()

  describe("form of a tool", () => {
    it("writes its fields into the JSON text, and the JSON text into its fields", async () => {
      const { page } = await open(tryEcho, withTool())
      const json = page.getByRole("textbox", { name: "Arguments as JSON" })
      await page.getByText("Arguments as JSON").click()
      await page.getByLabel("message *").fill("hi")
      assert.deepStrictEqual(JSON.parse(await json.inputValue()), { message: "hi", times: 1 })
      await json.fill('{"message": "other", "times": 7}')
      assert.strictEqual(await page.getByLabel("message *").inputValue(), "other")
      assert.strictEqual(await page.getByLabel("times").inputValue(), "7")
    })

    it("names the place of an error in the JSON text, and does not run", async () => {
      const { page } = await open(tryEcho, withTool())
      await page.getByText("Arguments as JSON").click()
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill('{\n  "message": "x"\n')
      await page.getByText(/^Not JSON: .*line 3 column 1/).waitFor()
      assert.isTrue(await page.getByRole("button", { name: "Run" }).isDisabled())
    })

    const withSchema =
      (properties: JsonObject, ...required: ReadonlyArray<string>): Preparation =>
      (server) => {
        withTool(resultOf())(server)
        const paramsSchema = { type: "object", properties, required }
        server.replies.GetTools = () => ({ tools: [makeTool({ paramsSchema })], startingServers: [] })
      }

    const jsonOf = async (page: Page): Promise<unknown> =>
      JSON.parse(await page.locator("textarea[aria-label='Arguments as JSON']").inputValue())

    it("does not run with an empty required text, which it focuses and explains", async () => {
      const { page } = await open(tryEcho, withTool(resultOf()))
      const button = page.getByRole("button", { name: "Run" })
      await button.click()
      const field = page.getByLabel("message *")
      await page.locator("form").getByText("Required", { exact: true }).waitFor()
      assert.strictEqual(await field.getAttribute("aria-invalid"), "true")
      assert.strictEqual(await focusedName(page), "message *")
      await field.fill("hi")
      await page.locator("form").getByText("Required", { exact: true }).waitFor({ state: "detached" })
      await button.click()
      await page.getByText("The tool succeeded").waitFor()
    })

    it("runs with arguments in JSON that the form does not accept, and shows at their fields what the Computer says", async () => {
      const text =
        "Tool 'echo' was not called: its arguments do not fit its schema.\n- /message: must NOT have fewer than 1 characters"
      const { page } = await open(
        tryEcho,
        withTool({ _tag: "Result", result: { content: [{ type: "text", text }], isError: true } })
      )
      await page.getByText("Arguments as JSON").click()
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill('{"message": ""}')
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("must NOT have fewer than 1 characters", { exact: true }).waitFor()
      assert.strictEqual(await page.getByLabel("message *").getAttribute("aria-invalid"), "true")
    })

    it("has inputs of the browser for dates, times, addresses and choices", async () => {
      const { accessibilityFindings, page } = await open(
        tryEcho,
        withSchema(
          {
            day: { type: "string", format: "date" },
            at: { type: "string", format: "date-time" },
            mail: { type: "string", format: "email" },
            page: { type: "string", format: "uri" },
            mode: { enum: ["read", "write"] },
            tags: { type: "array", items: { enum: ["red", "green", "blue"] }, uniqueItems: true },
            isPrivate: { type: "boolean" },
            isOpen: { type: "boolean" },
            colour: { enum: ["a", "b", "c", "d", "e", "f"] }
          },
          "mode",
          "isPrivate"
        )
      )
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("Choose one").waitFor()
      assert.strictEqual(await page.evaluate("document.activeElement.type"), "radio")
      assert.deepStrictEqual(await accessibilityFindings(), [])
      await page.getByLabel("day").fill("2026-11-29")
      await page.getByLabel("at", { exact: true }).fill("2026-11-29T14:30")
      await page.getByLabel("mail").fill("ann@example.org")
      await page.getByLabel("page", { exact: true }).fill("https://example.org")
      await page.getByRole("radio", { name: "write" }).check()
      await page.getByRole("checkbox", { name: "blue" }).check()
      await page.getByRole("checkbox", { name: "red" }).check()
      await page.getByRole("checkbox", { name: "isPrivate" }).check()
      await page.getByRole("radiogroup", { name: "isOpen" }).getByLabel("no", { exact: true }).check()
      await page.getByRole("combobox", { name: "colour", exact: true }).selectOption("f")
      const { at, ...others } = (await jsonOf(page)) as JsonObject
      assert.match(String(at), /^2026-11-29T14:30:00[+-]\d\d:\d\d$/)
      assert.deepStrictEqual<unknown>(others, {
        day: "2026-11-29",
        mail: "ann@example.org",
        page: "https://example.org",
        mode: "write",
        tags: ["red", "blue"],
        isPrivate: true,
        isOpen: false,
        colour: "f"
      })
      await page.getByRole("radiogroup", { name: "isOpen" }).getByLabel("not set").check()
      await page.getByRole("checkbox", { name: "red" }).uncheck()
      await page.getByRole("checkbox", { name: "blue" }).uncheck()
      const left = (await jsonOf(page)) as JsonObject
      assert.notProperty(left, "isOpen")
      assert.notProperty(left, "tags")
    })

    it("does not lose a date that is entered in part", async () => {
      const { page } = await open(tryEcho, withSchema({ day: { type: "string", format: "date" } }))
      await page.getByLabel("day").focus()
      await page.keyboard.type("11")
      await page.getByRole("button", { name: "Run" }).click()
      assert.strictEqual(await focusedName(page), "day")
      assert.strictEqual(await page.getByText("The tool succeeded").count(), 0)
      await page.keyboard.type("11292026")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The tool succeeded").waitFor()
      assert.deepStrictEqual<unknown>(await jsonOf(page), { day: "2026-11-29" })
    })

    it("keeps the time zone of a time, and a text that no input of the browser shows", async () => {
      const { page } = await open(
        tryEcho,
        withSchema({
          at: { type: "string", format: "date-time", default: "2026-11-29T14:30:00+09:00" },
          day: { type: "string", format: "date", default: "tomorrow" },
          later: { type: "string", format: "date-time", default: "The day after" },
          note: { type: "string", default: "To T" }
        })
      )
      await page.getByText("UTC+09:00").waitFor()
      await page.getByLabel("at", { exact: true }).fill("2026-11-30T08:00")
      assert.strictEqual(await page.getByLabel("day").inputValue(), "tomorrow")
      assert.strictEqual(await page.getByLabel("later").inputValue(), "The day after")
      await page.getByLabel("later").fill("Two days after")
      await page.getByLabel("note").fill("To Tea")
      assert.deepStrictEqual<unknown>(await jsonOf(page), {
        at: "2026-11-30T08:00:00+09:00",
        day: "tomorrow",
        later: "Two days after",
        note: "To Tea"
      })
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("Enter a date such as 2026-11-29").waitFor()
    })

    it("shows an Optional as its type, and names the kinds of other alternatives", async () => {
      const { page } = await open(
        tryEcho,
        withSchema({
          due: { anyOf: [{ type: "string", format: "date" }, { type: "null" }], default: null },
          shape: {
            anyOf: [
              {
                type: "object",
                properties: { kind: { const: "circle" }, radius: { type: "number" } },
                required: ["kind"]
              },
              { type: "object", properties: { width: { type: "number" } } },
              { type: "array", items: { type: "string" } }
            ]
          }
        })
      )
      assert.strictEqual(await page.getByLabel("due").getAttribute("type"), "date")
      await page.getByRole("button", { name: "Add shape" }).click()
      const kinds = page.getByRole("radiogroup", { name: "Kind of shape" })
      const names = (await kinds.locator("label").allInnerTexts()).map((name) => name.trim())
      assert.deepStrictEqual(names, ["circle", "width", "list: text"])
      await page.getByLabel("radius").fill("2")
      assert.deepStrictEqual<unknown>(await jsonOf(page), { shape: { kind: "circle", radius: 2 } })
      assert.notInclude(await page.locator("form").innerText(), "null")
    })

    it("edits lists and optional objects", async () => {
      const { page } = await open(tryEcho, (server) => {
        const paramsSchema = {
          type: "object",
          properties: {
            labels: { type: "array", items: { type: "string" } },
            place: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
          },
          required: ["labels"]
        }
        server.replies.GetTools = () => ({ tools: [makeTool({ paramsSchema })], startingServers: [] })
      })
      await page.getByRole("button", { name: "Add to labels" }).click()
      await page.getByRole("button", { name: "Add to labels" }).click()
      await page.getByLabel("labels 2 *").fill("b")
      await page.getByRole("button", { name: "Remove labels 1" }).click()
      await page.getByRole("button", { name: "Add place" }).click()
      await page.getByLabel("city *").fill("Rome")
      const json = page.getByRole("textbox", { name: "Arguments as JSON" })
      await page.getByText("Arguments as JSON").click()
      assert.deepStrictEqual(JSON.parse(await json.inputValue()), { labels: ["b"], place: { city: "Rome" } })
      await page.getByRole("button", { name: "Leave out place" }).click()
      assert.deepStrictEqual(JSON.parse(await json.inputValue()), { labels: ["b"] })
    })

    it("keeps the last input of a tool", async () => {
      const { page } = await open(tryEcho, withTool(resultOf()))
      await page.getByLabel("message *").fill("kept")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The tool succeeded").waitFor()
      await page.reload()
      await page.getByLabel("message *").waitFor()
      assert.strictEqual(await page.getByLabel("message *").inputValue(), "kept")
    })

    it("shows which rule decides about the call, which does not run", async () => {
      const { page, server } = await open(tryEcho, (server) => {
        withTool()(server)
        server.replies.ExplainCall = () => ({
          steps: [
            { rule: "rule 1", action: "deny", mismatch: "tool" },
            { rule: "rule 2", action: "ask" }
          ],
          decision: { action: "ask", by: "rule 2", reason: "It writes files." },
          canAsk: true
        })
      })
      await page.getByLabel("message *").fill("hi")
      await page.getByRole("combobox", { name: "Caller" }).selectOption(agent.name)
      await page.getByRole("button", { name: "Which rule decides?" }).click()
      const decision = page.getByRole("region", { name: "Decision" })
      await decision.getByText("Decided by rule 2: the call needs an approval.").waitFor()
      assert.include(await decision.innerText(), "It writes files.")
      assert.deepStrictEqual(await decision.getByRole("listitem").allInnerTexts(), [
        "rule 1, deny: does not apply, by its tool",
        "rule 2, ask: applies"
      ])
      assert.deepInclude(server.commands.at(-1), { _tag: "ExplainCall", tool: "echo", subject: agent.name })
    })

    it("opens when a tool is chosen from the list", async () => {
      const { page } = await open("#/office/0.2/team/tools", withTool())
      await page.getByRole("option", { name: /^echo/ }).click()
      await page.getByLabel("message *").waitFor()
      assert.match(page.url(), /tools\?tool=echo&computer=desk$/)
    })
  })

  describe("call from the page", () => {
    it("sends the arguments and the timeout", async () => {
      const requests: Array<PageCallRequest> = []
      const { page } = await open(tryEcho, (server) => {
        withTool()(server)
        server.call = async function* (request) {
          requests.push(request)
          yield resultOf({ type: "text", text: "hello" })
        }
      })
      await page.getByLabel("message *").fill("hi")
      await page.getByLabel("Timeout in seconds").fill("5")
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("hello", { exact: true }).waitFor()
      const params = { message: "hi", times: 1 }
      assert.deepStrictEqual(requests, [{ ...team, computer: "desk", tool: "echo", params, timeout: 5 }])
    })

    it("shows as which member it runs, why it waits, and its progress", async () => {
      const { page } = await open(tryEcho, (server) => {
        withTool()(server)
        server.call = async function* (_request, signal) {
          yield { _tag: "Started", as: "operator", name: "operator:ops" }
          yield {
            _tag: "Status",
            status: { _tag: "Progressing", computer: "desk", progress: 3, total: 12, message: "third file" }
          }
          await new Promise((ended) => signal.addEventListener("abort", ended))
        }
      })
      await run(page)
      await page.getByText("The call runs beside the Agent of the office, as operator:ops.").waitFor()
      await page.getByText("progress: 3 of 12, third file").waitFor()
      assert.strictEqual(await page.getByRole("progressbar").getAttribute("value"), "0.25")
    })

    it("continues while other views are shown, and has its result afterwards", async () => {
      let release: () => void = () => undefined
      const released = new Promise<void>((resolve) => (release = resolve))
      const { page } = await open(tryEcho, (server) => {
        withTool()(server)
        server.call = async function* () {
          await Promise.race([released, sleep(browserTimeout, undefined, { ref: false })])
          yield resultOf({ type: "text", text: "done meanwhile" })
        }
      })
      await run(page)
      await page.getByRole("link", { name: "Activity" }).click()
      await page.getByText("1 running call").click()
      release()
      await page.getByText("1 running call").waitFor({ state: "detached" })
      await page.goBack()
      await page.getByText("done meanwhile", { exact: true }).waitFor()
    })

    /** Starts a call that runs until it is cancelled. */
    const startCall = async () => {
      let isCancelled = false
      const { page, server } = await open(tryEcho, (server) => {
        withTool()(server)
        server.call = async function* (_request, signal) {
          yield { _tag: "Started", as: "agent", name: "operator:ops" }
          await new Promise((ended) => signal.addEventListener("abort", ended))
          isCancelled = true
        }
      })
      await run(page)
      await page.getByText("The call runs as the Agent operator:ops of the office.").waitFor()
      return { isCancelled: () => isCancelled, page, server }
    }

    it("ends with the session, whose next operator does not see it", async () => {
      const { isCancelled, page, server } = await startCall()
      server.session = undefined
      server.dropStreams()
      await page.getByLabel("Key or token").fill(server.token)
      await waitUntil(isCancelled)
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByRole("region", { name: "Result" }).getByText("Its result appears here.").waitFor()
    })

    it("is cancelled from another view", async () => {
      const { isCancelled, page } = await startCall()
      await page.getByRole("link", { name: "Overview" }).click()
      await page.getByText("1 running call").click()
      await page.getByRole("button", { name: "Cancel echo" }).click()
      await waitUntil(isCancelled)
    })

    it("cancels the call", async () => {
      const { isCancelled, page } = await startCall()
      await page.getByRole("button", { name: "Cancel" }).click()
      await page.getByRole("alert").getByText("cancelled").waitFor()
      await waitUntil(isCancelled)
    })

    /** Runs the tool with this result, and gives its region. */
    const resultRegion = async (result: JsonObject) => {
      const { page } = await open(tryEcho, withTool({ _tag: "Result", result }))
      await run(page)
      await page.getByText("The tool succeeded").waitFor()
      return page.getByRole("region", { name: "Result" })
    }

    it("shows texts, images at their size, links and structured content of a result", async () => {
      const region = await resultRegion({
        content: [
          { type: "text", text: "a text" },
          { type: "image", mimeType: "image/png", data: pixel },
          { type: "resource_link", name: "report", uri: "https://example.org/report.pdf", description: "of the week" }
        ],
        structuredContent: { total: 3 }
      })
      await region.getByText("a text", { exact: true }).waitFor()
      const image = region.getByRole("img", { name: "image of the MCP server" })
      await waitUntil(async () => (await image.boundingBox())?.width === 1)
      const link = region.getByRole("link", { name: "https://example.org/report.pdf" })
      assert.strictEqual(await link.getAttribute("rel"), "noreferrer noopener")
      await region.getByText("of the week", { exact: true }).waitFor()
      const structured = region.getByRole("region", { name: "Structured content" })
      assert.deepStrictEqual(await structured.locator("dt, dd").allInnerTexts(), ["total", "3"])
    })

    it("saves images, audio and files", async () => {
      const region = await resultRegion({
        content: [
          { type: "image", mimeType: "image/png", data: pixel },
          { type: "audio", mimeType: "audio/wav", data: "UklGRg==" },
          { type: "resource", resource: { uri: "file:///a/notes.html", mimeType: "text/html", blob: "PGI+" } }
        ]
      })
      const names: Array<string> = []
      for (const link of await region.getByRole("link", { name: "Save" }).all()) {
        const download = region.page().waitForEvent("download")
        await link.click()
        names.push((await download).suggestedFilename())
      }
      assert.deepStrictEqual(names, ["image.png", "audio.wav", "notes.html"])
      const href = await region.getByRole("link", { name: "Save" }).last().getAttribute("href")
      assert.strictEqual(href, "data:application/octet-stream;base64,PGI+")
    })

    it("shows records as a table, objects as facts, and the same content once", async () => {
      const content = {
        count: 2,
        people: [
          { name: "Ada", age: 36 },
          { name: "Bob", tags: ["x", "y"] }
        ]
      }
      const region = await resultRegion({
        content: [{ type: "text", text: JSON.stringify(content) }],
        structuredContent: content
      })
      const table = region.getByRole("table")
      assert.deepStrictEqual(await table.getByRole("columnheader").allInnerTexts(), ["name", "age", "tags"])
      assert.deepStrictEqual(await table.getByRole("cell").allInnerTexts(), ["Ada", "36", "", "Bob", "", "x\ny"])
      assert.deepStrictEqual(await region.locator("dt").allInnerTexts(), ["count", "people"])
      assert.isFalse(await region.getByText('"count": 2').isVisible())
      await region.getByText("Result as JSON").click()
      assert.isTrue(await region.getByText('"count": 2').isVisible())
    })

    it("shows a text that stands alone in the structured content once", async () => {
      const region = await resultRegion({
        content: [{ type: "text", text: "hello" }],
        structuredContent: { result: "hello" }
      })
      await region.getByText("hello", { exact: true }).waitFor()
      assert.strictEqual(await region.getByRole("region", { name: "Structured content" }).count(), 0)
    })

    it("bounds the rows and columns of a table", async () => {
      const record = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`m${index}`, index]))
      const records = Array.from({ length: 300 }, () => record)
      const region = await resultRegion({ content: [{ type: "text", text: JSON.stringify(records) }] })
      await region.getByText("300 records with 20 members: the JSON text has all.").waitFor()
      assert.strictEqual(await region.getByRole("row").count(), 101)
      assert.strictEqual(await region.getByRole("columnheader").count(), 12)
    })

    it("shows an error of the tool, and one of the protocol", async () => {
      const content = [{ type: "text", text: "no such file" }]
      const { page, server } = await open(tryEcho, withTool({ _tag: "Result", result: { content, isError: true } }))
      await run(page)
      await page.getByText("The tool returned an error").waitFor()
      withTool({ _tag: "Failed", error: { code: 4004, message: "timeout" } })(server)
      await run(page)
      await page.getByText(/^Failed after .* with code 4004:/).waitFor()
    })

    it("states that the Server ended the reply without a result", async () => {
      const { page } = await open(tryEcho, withTool({ _tag: "Started", as: "agent", name: "operator:ops" }))
      await run(page)
      await page.getByText("The Server ended the reply before the result").waitFor()
    })

    it("shows statuses as they arrive", async () => {
      let release: () => void = () => undefined
      const released = new Promise<void>((resolve) => (release = resolve))
      const { page } = await open(tryEcho, (server) => {
        withTool()(server)
        server.call = async function* () {
          yield { _tag: "Status", status: { _tag: "WaitingForConsent", computer: "desk" } }
          await Promise.race([released, sleep(browserTimeout, undefined, { ref: false })])
          yield resultOf({ type: "text", text: "done at last" })
        }
      })
      await run(page)
      await page.getByText("waiting for consent").waitFor()
      release()
      await page.getByText("done at last", { exact: true }).waitFor()
    })

    it("is not offered without the right to call", async () => {
      const { page } = await open(tryEcho, withTool(), withSession({ mayCall: false }))
      await page.getByText("The credentials of this page do not permit calls.").waitFor()
    })

    it("names the flag of a Computer that does not run calls beside the Agent", async () => {
      const closed = makeMember({ features: { inspection: true, operatorCalls: false, approvals: false } })
      const { page } = await open(tryEcho, withTool(), withSnapshot({ members: [agent, closed] }))
      await page.getByText("a2c computer --operators").waitFor()
    })
  })
})
