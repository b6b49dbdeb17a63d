/** An MCP server with an app: a tool whose result has a user interface, and a tool that only the app calls. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"

const uri = "ui://counter/page"
const mimeType = "text/html;profile=mcp-app"

// The app exchanges JSON-RPC messages with its host, which shows it in a sandbox without a network.
const page = `<!doctype html>
<p>Count: <b id="count"></b></p>
<button id="add">Add one</button>
<script type="module">
  const replies = new Map()
  const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*")
  const request = (method, params) =>
    new Promise((resolve) => {
      const id = replies.size
      replies.set(id, resolve)
      send({ id, method, params })
    })
  const show = ({ structuredContent }) => {
    document.getElementById("count").textContent = structuredContent.count
  }
  addEventListener("message", ({ data }) => {
    if (data.method === "ui/notifications/tool-result") show(data.params)
    else replies.get(data.id)?.(data.result)
  })
  document.getElementById("add").onclick = async () => {
    show(await request("tools/call", { name: "add_one", arguments: {} }))
  }
  const appInfo = { name: "counter", version: "1.0.0" }
  await request("ui/initialize", { protocolVersion: "2026-01-26", appInfo, appCapabilities: {} })
  send({ method: "ui/notifications/initialized" })
</script>`

let count = 0
const result = () => ({
  content: [{ type: "text" as const, text: `The count is ${count}` }],
  structuredContent: { count }
})

const server = new McpServer({ name: "counter", version: "1.0.0" })
server.registerResource("counter", uri, { mimeType }, () => ({ contents: [{ uri, mimeType, text: page }] }))
server.registerTool("get_count", { description: "Shows the count", _meta: { ui: { resourceUri: uri } } }, result)
server.registerTool("add_one", { description: "Adds one", _meta: { ui: { visibility: ["app"] } } }, () => {
  count += 1
  return result()
})
await server.connect(new StdioServerTransport())
