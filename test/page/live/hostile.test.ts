import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { fileURLToPath } from "node:url"
import { makeMemoryMcpServer, type MemoryTool } from "../../../src/adapters/memory/MemoryMcp.ts"
import type { Agent } from "../../../src/application/agent/Agent.ts"
import { McpSessionError } from "../../../src/application/ports/McpSession.ts"
import { officeHash, type OfficeViewName } from "../../../src/domain/page/route.ts"
import { describePages } from "../scripted/usePages.ts"
import { attack, findInjections, hostile } from "../scripted/hostileTexts.ts"
import { useLivePages } from "./useLivePages.ts"
import { configOf, LiveParts } from "./LiveParts.ts"

/** A name that a Server accepts: short, and without control or invisible characters. */
const hostileName = (field: string): string => hostile(field).replaceAll(/\p{C}/gu, "").slice(0, 256)

const address = { line: "0.2", office: hostileName("office") }
const computer = hostileName("computer")
const tool = "hostile_tool"

/** Lines of 1 MB in all. */
const megabyte = `${"y".repeat(999)}\n`.repeat(1_000)

const markdown =
  `# ${hostile("heading")}\n\n> ${hostile("quote")}\n\n- ${hostile("item")}\n\n\`\`\`html\n${hostile("code")}\n\`\`\`\n\n` +
  `<div onclick="${attack}">${hostile("html")}</div>\n\n[data](data:text/html,<script>${attack}</script>)`

const toolOf = (name: string, run: MemoryTool["run"]): MemoryTool => ({
  definition: {
    name,
    description: hostile(`description of ${name}`),
    inputSchema: {
      type: "object",
      properties: { text: { type: "string", title: hostile("title"), description: hostile("help") } }
    },
    annotations: { title: hostile("annotation") }
  },
  run
})

const textResult = (text: string, isError = false) => Effect.succeed({ content: [{ type: "text", text }], isError })

const tools: ReadonlyArray<MemoryTool> = [
  toolOf(tool, () => textResult(hostile("result"))),
  toolOf("long_tool", () => textResult(megabyte)),
  toolOf("wrong_tool", () => textResult(hostile("wrong"), true)),
  toolOf("broken_tool", () =>
    Effect.fail(new McpSessionError({ reason: "protocol", code: -32000, message: hostile("failure") }))
  ),
  toolOf(hostileName("named"), () => textResult(""))
]

const resourceOf = (uri: string, text: string) => ({
  definition: { uri, name: hostile("window"), mimeType: "text/markdown" },
  read: Effect.succeed([{ uri, text }])
})

/** A Computer whose names and contents attack the page, in an office whose name does so, with an Agent. */
const startAttacker = async (parts: LiveParts) => {
  const { url } = (await parts.server({ hasBodies: true })).service
  const server = await parts.run(
    makeMemoryMcpServer({
      name: hostile("info"),
      tools,
      resources: [
        resourceOf("window://hostile/board?priority=90", markdown),
        resourceOf("window://hostile/long?priority=10", megabyte)
      ]
    })
  )
  const program = fileURLToPath(new URL("../../fixtures/hostileMcpServer.ts", import.meta.url))
  const config = configOf({
    memory: { type: "stdio", server_parameters: { command: "-" }, default_tool_meta: { auto_apply: true } },
    terminal: { type: "stdio", server_parameters: { command: process.execPath, args: [program] } }
  })
  await parts.computer({
    url,
    office: address.office,
    name: computer,
    config,
    sessions: { memory: await parts.run(server.connect) },
    operators: { stderr: true, calls: true }
  })
  const { service } = await parts.agent({ url, office: address.office, name: hostileName("agent") })
  return { url, agent: service }
}

describePages("office page of a live Server with a hostile Computer", () => {
  const parts = new LiveParts()
  let url = ""
  let agent: Agent["Service"]
  const { openUrl } = useLivePages(parts, async () => ({ url, agent } = await startAttacker(parts)))

  /** Opens a view. `assertHarmless` checks that it has shown texts only. */
  const open = async (view: OfficeViewName, parameters: { readonly [name: string]: string } = {}) => {
    const opened = await openUrl("about:blank", "html")
    const { page } = opened
    const incidents: Array<string> = []
    page.on("dialog", (dialog) => {
      incidents.push(`dialog ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on("request", (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith("data:")) incidents.push(request.url())
    })
    page.on("popup", (popup) => incidents.push(`popup ${popup.url()}`))
    await page.goto(`${url}/office/${officeHash(address, view, parameters)}`)
    await page.locator("main h1").first().waitFor()
    const assertHarmless = async () => {
      assert.deepStrictEqual(await page.evaluate(findInjections), [])
      assert.deepStrictEqual([...incidents, ...(await opened.faults())], [])
      assert.isBelow(((await page.locator("body").textContent()) ?? "").length, 200_000)
    }
    return { ...opened, assertHarmless }
  }

  const shows = async (page: Page, ...texts: ReadonlyArray<string>): Promise<void> => {
    for (const text of texts) await page.locator("body").filter({ hasText: text }).waitFor()
  }

  const call = (name: string) =>
    parts.run(Effect.exit(agent.callTool({ computer, tool: name, params: { text: hostile("argument") }, timeout: 60 })))

  it("shows the names of offices, members and MCP servers, and stderr, as text", async () => {
    const { assertHarmless, page } = await open("overview", { computer })
    await shows(page, "office <img", "computer <img", "agent <img")
    await page.locator("summary").click()
    await shows(page, "stderr")
    await assertHarmless()
    await page.goto(`${url}/office/#/offices`)
    await shows(page, "office <img")
    await assertHarmless()
  })

  it("shows the names, descriptions and schemas of tools as text", async () => {
    const { assertHarmless, page } = await open("tools", { tool, computer })
    await shows(page, `description of ${tool} <img`, "named <img", "help <img", "annotation <img")
    await assertHarmless()
  })

  for (const format of ["markdown", "text"]) {
    it(`shows windows as text in the format ${format}, also one of 1 MB`, async () => {
      const { assertHarmless, page } = await open("windows")
      await page.getByLabel("Show windows as").selectOption(format)
      await shows(page, "heading <img", "quote <img", "item <img", "code <img", "html <img")
      await shows(page, "yyyy")
      await assertHarmless()
    })
  }

  it("shows arguments, results and errors of calls as text, also a result of 1 MB", async () => {
    const { assertHarmless, page } = await open("activity")
    await page.getByText("Connected", { exact: true }).waitFor()
    const details = page.getByRole("region", { name: "Call", exact: true })
    for (const [name, texts] of [
      [tool, ["argument <img", "result <img"]],
      ["wrong_tool", ["wrong <img"]],
      ["broken_tool", ["failure <img"]],
      ["long_tool", ["bytes, too large to capture"]]
    ] as const) {
      await call(name)
      await page.getByRole("option").filter({ hasText: name }).click()
      await details.getByRole("heading", { name, exact: true }).waitFor()
      await shows(page, ...texts)
      await assertHarmless()
    }
  })

  for (const [name, text] of [
    [tool, "result <img"],
    ["wrong_tool", "wrong <img"],
    ["long_tool", "yyyy"],
    ["broken_tool", "failure <img"]
  ] as const) {
    it(`shows what ${name} gives to a call of an operator as text`, async () => {
      const { assertHarmless, page } = await open("tools", { tool: name, computer })
      await page.getByRole("button", { name: "Run" }).click()
      await shows(page, text)
      await assertHarmless()
    })
  }
})
