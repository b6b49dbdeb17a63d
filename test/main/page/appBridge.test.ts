import { assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "../../../src/domain/json.ts"
import { parseAppDomains } from "../../../src/domain/page/apps/appDomains.ts"
import { makeAppBridge } from "../../../src/main/page/views/apps/appBridge.ts"

/** A bridge whose clock stands still, and what it does. */
const makeFixture = (
  callTool: (tool: string, params: JsonObject) => Promise<JsonObject> = async () => ({ content: [] })
) => {
  const sent: Array<JsonObject> = []
  const called: Array<readonly [string, JsonObject]> = []
  const read: Array<string> = []
  const opened: Array<string> = []
  const heights: Array<number> = []
  const failures: Array<readonly [string, string]> = []
  const ends: Array<string> = []
  let loaded = 0
  const bridge = makeAppBridge(
    {
      app: { tools: new Map([["refresh", "desk_refresh"]]), toComputerUri: (uri) => `at ${uri}` },
      content: { html: "<p>", domains: parseAppDomains({}) },
      context: { theme: "dark" },
      call: { params: { a: 1 }, result: { content: [] } },
      send: (message) => void sent.push(message),
      callTool: (tool, params) => {
        called.push([tool, params])
        return callTool(tool, params)
      },
      readResource: async (uri) => {
        read.push(uri)
        return { contents: [] }
      },
      openLink: async (url) => void opened.push(url.href),
      onLoad: () => void loaded++,
      onHeight: (height) => void heights.push(height),
      onFailure: (...failure) => void failures.push(failure),
      onEnd: (reason) => void ends.push(reason)
    },
    () => 0
  )
  const receive = (message: object) => bridge.receive(JSON.stringify({ jsonrpc: "2.0", ...message }))
  let count = 0
  /** The response to a request. */
  const request = async (method: string, params: object = {}) => {
    const id = ++count
    receive({ id, method, params })
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    return sent.find((message) => message["id"] === id)
  }
  return { request, bridge, called, ends, failures, heights, loaded: () => loaded, opened, read, receive, sent }
}

const codeOf = (response: JsonObject | undefined): unknown =>
  (response?.["error"] as { readonly code: number } | undefined)?.code

describe("bridge of an app", () => {
  it("loads the HTML once, and sends input and result once after the app is initialized", async () => {
    const { loaded, receive, request, sent } = makeFixture()
    receive({ method: "ui/notifications/sandbox-proxy-ready" })
    receive({ method: "ui/notifications/sandbox-proxy-ready" })
    assert.deepStrictEqual(sent, [
      { jsonrpc: "2.0", method: "ui/notifications/sandbox-resource-ready", params: { html: "<p>" } }
    ])
    assert.strictEqual(loaded(), 1)
    const initialized = (await request("ui/initialize"))?.["result"] as JsonObject
    assert.deepStrictEqual(
      [initialized["protocolVersion"], initialized["hostContext"]],
      ["2026-01-26", { theme: "dark" }]
    )
    const before = sent.length
    receive({ method: "ui/notifications/initialized" })
    receive({ method: "ui/notifications/initialized" })
    assert.deepStrictEqual(
      sent.slice(before).map(({ method }) => method),
      ["ui/notifications/tool-input", "ui/notifications/tool-result"]
    )
  })

  it("calls tools of its MCP server by their names at the Computer, and no others", async () => {
    const { request, called } = makeFixture()
    assert.deepStrictEqual((await request("tools/call", { name: "refresh", arguments: { n: 1 } }))?.["result"], {
      content: []
    })
    for (const params of [{ name: "desk_refresh" }, { name: "secret" }, {}, { name: "refresh", arguments: [] }]) {
      assert.strictEqual(codeOf(await request("tools/call", params)), -32602)
    }
    assert.deepStrictEqual(called, [["desk_refresh", { n: 1 }]])
  })

  it("reads resources at its MCP server", async () => {
    const { request, read } = makeFixture()
    assert.deepStrictEqual((await request("resources/read", { uri: "note://1" }))?.["result"], { contents: [] })
    assert.strictEqual(codeOf(await request("resources/read", {})), -32602)
    assert.deepStrictEqual(read, ["at note://1"])
  })

  it("opens http and https links only", async () => {
    const { request, opened } = makeFixture()
    for (const url of [
      "javascript:alert(1)",
      "data:text/html,x",
      "file:///etc/passwd",
      "blob:https://a.example/x",
      "",
      7
    ]) {
      assert.strictEqual(codeOf(await request("ui/open-link", { url })), -32602)
    }
    assert.deepStrictEqual((await request("ui/open-link", { url: "https://a.example/b" }))?.["result"], {})
    assert.deepStrictEqual(opened, ["https://a.example/b"])
  })

  it("rejects all other requests", async () => {
    const { request } = makeFixture()
    for (const method of [
      "ui/message",
      "ui/update-model-context",
      "ui/download-file",
      "sampling/createMessage",
      "tools/list"
    ]) {
      assert.strictEqual(codeOf(await request(method)), -32601)
    }
    assert.deepStrictEqual((await request("ping"))?.["result"], {})
  })

  it("tells the operator which requests fail, by their tools or their methods", async () => {
    const { failures, request } = makeFixture(() => Promise.reject(new Error("denied")))
    await request("ui/message", { role: "user", content: [] })
    await request("tools/call", { name: "refresh" })
    await request("ping")
    assert.deepStrictEqual(failures, [
      ["ui/message", "The app sent a message to a conversation, which this page does not have"],
      ["desk_refresh", "denied"]
    ])
  })

  it("limits the requests in progress", async () => {
    const { request, called } = makeFixture(() => new Promise(() => undefined))
    for (let count = 0; count < 4; count++) assert.isUndefined(await request("tools/call", { name: "refresh" }))
    assert.strictEqual(codeOf(await request("tools/call", { name: "refresh" })), -32000)
    assert.strictEqual(called.length, 4)
  })

  it("ends an app that sends too many messages, and answers nothing more", async () => {
    const { ends, receive, request, sent } = makeFixture()
    for (let count = 0; count < 300; count++) receive({ method: "noise" })
    assert.deepStrictEqual(ends, ["It was stopped because it sent too many messages."])
    assert.isUndefined(await request("ping"))
    assert.deepStrictEqual(sent, [])
  })

  it("asks the app to end, and reports its answer", () => {
    const { bridge, ends, receive, sent } = makeFixture()
    receive({ method: "ui/notifications/initialized" })
    bridge.tearDown()
    assert.strictEqual(sent.at(-1)?.["method"], "ui/resource-teardown")
    assert.deepStrictEqual(ends, [])
    receive({ id: "teardown", result: {} })
    assert.deepStrictEqual(ends, ["The app has ended."])
  })

  it("reports heights that are numbers", () => {
    const { heights, receive } = makeFixture()
    for (const height of [10, "20", null, undefined])
      receive({ method: "ui/notifications/size-changed", params: { height } })
    assert.deepStrictEqual(heights, [10])
  })
})
