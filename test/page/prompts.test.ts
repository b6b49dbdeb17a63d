import { assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "../../src/domain/json.ts"
import type { PageCommandOf } from "../../src/domain/page/PageCommand.ts"
import { tabTo, waitUntil } from "./scripted/expectations.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import { agent, makeBatch, makeMember, makeSnapshot, startTime, team } from "./scripted/pageFixtures.ts"
import { RejectedCommand, type ScriptedServer } from "./scripted/ScriptedServer.ts"

const prompts = "#/office/0.2/team/prompts"
const greet = `${prompts}?prompt=greet&server=notes&computer=desk`

const greeting = {
  name: "greet",
  title: "Greeting",
  description: "Greets a person.",
  arguments: [
    { name: "name", description: "who", required: true },
    { name: "tone", description: "how" }
  ]
}

type Request = PageCommandOf<"SendMcpRequest">

/** Computers with prompts: `greet` of `notes` and `weekly` of `reports` at `desk`, `page` at `printer`. */
const withPrompts =
  (answer: (request: Request) => JsonObject | RejectedCommand = () => ({ messages: [] })) =>
  (server: ScriptedServer): void => {
    server.snapshot = makeSnapshot({ members: [agent, makeMember(), makeMember({ sid: "sid-2", name: "printer" })] })
    server.replies.SendMcpRequest = (request) => {
      if (request.method !== "servers/list") {
        const result = answer(request)
        return result instanceof RejectedCommand ? result : { result }
      }
      const atDesk = [
        { id: "notes", completions: true, prompts: [greeting] },
        { id: "reports", completions: false, prompts: [{ name: "weekly", description: "Sums up a week." }] }
      ]
      const servers = request.computer === "desk" ? atDesk : [{ id: "paper", prompts: [{ name: "page" }] }]
      return { result: { servers } }
    }
  }

const sent = (server: ScriptedServer, method: string) =>
  server.commands.filter(
    (command): command is Request => command._tag === "SendMcpRequest" && command.method === method
  )

describePages("office page", () => {
  const { open } = usePages()

  describe("prompts", () => {
    it("lists those of all Computers", async () => {
      const { page } = await open(prompts, withPrompts())
      const names = ["greet Greets a person. desk", "weekly Sums up a week. desk", "page  printer"]
      for (const name of names) await page.getByRole("option", { name }).waitFor()
    })

    it("finds those of an MCP server while the search is typed", async () => {
      const { page } = await open(prompts, withPrompts())
      await page.getByLabel("Search prompts").fill("reports")
      await page.getByText("1 of 3 prompts").waitFor()
      await page.getByRole("option", { name: /^weekly/ }).waitFor()
    })

    it("gets the messages of one with its arguments, without those left out", async () => {
      const { page, server } = await open(
        greet,
        withPrompts(() => ({
          messages: [
            { role: "user", content: { type: "text", text: "Greet Ada." } },
            { role: "assistant", content: { type: "resource", resource: { uri: "note://1", text: "a note" } } }
          ]
        }))
      )
      await page.getByLabel("name *").fill("Ada")
      await page.getByRole("button", { name: "Get the messages" }).click()
      const messages = page.getByRole("region", { name: "Messages" })
      await messages.getByText("Greet Ada.").waitFor()
      await messages.getByText("a note").waitFor()
      assert.deepStrictEqual(await messages.locator("span.tag").allTextContents(), ["user", "assistant", "resource"])
      const params = { name: "greet", arguments: { name: "Ada" } }
      assert.deepStrictEqual(
        sent(server, "prompts/get").map((one) => [one.computer, one.server, one.params]),
        [["desk", "notes", params]]
      )
    })

    it("says that a prompt has no arguments, and gets it", async () => {
      const { page, server } = await open(prompts, withPrompts())
      await page.getByRole("option", { name: /^weekly/ }).click()
      await page.getByText("The prompt has no arguments.").waitFor()
      assert.match(page.url(), /prompts\?prompt=weekly&server=reports&computer=desk$/)
      await page.getByRole("button", { name: "Get the messages" }).click()
      await page.getByRole("region", { name: "Messages" }).waitFor()
      assert.deepStrictEqual(
        sent(server, "prompts/get").map((one) => one.params),
        [{ name: "weekly", arguments: {} }]
      )
    })

    it("suggests the values of the MCP server for the argument with the focus", async () => {
      const { page, server } = await open(
        greet,
        withPrompts(() => ({ completion: { values: ["formal", "friendly"] } }))
      )
      await page.getByLabel("name *").fill("Ada")
      const tone = page.getByLabel("tone")
      await tone.fill("f")
      await tone.press("r")
      await page.locator("datalist option[value=friendly]").waitFor({ state: "attached" })
      const last = () => sent(server, "completion/complete").at(-1)
      await waitUntil(() => JSON.stringify(last()?.params).includes('"fr"'))
      const { params, server: id } = last() ?? {}
      assert.deepStrictEqual(
        [id, params],
        [
          "notes",
          {
            ref: { type: "ref/prompt", name: "greet" },
            argument: { name: "tone", value: "fr" },
            context: { arguments: { name: "Ada" } }
          }
        ]
      )
    })

    it("asks no MCP server for values that has none", async () => {
      const servers = [{ id: "notes", completions: false, prompts: [greeting] }]
      const { page, server } = await open(prompts, (server) => {
        server.replies.SendMcpRequest = () => ({ result: { servers, messages: [] } })
      })
      await page.getByRole("option", { name: /^greet.*desk/ }).click()
      await page.getByLabel("tone").fill("f")
      await page.getByLabel("name *").fill("Ada")
      await page.getByRole("button", { name: "Get the messages" }).click()
      await page.getByRole("region", { name: "Messages" }).waitFor()
      assert.deepStrictEqual(sent(server, "completion/complete"), [])
    })

    it("shows the error of an MCP server, and of a Computer", async () => {
      const { page } = await open(greet, (server) => {
        withPrompts(() => new RejectedCommand(400, "'name' is unknown"))(server)
        const answer = server.replies.SendMcpRequest
        server.replies.SendMcpRequest = (request) =>
          request.computer === "printer" ? new RejectedCommand(408, "no reply") : (answer?.(request) ?? { result: {} })
      })
      await page.getByText("printer: no reply (408)").waitFor()
      await page.getByLabel("name *").fill("x")
      await page.getByRole("button", { name: "Get the messages" }).click()
      await page.getByRole("alert").getByText("'name' is unknown").first().waitFor()
    })

    it("shows a prompt that is added later", async () => {
      const { page, server } = await open(prompts, withPrompts())
      await page.getByRole("option", { name: /^weekly/ }).waitFor()
      server.replies.SendMcpRequest = () => ({ result: { servers: [{ id: "new", prompts: [{ name: "added" }] }] } })
      server.send(makeBatch([{ _tag: "Updated", ...team, computer: "desk", part: "toolList", at: startTime }]))
      await page.getByRole("option", { name: /^added.*desk/ }).waitFor()
      await page.getByRole("option", { name: /^weekly/ }).waitFor({ state: "detached" })
    })

    it("says that an office has none", async () => {
      const { page } = await open(prompts)
      await page.getByText("No MCP server of this office offers prompts.").waitFor()
    })

    it("is used without a mouse", async () => {
      const { page } = await open(
        prompts,
        withPrompts(() => ({ messages: [{ role: "user", content: { type: "text", text: "Greet Ada." } }] }))
      )
      await page.getByRole("option", { name: /^greet/ }).waitFor()
      await page.getByRole("listbox", { name: "Prompts" }).focus()
      await page.keyboard.press("ArrowDown")
      await page.getByRole("heading", { name: "Greeting" }).waitFor()
      await tabTo(page, "name *")
      await page.keyboard.type("Ada")
      await page.keyboard.press("Enter")
      await page.getByText("Greet Ada.").waitFor()
    })
  })
})
