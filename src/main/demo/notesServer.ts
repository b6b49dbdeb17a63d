/** An MCP server over stdio with a window: a board of notes at `window://a2c.demo.notes/board`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { publishStdio } from "../../adapters/mcp/publish/publishStdio.ts"
import { formatQuantity } from "../../domain/text/format.ts"
import { makeWebFunctions } from "../layers/webFunctions.ts"

const notes: Array<string> = []

const manual = `# The board of notes

The tools of this MCP server change two **windows**, which the Agent sees on the desktop of the Computer:

1. \`add_note\` puts a note on the board.
2. \`clear_notes\` takes all notes off it. It needs the consent of the Computer.

This text is a **document**: an Agent finds it by its keywords, and reads it.
`

const serve = Effect.gen(function* () {
  const { changed, session } = yield* makeWebFunctions({
    name: "a2c.demo.notes",
    tools: [
      {
        name: "add_note",
        description: "Put a note on the board",
        params: {
          type: "object",
          properties: { text: { type: "string", description: "text of the note", minLength: 1 } },
          required: ["text"]
        },
        annotations: { readOnlyHint: false, destructiveHint: false },
        run: ({ text }) => {
          notes.push(String(text))
          notifyWindows()
          return `Note ${notes.length} is on the board.`
        }
      },
      {
        name: "clear_notes",
        description: "Take all notes off the board",
        run: () => {
          notes.length = 0
          notifyWindows()
          return "The board is empty now."
        }
      }
    ],
    windows: [
      { name: "board", priority: 80, text: () => notes.map((note) => `- ${note}`).join("\n") || "The board is empty." },
      { name: "status", text: () => `${formatQuantity(notes.length, "note")} on the board` }
    ],
    documents: [
      {
        name: "manual.md",
        title: "The board of notes",
        mimeType: "text/markdown",
        pages: 1,
        keywords: ["notes", "manual"],
        read: () => manual
      }
    ]
  })
  const notifyWindows = () => ["board", "status"].forEach(changed)
  yield* publishStdio(session)
})

NodeRuntime.runMain(Effect.scoped(serve))
