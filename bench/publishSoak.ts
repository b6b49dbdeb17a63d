/**
 * Measures whether the memory of a published session stays flat: 10 000 changes of its tools, and 10 000 short clients.
 * A client of revision 2026-07-28 lists the tools after each change; older clients get notifications over stdio and HTTP.
 * Usage: node bench/publishSoak.ts [ROUNDS]
 */
import { PassThrough } from "node:stream"
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttpTransport
} from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { Effect } from "effect"
import { publishHttp } from "../src/adapters/mcp/publish/http/publishHttp.ts"
import { publishStdio } from "../src/adapters/mcp/publish/publishStdio.ts"
import { makeMemoryMcpServer } from "../src/adapters/memory/MemoryMcp.ts"
import { soak } from "./soak.ts"

const rounds = Number(process.argv[2] ?? 10_000)

const tool = (name: string) => ({
  definition: { name, description: "x".repeat(1000), inputSchema: { type: "object" } },
  run: () => Effect.succeed({ content: [] })
})

const usual = {
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream"
}
const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "soak", version: "0" } }
})

/** Opens and closes a session. */
const joinAndLeave = async (url: string) => {
  const begun = await fetch(url, { method: "POST", headers: usual, body: initialize })
  await begun.text()
  const headers = { ...usual, "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" }
  const ended = await fetch(url, { method: "DELETE", headers })
  await ended.text()
}

const program = Effect.gen(function* () {
  const server = yield* makeMemoryMcpServer({ tools: [tool("t")] })
  const session = yield* server.connect
  const { url } = yield* publishHttp(session, { port: 0, token: "allowAll" })
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  yield* Effect.forkScoped(publishStdio(session, { stdin, stdout }))

  let notified = 0
  const older = new Client({ name: "older", version: "0" })
  older.fallbackNotificationHandler = async () => void notified++
  yield* Effect.promise(() => older.connect(new StdioServerTransport(stdout, stdin)))
  const younger = new ModernClient({ name: "younger", version: "0" }, { versionNegotiation: { mode: "auto" } })
  younger.setNotificationHandler("notifications/tools/list_changed", () => void notified++)
  yield* Effect.promise(() => younger.connect(new ModernHttpTransport(new URL(url))))
  yield* Effect.promise(() => younger.listen({ toolsListChanged: true }))

  yield* soak("changes", rounds, (round) =>
    Effect.andThen(
      server.setTools([tool(`tool${round}`)]),
      Effect.promise(() => younger.request({ method: "tools/list" }))
    )
  )
  yield* soak("joins", rounds, () => Effect.promise(() => joinAndLeave(url)))
  process.stdout.write(`${notified} notifications\n`)
  yield* Effect.promise(() => Promise.all([older.close(), younger.close()]))
})

await Effect.runPromise(Effect.scoped(program))
