import { fileURLToPath } from "node:url"
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client"
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { a2cInProcess } from "./cli/inProcess.ts"
import { board, computer, type Office, office, published, server, waits } from "./offices.ts"
import { cli, run } from "./processes.ts"

/** Operations of a client of either SDK. */
interface Host {
  readonly tools: () => Promise<ReadonlyArray<{ readonly name: string }>>
  readonly call: (name: string, args: object, signal?: AbortSignal) => Promise<string>
  readonly subscribe: (uri: string) => Promise<unknown>
  readonly read: (uri: string) => Promise<string>
  readonly resources: () => Promise<ReadonlyArray<{ readonly uri: string; readonly name: string }>>
  readonly updated: Deferred.Deferred<string>
  readonly close: () => Promise<void>
}

const textIn = (value: unknown): string => JSON.stringify(value)

const older = async (transport: Transport, onResources = () => {}): Promise<Host> => {
  const client = new Client({ name: "older", version: "1" })
  const updated = Deferred.makeUnsafe<string>()
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === "notifications/resources/updated") {
      Deferred.doneUnsafe(updated, Exit.succeed(String(params?.["uri"])))
    }
    if (method === "notifications/resources/list_changed") onResources()
  }
  await client.connect(transport)
  return {
    updated,
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, signal) =>
      textIn(await client.callTool({ name, arguments: { ...args } }, undefined, signal && { signal })),
    subscribe: (uri) => client.subscribeResource({ uri }),
    read: async (uri) => textIn(await client.readResource({ uri })),
    resources: async () => (await client.listResources()).resources,
    close: () => client.close()
  }
}

const newer = async (transport: ModernStdio | ModernHttp): Promise<Host> => {
  const client = new ModernClient({ name: "newer", version: "1" })
  const updated = Deferred.makeUnsafe<string>()
  client.setNotificationHandler("notifications/resources/updated", async ({ params: { uri } }) => {
    Deferred.doneUnsafe(updated, Exit.succeed(uri))
  })
  await client.connect(transport)
  return {
    updated,
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, signal) =>
      textIn(await client.callTool({ name, arguments: { ...args } }, signal && { signal })),
    subscribe: (uri) => client.subscribeResource({ uri }),
    read: async (uri) => textIn(await client.readResource({ uri })),
    resources: async () => (await client.listResources()).resources,
    close: () => client.close()
  }
}

const opened = (open: () => Promise<Host>) =>
  Effect.acquireRelease(Effect.promise(open), ({ close }) => Effect.promise(close))

/** Lists, calls, cancels and subscribes as the n-th client of an office. */
const useOffice = (there: Office, nth: number, open: () => Promise<Host>) =>
  Effect.gen(function* () {
    const host = yield* opened(open)
    const names = (yield* Effect.promise(host.tools)).map(({ name }) => name)
    assert.includeMembers(names, ["computers_list", "desktop_get", "desk__echo", "lab__add_note"])
    assert.include(yield* Effect.promise(() => host.call("desk__echo", { message: "hi" })), "Echo: hi")

    const abort = yield* Effect.sync(() => new AbortController())
    const slow = yield* Effect.forkChild(
      Effect.exit(Effect.tryPromise(() => host.call("desk__wait", {}, abort.signal))),
      { startImmediately: true }
    )
    yield* waits(there, { started: nth, cancelled: nth - 1 })
    yield* Effect.sync(() => abort.abort())
    assert.isTrue(Exit.isFailure(yield* Fiber.join(slow)))
    yield* waits(there, { started: nth, cancelled: nth })

    yield* Effect.promise(() => host.subscribe(board))
    yield* Effect.promise(() => host.call("lab__add_note", { text: "water the plants" }))
    assert.strictEqual(yield* Deferred.await(host.updated), board)
    assert.include(yield* Effect.promise(() => host.read(board)), "water the plants")
    yield* Effect.promise(() => host.call("lab__clear_notes", {}))

    const feature = (yield* Effect.promise(host.resources)).find(({ name }) => name === "desk/everything/features.md")
    const uri = "mcp://desk/everything/demo://resource/static/document/features.md"
    assert.strictEqual(feature?.uri, uri)
    assert.include(yield* Effect.promise(() => host.read(uri)), "Everything Server")
  }).pipe(Effect.scoped)

const rowsServer = fileURLToPath(new URL("../fixtures/rowsServer.ts", import.meta.url))

/** Reads a large result of a tool with an `outputSchema`, by the tool of the office and as a resource. */
const readLargeResult = (open: () => Promise<Host>) =>
  Effect.gen(function* () {
    const { call, read, tools } = yield* opened(open)
    // The clients validate the results of listed tools.
    yield* Effect.promise(tools)
    const small: { readonly structuredContent?: unknown } = JSON.parse(
      yield* Effect.promise(() => call("desk__rows", { count: 2 }))
    )
    assert.deepStrictEqual(small.structuredContent, { rows: [{ id: 0 }, { id: 1 }] })

    const whole = JSON.stringify({ rows: Array.from({ length: 1500 }, (_, id) => ({ id })) })
    const limited: { readonly content: ReadonlyArray<{ readonly text?: string; readonly uri?: string }> } = JSON.parse(
      yield* Effect.promise(() => call("desk__rows", { count: 1500 }))
    )
    const [beginning = "", summary = "", uri = ""] = limited.content.map(({ text, uri: link }) => text ?? link)
    assert.isTrue(whole.startsWith(beginning))
    assert.include(summary, "JSON object with rows (array of 1500).")
    const [, next = "{}"] = /result_read with (\{.*?\})/.exec(summary) ?? []
    const page = yield* Effect.promise(() => call("result_read", JSON.parse(next) as object))
    assert.include(page, `of ${String(whole.length).replace(/(\d{3})$/, ",$1")}.`)
    let pages = ""
    for (let at: string | undefined = uri; at !== undefined; ) {
      const current = at
      const { contents } = JSON.parse(yield* Effect.promise(() => read(current))) as {
        readonly contents: ReadonlyArray<{ readonly text: string; readonly _meta: { readonly a2c_next_uri?: string } }>
      }
      pages += contents[0]?.text ?? ""
      at = contents[0]?._meta.a2c_next_uri
    }
    assert.strictEqual(pages, whole)
  }).pipe(Effect.scoped)

const command = ({ environment }: Pick<Office, "environment">, ...options: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: [cli, "agent", "mcp", ...options],
  env: { PATH: process.env["PATH"] ?? "", ...environment },
  stderr: "ignore" as const
})

describe("office as an MCP server", () => {
  it.live("serves list, call, cancel and subscribe to clients of both SDKs over stdio", () =>
    Effect.gen(function* () {
      const there = yield* office
      yield* useOffice(there, 1, () => older(new StdioClientTransport(command(there))))
      yield* useOffice(there, 2, () => newer(new ModernStdio(command(there))))
    })
  )

  it.live("serves list, call, cancel and subscribe to clients of both SDKs over HTTP", () =>
    Effect.gen(function* () {
      const there = yield* office
      const { bridge, url } = yield* published(there)
      const at = new URL(url)
      yield* useOffice(there, 1, () => older(new StreamableHTTPClientTransport(at) as Transport))
      yield* useOffice(there, 2, () => newer(new ModernHttp(at)))
      yield* bridge.signal("SIGTERM")
      yield* bridge.ended
    })
  )

  it.live("announces a resource that an MCP server adds, and lists it", () =>
    Effect.gen(function* () {
      const there = yield* office
      const changed = Deferred.makeUnsafe<void>()
      const onResources = () => Deferred.doneUnsafe(changed, Exit.void)
      const { call, read, resources } = yield* opened(() =>
        older(new StdioClientTransport(command(there)), onResources)
      )
      const gzip = { name: "hi.gz", data: "data:text/plain,hi", outputType: "resourceLink" }
      yield* Effect.promise(() => call("desk__gzip-file-as-resource", gzip))
      yield* Deferred.await(changed)
      const uri = "mcp://desk/everything/demo://resource/session/hi.gz"
      assert.include(
        (yield* Effect.promise(resources)).map((listed) => listed.uri),
        uri
      )
      assert.include(yield* Effect.promise(() => read(uri)), "H4sI")
    })
  )

  it.live("shows search tools and pinned tools with --tools search, and calls both", () =>
    Effect.gen(function* () {
      const pins = ["--pin", "desk/ech*", "--pin", "clear_*"]
      const searched = command(yield* office, "--tools", "search", ...pins)
      const { call, tools } = yield* opened(() => older(new StdioClientTransport(searched)))
      assert.sameMembers(
        (yield* Effect.promise(tools)).map(({ name }) => name),
        [
          "computers_list",
          "desktop_get",
          "tools_search",
          "tools_describe",
          "tools_call",
          "desk__echo",
          "lab__clear_notes"
        ]
      )
      const found = yield* Effect.promise(() => call("tools_search", { query: "put a note", limit: 1 }))
      assert.include(found, "lab__add_note: Put a note on the board")
      const note = { name: "lab__add_note", arguments: { text: "found" } }
      assert.include(yield* Effect.promise(() => call("tools_call", note)), "Note 1 is on the board.")
      assert.include(yield* Effect.promise(() => call("desk__echo", { message: "hi" })), "Echo: hi")
    })
  )

  it.live("limits large results for clients of both SDKs, which read them on", () =>
    Effect.gen(function* () {
      const url = yield* server
      yield* computer(url, "team", "desk", { rows: { command: process.execPath, args: [rowsServer] } })
      const environment = { A2C_SERVER: url, A2C_OFFICE: "team", A2C_NAME: "bridge", A2C_MCP_MAX_RESULT: "4KiB" }
      yield* readLargeResult(() => older(new StdioClientTransport(command({ environment }))))
      yield* readLargeResult(() => newer(new ModernStdio(command({ environment }))))
    })
  )

  it.live("serves another Computer as an MCP server, tools included", () =>
    Effect.gen(function* () {
      const { environment } = yield* office
      const url = yield* server
      yield* computer(url, "outer", "gate", {
        inner: { command: process.execPath, args: [cli, "agent", "mcp"], env: environment }
      })
      const outer = ["--server", url, "--office", "outer"]
      const called = yield* run("agent", ...outer, "call", "desk__echo", "--args", '{"message":"through both"}')
      assert.deepStrictEqual([called.code, called.stdout], [0, "Echo: through both\n"])
      assert.include((yield* run("agent", ...outer, "desktop")).stdout, "window://lab.a2c.demo.notes/board")
    })
  )

  it.live("prints the configuration of a host", () =>
    Effect.gen(function* () {
      const place = ["--server", "http://127.0.0.1:7070", "--office", "team", "--name", "bridge"]
      const claude = yield* run("agent", ...place, "mcp", "config", "claude")
      assert.strictEqual(claude.code, 0)
      assert.deepStrictEqual(JSON.parse(claude.stdout), {
        mcpServers: {
          "office-team": {
            type: "stdio",
            command: "npx",
            args: ["-y", "a2c-cli", "agent", "mcp"],
            env: { A2C_SERVER: "http://127.0.0.1:7070", A2C_OFFICE: "team", A2C_NAME: "bridge" }
          }
        }
      })
      const vscode = yield* run("agent", ...place, "mcp", "config", "vscode", "--url", "http://127.0.0.1:1/mcp")
      assert.include(vscode.stdout, '"servers"')
      const wrong = yield* run("agent", ...place, "mcp", "config", "emacs")
      assert.strictEqual(wrong.code, 1)
      assert.include(wrong.stderr, "Unknown host 'emacs': expected one of ")
    })
  )

  it.live("prints a link that installs the office in a host", () =>
    Effect.gen(function* () {
      const place = ["--server", "http://127.0.0.1:7070", "--office", "团队 1", "--name", "bridge"]
      const linkFor = (host: string, ...flags: ReadonlyArray<string>) =>
        a2cInProcess("agent", ...place, "mcp", "config", host, "--link", ...flags)
      const cursor = URL.parse((yield* linkFor("cursor")).stdout)
      const entry = {
        type: "stdio",
        command: "npx",
        args: ["-y", "a2c-cli", "agent", "mcp"],
        env: { A2C_SERVER: "http://127.0.0.1:7070", A2C_OFFICE: "团队 1", A2C_NAME: "bridge" }
      }
      assert.strictEqual(cursor?.href.split("?")[0], "cursor://anysphere.cursor-deeplink/mcp/install")
      assert.strictEqual(cursor?.searchParams.get("name"), "office-团队 1")
      const config = Buffer.from(cursor?.searchParams.get("config") ?? "", "base64").toString()
      assert.deepStrictEqual(JSON.parse(config), entry)

      const code = (yield* linkFor("vscode", "--url", "http://127.0.0.1:1/mcp")).stdout.trimEnd()
      assert.isTrue(code.startsWith("vscode:mcp/install?"))
      const decoded: unknown = JSON.parse(decodeURIComponent(code.slice(code.indexOf("?") + 1)))
      assert.deepStrictEqual(decoded, { name: "office-团队 1", type: "http", url: "http://127.0.0.1:1/mcp" })
      assert.include(String((yield* linkFor("claude")).failure), "Claude for Desktop has no install links")
    })
  )
})
