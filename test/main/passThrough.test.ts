import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { computer, office, published, server } from "./offices.ts"
import { a2c, cli } from "./processes.ts"

const host = { name: "host", version: "1" }

/** Clients of both SDKs: of 2025-11-25 over stdio, and of 2026-07-28 over HTTP. */
const withClient = (client: Client | ModernClient, connect: () => Promise<void>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await connect()
      return client
    }),
    () => Effect.promise(() => client.close())
  )

/** Uses everything that an MCP server offers beside tools, under names that begin with `prefix`. */
const useAll = Effect.fnUntraced(function* (client: Client | ModernClient, prefix: string, place: string) {
  const prompts = yield* Effect.promise(() => client.listPrompts())
  const name = `${prefix}args-prompt`
  assert.include(
    prompts.prompts.map((prompt) => prompt.name),
    name
  )
  const got = yield* Effect.promise(() => client.getPrompt({ name, arguments: { city: "Paris" } }))
  assert.include(JSON.stringify(got.messages), "What's weather in Paris?")
  const completed = yield* Effect.promise(() =>
    client.complete({
      ref: { type: "ref/prompt", name: `${prefix}completable-prompt` },
      argument: { name: "department", value: "E" }
    })
  )
  assert.deepStrictEqual(completed.completion.values, ["Engineering"])
  const { resourceTemplates } = yield* Effect.promise(() => client.listResourceTemplates())
  const template = resourceTemplates.map(({ uriTemplate }) => uriTemplate).find((uri) => uri.includes("dynamic/text"))
  assert.isTrue(template?.startsWith(place), template)
  const uri = String(template).replace("{resourceId}", "1")
  const { contents } = yield* Effect.promise(() => client.readResource({ uri }))
  assert.include(JSON.stringify(contents), "plaintext resource")
  assert.strictEqual(contents[0]?.uri, uri)
  const call = { name: `${prefix}get-resource-links`, arguments: { count: 1 } }
  const links = JSON.stringify(yield* Effect.promise<unknown>(() => client.callTool(call)))
  const link = /"uri":"([^"]*)"/.exec(links)?.[1] ?? ""
  assert.isTrue(link.startsWith(place), link)
  const linked = yield* Effect.promise(() => client.readResource({ uri: link }))
  assert.strictEqual(linked.contents.length, 1)
  assert.include(client.getInstructions(), "Instructions of the MCP server")
})

describe("an office for hosts", () => {
  it.live("passes prompts, completion, templates and instructions to clients of both eras, over stdio and HTTP", () =>
    Effect.gen(function* () {
      const there = yield* office
      yield* there.desk.prints("MCP server ready", "stderr", 2)
      const older = new Client(host)
      const stdio = new StdioClientTransport({
        command: process.execPath,
        args: [cli, "agent", "mcp"],
        env: { ...process.env, ...there.environment } as Record<string, string>
      })
      yield* Effect.scoped(
        Effect.flatMap(
          withClient(older, () => older.connect(stdio as Transport)),
          (client) => useAll(client, "desk__", "mcp://desk/everything/demo:")
        )
      )
      const { url } = yield* published(there)
      const newer = new ModernClient(host, { versionNegotiation: { mode: "auto" } })
      const client = yield* withClient(newer, () => newer.connect(new ModernHttp(new URL(url))))
      yield* useAll(client, "desk__", "mcp://desk/everything/demo:")
    })
  )

  it.live("passes them through an office inside an office", () =>
    Effect.gen(function* () {
      const { desk, environment } = yield* office
      yield* desk.prints("MCP server ready", "stderr", 2)
      const url = yield* server
      const gate = yield* computer(url, "outer", "gate", {
        inner: { command: process.execPath, args: [cli, "agent", "mcp"], env: environment }
      })
      yield* gate.prints("MCP server ready", "stderr")
      const outer = ["--server", url, "--office", "outer"]
      const listed = yield* a2c("agent", ...outer, "prompts")
      yield* listed.ended
      assert.include(listed.stdout(), "desk__args-prompt")
      const client = new Client(host)
      const stdio = new StdioClientTransport({
        command: process.execPath,
        args: [cli, "agent", ...outer, "mcp"],
        env: process.env as Record<string, string>
      })
      yield* withClient(client, () => client.connect(stdio as Transport))
      yield* useAll(client, "gate__desk__", "mcp://gate/inner/mcp://desk/everything/demo:")
    })
  )
})
