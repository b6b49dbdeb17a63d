import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { appMimeType } from "../../src/domain/tools/appTools.ts"
import { runComputer, runServer } from "../../src/main/entrypoints/promise.ts"
import { a2cInProcess } from "../main/cli/inProcess.ts"
import { a2c, cli } from "../main/processes.ts"

const require = createRequire(import.meta.url)
const monitorPackage = require.resolve("@modelcontextprotocol/server-system-monitor")
const monitor = join(dirname(monitorPackage), "index.js")

const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [appMimeType] } }

/** An office with the MCP server of an app. */
const office = Effect.gen(function* () {
  const { url } = yield* Effect.acquireRelease(
    Effect.promise(() => runServer({ authenticate: "allowAll" })),
    (one) => Effect.promise(() => one.close())
  )
  const server = {
    type: "stdio",
    default_tool_meta: { auto_apply: true },
    server_parameters: { command: process.execPath, args: [monitor, "--stdio"] }
  }
  const computer = yield* Effect.acquireRelease(
    Effect.promise(() => runComputer({ url, office: "o", name: "desk", config: { servers: { monitor: server } } })),
    (one) => Effect.promise(() => one.close())
  )
  yield* Effect.promise(async () => {
    for await (const servers of computer.changes()) if (servers.get("monitor")?._tag === "Ready") break
  })
  return ["agent", "--server", url, "--office", "o"]
})

interface Host {
  readonly listTools: () => Promise<{
    readonly tools: ReadonlyArray<{ readonly name: string; readonly _meta?: object | undefined }>
  }>
  readonly callTool: (call: { name: string }) => Promise<object>
  readonly readResource: (resource: { uri: string }) => Promise<{ readonly contents: ReadonlyArray<object> }>
}

/** Uses the app as a host does. */
const useApp = Effect.fnUntraced(function* (host: Host) {
  const { tools } = yield* Effect.promise(() => host.listTools())
  const uiOf = (name: string) => {
    const { _meta = {} } = tools.find((tool) => tool.name === name) ?? {}
    return "ui" in _meta ? (_meta.ui as { readonly resourceUri: string; readonly visibility?: unknown }) : undefined
  }
  const uri = uiOf("desk__get-system-info")?.resourceUri ?? ""
  assert.match(uri, /^ui:\/\/desk\/monitor\//)
  assert.deepStrictEqual(uiOf("desk__poll-system-stats")?.visibility, ["app"])
  const { contents } = yield* Effect.promise(() => host.readResource({ uri }))
  assert.deepInclude(contents[0], { uri, mimeType: appMimeType })
  // The app knows this name only.
  for (const name of ["poll-system-stats", "desk__poll-system-stats"]) {
    const result = yield* Effect.promise(() => host.callTool({ name }))
    assert.include(JSON.stringify(result), "uptime")
  }
})

describe("a2c agent mcp with an app of a published MCP server", () => {
  it.live("gives it to a host over stdio", () =>
    Effect.gen(function* () {
      const args = yield* office
      const connect = (capabilities: object) =>
        Effect.acquireRelease(
          Effect.promise(async () => {
            const client = new Client({ name: "host", version: "1" }, { capabilities })
            await client.connect(new StdioClientTransport({ command: process.execPath, args: [cli, ...args, "mcp"] }))
            return client
          }),
          (client) => Effect.promise(() => client.close())
        )
      yield* Effect.scoped(Effect.flatMap(connect({ extensions }), (client) => useApp(client as unknown as Host)))
      const plain = yield* connect({})
      const { tools } = yield* Effect.promise(() => plain.listTools())
      const names = tools.map(({ name }) => name)
      assert.include(names, "desk__get-system-info")
      assert.notInclude(names, "desk__poll-system-stats")
    }).pipe(Effect.scoped)
  )

  it.live("gives it to a host of MCP 2026-07-28 over HTTP", () =>
    Effect.gen(function* () {
      const bridge = yield* a2c(...(yield* office), "mcp", "--http", "0", "--no-page")
      const printed = yield* bridge.prints("publishing office o at ")
      const client = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const options = { capabilities: { extensions }, versionNegotiation: { mode: "auto" } } as const
          const made = new ModernClient({ name: "host", version: "1" }, options)
          await made.connect(new ModernHttp(new URL(printed.replace("publishing office o at ", ""))))
          return made
        }),
        (made) => Effect.promise(() => made.close())
      )
      assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
      yield* useApp(client as unknown as Host)
    }).pipe(Effect.scoped)
  )
})

describe("a2c agent with an app of a published MCP server", () => {
  it.live("prints where to see it, and lists its tools on request", () =>
    Effect.gen(function* () {
      const args = yield* office
      const called = yield* a2cInProcess(...args, "call", "poll-system-stats")
      assert.include(called.stdout, "uptime")
      const shown = yield* a2cInProcess(...args, "call", "get-system-info")
      assert.match(shown.stderr, /a2c: the tool has an app, .*\/office\/\n/)
      const listed = yield* a2cInProcess(...args, "tools")
      assert.notInclude(listed.stdout, "poll-system-stats")
      assert.include((yield* a2cInProcess(...args, "tools", "--apps")).stdout, "poll-system-stats")
    }).pipe(Effect.scoped)
  )
})
