import { createServer } from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { onTestFinished } from "vitest"
import { makeMemoryMcpServer, type MemoryTool } from "../../src/adapters/memory/MemoryMcp.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import { officeHash } from "../../src/domain/page/route.ts"
import { appMimeType } from "../../src/domain/tools/appTools.ts"
import { describePages } from "../page/scripted/usePages.ts"
import { waitUntil } from "../page/scripted/expectations.ts"
import { attackingApp, drawingApp, floodingApp } from "../page/live/hostileApp.ts"
import { useLivePages } from "../page/live/useLivePages.ts"
import { configOf, LiveParts } from "../page/live/LiveParts.ts"

const address = { line: "0.2", office: "apps" }
const connecting = { connectDomains: ["https://api.example.org", "http://localhost:1"] }

const require = createRequire(import.meta.url)
const monitor = join(dirname(require.resolve("@modelcontextprotocol/server-system-monitor")), "index.js")

const text = (value: string, more: JsonObject = {}) =>
  Effect.succeed({ content: [{ type: "text", text: value }], ...more })

/** A Server, and a Computer with apps that permits calls beside the Agent. Requests to `leak` are recorded. */
const startOffice = async (parts: LiveParts) => {
  const leaked: Array<string> = []
  const reports: Array<JsonObject> = []
  const http = createServer(({ url = "" }, response) => {
    leaked.push(url)
    response.end()
  })
  await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
  await parts.run(Effect.addFinalizer(() => Effect.sync(() => http.close())))
  const leak = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

  const apps = {
    draw: drawingApp,
    attack: attackingApp(leak, "navigation"),
    submit: attackingApp(leak, "form"),
    flood: floodingApp,
    connect: drawingApp
  }
  const toolOf = (name: string, ui: JsonObject, run: MemoryTool["run"]): MemoryTool => ({
    definition: { name, description: "", inputSchema: { type: "object" }, _meta: { ui } },
    run
  })
  const shop = await parts.run(
    makeMemoryMcpServer({
      tools: [
        ...Object.keys(apps).map((name) =>
          toolOf(name, { resourceUri: `ui://shop/${name}` }, () => text("drawn", { structuredContent: { total: 7 } }))
        ),
        toolOf("refresh", { visibility: ["app"] }, ({ n }) => text(`refreshed ${String(n)}`)),
        toolOf("report", { visibility: ["app"] }, (report) => {
          reports.push(report)
          return text("reported")
        }),
        toolOf("model_only", { visibility: ["model"] }, () => text("for the model"))
      ],
      resources: [
        ...Object.entries(apps).map(([name, html]) => ({
          definition: { uri: `ui://shop/${name}`, name },
          read: Effect.succeed([
            {
              uri: `ui://shop/${name}`,
              mimeType: appMimeType,
              text: html,
              ...(name === "connect" && { _meta: { ui: { csp: connecting } } })
            }
          ])
        })),
        { definition: { uri: "note://1", name: "note" }, read: Effect.succeed([{ uri: "note://1", text: "one" }]) }
      ]
    })
  )
  const other = await parts.run(
    makeMemoryMcpServer({
      tools: [toolOf("secret", {}, () => text("secret"))],
      resources: [
        {
          definition: { uri: "window://other/board", name: "board" },
          read: Effect.succeed([{ uri: "window://other/board", text: "secret" }])
        }
      ]
    })
  )
  const { url } = (await parts.server({ hasBodies: true })).service
  const allowed = { type: "stdio", server_parameters: { command: "-" }, default_tool_meta: { auto_apply: true } }
  await parts.computer({
    url,
    office: address.office,
    name: "desk",
    config: configOf({
      shop: allowed,
      other: allowed,
      monitor: { ...allowed, server_parameters: { command: process.execPath, args: [monitor, "--stdio"] } },
      counter: { ...allowed, server_parameters: { command: process.execPath, args: ["examples/apps/counter.ts"] } }
    }),
    sessions: { shop: await parts.run(shop.connect), other: await parts.run(other.connect) },
    operators: { calls: true }
  })
  await parts.agent({ url, office: address.office, name: "ada" })
  return { leaked, reports, url }
}

describePages("app on the office page of a live Server", () => {
  const parts = new LiveParts()
  let office: Awaited<ReturnType<typeof startOffice>>
  const { openShared, openUrl } = useLivePages(parts, async () => (office = await startOffice(parts)))

  /** Calls a tool in the view Tools, without arguments when it has no parameters, and shows its app. */
  const showApp = async (tool: string, params = '{"a": 1}') => {
    const hash = officeHash(address, "tools", { tool, computer: "desk" })
    const opened = await openShared(`${office.url}/office/${hash}`)
    const { page } = opened
    onTestFinished(() => page.close())
    if (params !== "") {
      await page.getByText("Arguments as JSON").click()
      await page.getByRole("textbox", { name: "Arguments as JSON" }).fill(params)
    }
    await page.getByRole("button", { name: "Run" }).click()
    await page.getByRole("button", { name: "Show the app" }).click()
    const inner = page.frameLocator("iframe.app").frameLocator("iframe")
    return { ...opened, inner }
  }

  it("gets the arguments and the result, calls tools and reads resources", async () => {
    const { accessibilityFindings, faults, inner, page } = await showApp("draw")
    const out = inner.locator("#out")
    await inner.getByText("note one").waitFor()
    assert.strictEqual(await out.innerText(), 'tool draw input {"a":1} result 7 note one')
    await inner.getByRole("button", { name: "Refresh" }).click()
    await inner.getByText("refreshed 2").waitFor()
    await page.getByRole("list", { name: "Calls of the app" }).getByText("refresh: the tool succeeded").waitFor()
    await waitUntil(async () => (await page.locator("iframe.app").getAttribute("style")) === "height: 444px;")
    assert.deepStrictEqual(await accessibilityFindings(), [])
    await page.getByRole("button", { name: "Stop the app" }).click()
    await page.getByText("The app has ended.").waitFor()
    assert.deepStrictEqual(await faults(), [])
  })

  it("runs at another host than the page, without its cookies", async () => {
    const { inner, page } = await showApp("draw")
    await inner.getByText("note one").waitFor()
    const source = new URL((await page.locator("iframe.app").getAttribute("src")) ?? "")
    assert.notStrictEqual(source.hostname, new URL(office.url).hostname)
    assert.deepStrictEqual(await page.context().cookies(source.href), [])
  })

  it("opens a link when the operator agrees to its URL", async () => {
    const { inner, page } = await showApp("draw")
    const dialog = page.getByRole("dialog")
    await inner.getByRole("button", { name: "Link" }).click()
    await dialog.getByText("https://example.org/path").waitFor()
    await dialog.getByRole("button", { name: "Cancel" }).click()
    await inner.getByText("The operator did not open the link").waitFor()
    await inner.getByRole("button", { name: "Link" }).click()
    await page.context().route("https://example.org/**", (route) => route.fulfill({ body: "fine" }))
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      dialog.getByRole("button", { name: "Open", exact: true }).click()
    ])
    await inner.getByText("opened").waitFor()
    assert.strictEqual(await popup.evaluate("window.opener"), null)
    await popup.close()
  })

  it("runs the app of a published MCP server, with its SDK", async () => {
    const { faults, page } = await showApp("get-system-info", "")
    const calls = page.getByRole("list", { name: "Calls of the app" })
    await calls.getByText("poll-system-stats: the tool succeeded").first().waitFor()
    assert.deepStrictEqual(await faults(), [])
  })

  it("runs the app of the example, whose button calls a tool", async () => {
    const { faults, inner } = await showApp("get_count", "")
    await inner.getByText("Count: 0").waitFor()
    await inner.getByRole("button", { name: "Add one" }).click()
    await inner.getByText("Count: 1").waitFor()
    assert.deepStrictEqual(await faults(), [])
  })

  it("tells which hosts it may reach, before it starts", async () => {
    const { inner, page } = await showApp("connect")
    const hosts = page.getByRole("list", { name: "Hosts of the app" })
    assert.strictEqual(await hosts.innerText(), "https://api.example.org")
    assert.strictEqual(await page.locator("iframe.app").count(), 0)
    await page.getByRole("button", { name: "Start the app" }).click()
    await inner.getByText("note one").waitFor()
  })

  it.each(["attack", "submit"])("reaches neither page nor network nor other servers: %s", async (name) => {
    office.reports.length = 0
    const { inner, page } = await showApp(name)
    await waitUntil(() => office.reports.length > 0)
    const [{ outcomes }] = office.reports as [{ outcomes: { readonly [attempt: string]: string } }]
    const rejected = {
      "tool of another server": "code -32602",
      "tool for the model": "code -32602",
      "channel to servers": "code -32602",
      "resource of another server": "code -32603",
      "message to the model": "code -32601",
      sampling: "code -32601",
      "script as link": "code -32602",
      "malformed call": "code -32602"
    }
    const others = Object.keys(outcomes).filter((attempt) => !Object.hasOwn(rejected, attempt))
    assert.isAtLeast(others.length, 17)
    assert.deepStrictEqual(outcomes, {
      ...Object.fromEntries(others.map((attempt) => [attempt, "blocked"])),
      ...rejected
    })
    // The last attempt leaves the app, and ends at an error of the browser.
    await inner.locator("#out").waitFor({ state: "detached" })
    assert.deepStrictEqual(office.leaked, [])
    assert.strictEqual(office.reports.length, 1)
    assert.strictEqual(new URL(page.url()).pathname, "/office/")
  })

  it("is stopped when it sends too many messages", async () => {
    const { page } = await showApp("flood")
    await page.getByText("It was stopped because it sent too many messages.").waitFor()
    assert.strictEqual(await page.locator("iframe.app").count(), 0)
  })

  it("is shown for a captured call of the Agent", async () => {
    const { page } = await openUrl(`${office.url}/office/${officeHash(address, "activity")}`)
    const { inner } = await showApp("draw")
    await inner.getByText("note one").waitFor()
    await page.getByRole("option").filter({ hasText: "draw" }).first().click()
    await page.getByRole("button", { name: "Show the app" }).click()
    await page.frameLocator("iframe.app").frameLocator("iframe").getByText("result 7").waitFor()
  })
})
