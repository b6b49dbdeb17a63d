import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "../../src/domain/json.ts"
import type { PageCallMessage, PageCallRequest } from "../../src/domain/page/PageCommand.ts"
import { browserTimeout } from "../programs/launchChromium.ts"
import { waitUntil } from "./scripted/expectations.ts"
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
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill('{\n  "message": }')
      await page.getByText("line 2, column 14: expected a value").waitFor()
      assert.isTrue(await page.getByRole("button", { name: "Run" }).isDisabled())
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
      await page.getByRole("button", { name: "Run" }).click()
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
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByRole("link", { name: "Activity" }).click()
      await page.getByText("1 running call").click()
      release()
      await page.getByText("1 running call").waitFor({ state: "detached" })
      await page.goBack()
      await page.getByText("done meanwhile", { exact: true }).waitFor()
    })

    it("is cancelled from another view", async () => {
      let isCancelled = false
      const { page } = await open(tryEcho, (server) => {
        withTool()(server)
        server.call = async function* (_request, signal) {
          yield { _tag: "Started", as: "agent", name: "operator:ops" }
          await new Promise((ended) => signal.addEventListener("abort", ended))
          isCancelled = true
        }
      })
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The call runs as the Agent operator:ops of the office.").waitFor()
      await page.getByRole("link", { name: "Overview" }).click()
      await page.getByText("1 running call").click()
      await page.getByRole("button", { name: "Cancel echo" }).click()
      await waitUntil(() => isCancelled)
    })

    it("cancels the call", async () => {
      let isCancelled = false
      const { page } = await open(tryEcho, (server) => {
        withTool()(server)
        server.call = async function* (_request, signal) {
          yield { _tag: "Started", as: "agent", name: "operator:ops" }
          await new Promise((ended) => signal.addEventListener("abort", ended))
          isCancelled = true
        }
      })
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The call runs as the Agent operator:ops of the office.").waitFor()
      await page.getByRole("button", { name: "Cancel" }).click()
      await page.getByRole("alert").getByText("cancelled").waitFor()
      await waitUntil(() => isCancelled)
    })

    it("shows texts, images, links and structured content of a result", async () => {
      const messages: PageCallMessage = {
        _tag: "Result",
        result: {
          content: [
            { type: "text", text: "a text" },
            { type: "image", mimeType: "image/png", data: pixel },
            { type: "resource_link", name: "report", uri: "file:///report.pdf" }
          ],
          structuredContent: { total: 3 }
        }
      }
      const { page } = await open(tryEcho, withTool(messages))
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("a text", { exact: true }).waitFor()
      await waitUntil(() =>
        page.evaluate("document.querySelector('img[alt=\"image of the MCP server\"]').naturalWidth === 1")
      )
      await page.getByText("file:///report.pdf", { exact: true }).waitFor()
      await page.getByText('"total": 3').first().waitFor()
    })

    it("shows an error of the tool, and one of the protocol", async () => {
      const content = [{ type: "text", text: "no such file" }]
      const { page, server } = await open(tryEcho, withTool({ _tag: "Result", result: { content, isError: true } }))
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText("The tool returned an error").waitFor()
      withTool({ _tag: "Failed", error: { code: 4004, message: "timeout" } })(server)
      await page.getByRole("button", { name: "Run" }).click()
      await page.getByText(/^Failed after .* with code 4004:/).waitFor()
    })

    it("states that the Server ended the reply without a result", async () => {
      const { page } = await open(tryEcho, withTool({ _tag: "Started", as: "agent", name: "operator:ops" }))
      await page.getByRole("button", { name: "Run" }).click()
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
      await page.getByRole("button", { name: "Run" }).click()
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
