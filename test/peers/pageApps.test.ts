import { createServer } from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeMemoryMcpServer, type MemoryTool } from "../../src/adapters/memory/MemoryMcp.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import { officeHash } from "../../src/domain/page/route.ts"
import { appMimeType } from "../../src/domain/tools/appTools.ts"
import { browserTimeout, chromiumPath } from "../programs/launchChromium.ts"
import { waitUntil } from "../page/scripted/expectations.ts"
import { attackingApp, drawingApp, floodingApp } from "../page/live/hostileApp.ts"
import { useBrowser } from "../page/live/LiveBrowser.ts"
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
      monitor: { ...allowed, server_parameters: { command: process.execPath, args: [monitor, "--stdio"] } }
    }),
    sessions: { shop: await parts.run(shop.connect), other: await parts.run(other.connect) },
    operators: { calls: true }
  })
  await parts.agent({ url, office: address.office, name: "ada" })
  return { leaked, reports, url }
}

describe.skipIf(chromiumPath === undefined)("app on the office page of a live Server", () => {
  const parts = new LiveParts()
  let office: Awaited<ReturnType<typeof startOffice>>
  const browser = useBrowser(parts, async () => (office = await startOffice(parts)))
  const options = { timeout: browserTimeout }

  /** Calls a tool in the view Try, and shows its app. */
  const showApp = async (tool: string, params = '{"a": 1}') => {
    const hash = officeHash(address, "try", { tool, computer: "desk" })
    const opened = await browser.openUrl(`${office.url}/office/${hash}`)
    const { page } = opened
    await page.getByRole("textbox", { name: "Arguments as JSON" }).fill(params)
    await page.getByRole("button", { name: "Run" }).click()
    await page.getByRole("button", { name: "Show the app" }).click()
    const inner = page.frameLocator("iframe.app").frameLocator("iframe")
    return { ...opened, inner, [Symbol.asyncDispose]: () => page.close() }
  }

  it("gets the arguments and the result, calls tools and reads resources", options, async () => {
    await using shown = await showApp("draw")
    const { inner, page } = shown
    const out = inner.locator("#out")
    await inner.getByText("note one").waitFor()
    assert.strictEqual(await out.innerText(), 'tool draw input {"a":1} result 7 note one')
    await inner.getByRole("button", { name: "Refresh" }).click()
    await inner.getByText("refreshed 2").waitFor()
    await page.getByRole("list", { name: "Calls of the app" }).getByText("refresh: the tool succeeded").waitFor()
    await waitUntil(async () => (await page.locator("iframe.app").getAttribute("style")) === "height: 444px;")
    assert.deepStrictEqual(await shown.accessibilityFindings(), [])
    await page.getByRole("button", { name: "Stop the app" }).click()
    await page.getByText("The app has ended.").waitFor()
    assert.deepStrictEqual(await shown.faults(), [])
  })

  it("runs at another host than the page, without its cookies", options, async () => {
    await using shown = await showApp("draw")
    await shown.inner.getByText("note one").waitFor()
    const source = new URL((await shown.page.locator("iframe.app").getAttribute("src")) ?? "")
    assert.notStrictEqual(source.hostname, new URL(office.url).hostname)
    const cookies = await shown.page.context().cookies(source.href)
    assert.deepStrictEqual(cookies, [])
  })

  it("opens a link when the operator agrees to its URL", options, async () => {
    await using shown = await showApp("draw")
    const { inner, page } = shown
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

  it("runs the app of a published MCP server, with its SDK", options, async () => {
    await using shown = await showApp("get-system-info", "{}")
    const calls = shown.page.getByRole("list", { name: "Calls of the app" })
    await calls.getByText("poll-system-stats: the tool succeeded").first().waitFor()
    assert.deepStrictEqual(await shown.faults(), [])
  })

  it("tells which hosts it may reach, before it starts", options, async () => {
    await using shown = await showApp("connect")
    const { inner, page } = shown
    const hosts = page.getByRole("list", { name: "Hosts of the app" })
    assert.strictEqual(await hosts.innerText(), "https://api.example.org")
    assert.strictEqual(await page.locator("iframe.app").count(), 0)
    await page.getByRole("button", { name: "Start the app" }).click()
    await inner.getByText("note one").waitFor()
  })

  it.each(["attack", "submit"])("reaches neither page nor network nor other servers: %s", options, async (name) => {
    office.reports.length = 0
    await using shown = await showApp(name)
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
    await shown.inner.locator("#out").waitFor({ state: "detached" })
    assert.deepStrictEqual(office.leaked, [])
    assert.strictEqual(office.reports.length, 1)
    assert.strictEqual(new URL(shown.page.url()).pathname, "/office/")
  })

  it("is stopped when it sends too many messages", options, async () => {
    await using shown = await showApp("flood")
    await shown.page.getByText("It was stopped because it sent too many messages.").waitFor()
    assert.strictEqual(await shown.page.locator("iframe.app").count(), 0)
  })

  it("is shown for a captured call of the Agent", options, async () => {
    await using opened = await browser.openUrl(`${office.url}/office/${officeHash(address, "calls")}`)
    await using tried = await showApp("draw")
    await tried.inner.getByText("note one").waitFor()
    const { page } = opened
    await page.getByRole("option").filter({ hasText: "draw" }).first().click()
    await page.getByRole("button", { name: "Show the app" }).click()
    await page.frameLocator("iframe.app").frameLocator("iframe").getByText("result 7").waitFor()
  })
})
