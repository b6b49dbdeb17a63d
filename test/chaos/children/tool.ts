/**
 * An MCP server on stdio without an SDK. Its tool `mark {id, millis}` writes the id to the journal before it returns
 * it, so that executions can be counted.
 * Usage: tool.ts JOURNAL; the journal gets `start PID`, and `call ID` for each execution.
 */
import { appendFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: {
    readonly protocolVersion?: string
    readonly arguments?: { readonly id?: unknown; readonly millis?: unknown }
  }
}

const [, , journal = ""] = process.argv
const note = (...words: ReadonlyArray<unknown>) => appendFileSync(journal, `${words.join(" ")}\n`)
const answer = (id: Message["id"], result: object) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`)

const inputSchema = {
  type: "object",
  properties: { id: { type: "string" }, millis: { type: "number" } },
  required: ["id"]
}

const handle = async ({ id, method, params }: Message) => {
  if (id === undefined) return
  switch (method ?? "") {
    case "initialize":
      answer(id, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "marks", version: "0" }
      })
      return
    case "tools/list":
      answer(id, { tools: [{ name: "mark", description: "Writes an id to the journal", inputSchema }] })
      return
    case "tools/call": {
      const { id: mark, millis } = params?.arguments ?? {}
      note("call", mark)
      await sleep(Number(millis ?? 0))
      answer(id, { content: [{ type: "text", text: String(mark) }] })
      return
    }
    case "ping":
      answer(id, {})
      return
    default:
      process.stdout.write(
        `${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: `no ${method}` } })}\n`
      )
  }
}

note("start", process.pid)
for await (const line of createInterface({ input: process.stdin })) {
  void handle(JSON.parse(line) as Message)
}
