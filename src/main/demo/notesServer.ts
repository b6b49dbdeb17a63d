/** An MCP server over stdio with a window: a board of notes at `window://a2c.demo.notes/board`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { publishStdio } from "../../adapters/mcp/publish/publishStdio.ts"
import { makeMemoryMcpServer } from "../../adapters/memory/MemoryMcp.ts"
import { formatQuantity } from "../../domain/text/format.ts"
import { packageVersion } from "../../domain/packageVersion.ts"

const notes: Array<string> = []

const manualText = `# The board of notes

The tools of this MCP server change two **windows**, which the Agent sees on the desktop of the Computer:

1. \`add_note\` puts a note on the board.
2. \`clear_notes\` takes all notes off it. It needs the consent of the Computer.

This text is a **document**: an Agent finds it by its keywords, and reads it.
`

const resourceOf = (uri: string, read: () => string, more: object = {}) => {
  const definition = { uri, name: uri, mimeType: "text/plain", ...more }
  return { definition, read: Effect.sync(() => [{ uri, mimeType: definition.mimeType, text: read() }]) }
}

const windows = [
  resourceOf("window://a2c.demo.notes/board?priority=80", () =>
    notes.length === 0 ? "The board is empty." : notes.map((note) => `- ${note}`).join("\n")
  ),
  resourceOf("window://a2c.demo.notes/status", () => `${formatQuantity(notes.length, "note")} on the board`)
]

const manual = resourceOf("dpe://a2c.demo.notes/manual", () => manualText, {
  name: "The board of notes",
  mimeType: "text/markdown",
  _meta: { page_count: 1, file_type: "md", keywords: ["notes", "manual"] }
})

const resultOf = (text: string) => ({ content: [{ type: "text", text }] })

const serve = Effect.gen(function* () {
  const resources = [...windows, manual]
  const { connect, notify, setTools } = yield* makeMemoryMcpServer({ name: "a2c-demo-notes", resources })
  const notifyWindows = Effect.forEach(windows, ({ definition: { uri } }) => notify({ _tag: "ResourceUpdated", uri }))
  yield* setTools([
    {
      definition: {
        name: "add_note",
        description: "Put a note on the board",
        inputSchema: {
          type: "object",
          properties: { text: { type: "string", description: "text of the note" } },
          required: ["text"]
        },
        annotations: { readOnlyHint: false, destructiveHint: false }
      },
      run: ({ text }) => {
        if (typeof text !== "string" || text === "") {
          return Effect.succeed({ ...resultOf("text: expected a string that is not empty"), isError: true })
        }
        notes.push(text)
        return Effect.as(notifyWindows, resultOf(`Note ${notes.length} is on the board.`))
      }
    },
    {
      definition: {
        name: "clear_notes",
        description: "Take all notes off the board",
        inputSchema: { type: "object" }
      },
      run: () => {
        notes.length = 0
        return Effect.as(notifyWindows, resultOf("The board is empty now."))
      }
    }
  ])
  const session = yield* connect
  yield* publishStdio({ ...session, info: { ...session.info, version: packageVersion } })
})

NodeRuntime.runMain(Effect.scoped(serve))
