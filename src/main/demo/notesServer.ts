/** An MCP server over stdio with a window: a board of notes at `window://a2c.demo.notes/board`. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import {
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema
} from "@modelcontextprotocol/sdk/types.js"
import { packageVersion } from "../../domain/packageVersion.ts"
import { formatQuantity } from "../../application/shared/formatQuantity.ts"

const board = "window://a2c.demo.notes/board?priority=80"
const manual = "dpe://a2c.demo.notes/manual"
const statusWindow = "window://a2c.demo.notes/status"

const server = new Server(
  { name: "a2c-demo-notes", version: packageVersion },
  { capabilities: { tools: {}, resources: { subscribe: true, listChanged: true } } }
)

const notes: Array<string> = []
const subscribed = new Set<string>()

const manualText = `# The board of notes

The tools of this MCP server change two **windows**, which the Agent sees on the desktop of the Computer:

1. \`add_note\` puts a note on the board.
2. \`clear_notes\` takes all notes off it. It needs the consent of the Computer.

This text is a **document**: an Agent finds it by its keywords, and reads it.
`

const contents = (uri: string): string => {
  if (uri === manual) return manualText
  if (uri === statusWindow) return `${formatQuantity(notes.length, "note")} on the board`
  return notes.length === 0 ? "The board is empty." : notes.map((note) => `- ${note}`).join("\n")
}

const notifySubscribers = async () => {
  for (const uri of [board, statusWindow]) {
    if (subscribed.has(uri)) await server.sendResourceUpdated({ uri })
  }
}

server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: [
    {
      name: "add_note",
      description: "Put a note on the board",
      inputSchema: {
        type: "object",
        properties: { text: { type: "string", description: "text of the note" } },
        required: ["text"]
      },
      annotations: { readOnlyHint: false, destructiveHint: false }
    },
    { name: "clear_notes", description: "Take all notes off the board", inputSchema: { type: "object" } }
  ]
}))

server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  const { arguments: args = {}, name } = params
  const { text } = args
  if (name === "clear_notes") {
    notes.length = 0
    await notifySubscribers()
    return { content: [{ type: "text", text: "The board is empty now." }] }
  }
  if (name !== "add_note") return { content: [{ type: "text", text: `Unknown tool: ${name}` }], isError: true }
  if (typeof text !== "string" || text === "") {
    return { content: [{ type: "text", text: "text: expected a string that is not empty" }], isError: true }
  }
  notes.push(text)
  await notifySubscribers()
  return { content: [{ type: "text", text: `Note ${notes.length} is on the board.` }] }
})

server.setRequestHandler(ListResourcesRequestSchema, async () => ({
  resources: [
    ...[board, statusWindow].map((uri) => ({ uri, name: uri, mimeType: "text/plain" })),
    {
      uri: manual,
      name: "The board of notes",
      mimeType: "text/markdown",
      _meta: { page_count: 1, file_type: "md", keywords: ["notes", "manual"] }
    }
  ]
}))

server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => ({
  contents: [{ uri, mimeType: uri === manual ? "text/markdown" : "text/plain", text: contents(uri) }]
}))

server.setRequestHandler(SubscribeRequestSchema, async ({ params: { uri } }) => {
  subscribed.add(uri)
  return {}
})

server.setRequestHandler(UnsubscribeRequestSchema, async ({ params: { uri } }) => {
  subscribed.delete(uri)
  return {}
})

await server.connect(new StdioServerTransport())
