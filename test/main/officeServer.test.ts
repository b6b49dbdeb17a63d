import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp
} from "@modelcontextprotocol/client"
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, type Scope } from "effect"
import { a2c, temporaryFile } from "./processes.ts"

const require = createRequire(import.meta.url)
const everything = require.resolve("@modelcontextprotocol/server-everything/dist/index.js")
const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const notes = fromHere("../../src/main/demo/notesServer.ts")
const cli = fromHere("../../src/main/cli.ts")
const inspector = fromHere("../../node_modules/.bin/mcp-inspector")

/** Two minutes: some of these tests start ten processes on a machine that is busy with others. */
const patience = 120_000
const live = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(body), patience)

const server = Effect.gen(function* () {
  const process = yield* a2c("server", "--port", "0")
  return (yield* process.says("listening on ")).replace("listening on ", "")
})

const computer = Effect.fnUntraced(function* (url: string, office: string, name: string, mcpServers: object) {
  const config = yield* temporaryFile("mcp.json", JSON.stringify({ mcpServers }))
  const place = ["--server", url, "--office", office, "--name", name]
  const process = yield* a2c("computer", ...place, "--config", config, "--approve", "*")
  yield* process.says("joined office")
})

/** An office of two Computers with real MCP servers, and the variables by which others find it. */
const office = Effect.gen(function* () {
  const url = yield* server
  yield* computer(url, "team", "desk", { everything: { command: process.execPath, args: [everything] } })
  yield* computer(url, "team", "lab", { notes: { command: process.execPath, args: [notes] } })
  return { A2C_SERVER: url, A2C_OFFICE: "team", A2C_NAME: "bridge" }
})

type Environment = { readonly [name: string]: string }

/** What the tests do with a client of either SDK. */
interface Host {
  readonly tools: () => Promise<ReadonlyArray<{ readonly name: string }>>
  readonly call: (name: string, args: object, signal?: AbortSignal) => Promise<string>
  readonly subscribe: (uri: string) => Promise<unknown>
  readonly read: (uri: string) => Promise<string>
  readonly updated: Deferred.Deferred<string>
  readonly close: () => Promise<void>
}

const textIn = (value: unknown): string => JSON.stringify(value)

const older = async (transport: Transport): Promise<Host> => {
  const client = new Client({ name: "older", version: "1" })
  const updated = Deferred.makeUnsafe<string>()
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === "notifications/resources/updated") {
      Deferred.doneUnsafe(updated, Exit.succeed(String(params?.["uri"])))
    }
  }
  await client.connect(transport)
  return {
    updated,
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, signal) =>
      textIn(await client.callTool({ name, arguments: { ...args } }, undefined, signal && { signal })),
    subscribe: (uri) => client.subscribeResource({ uri }),
    read: async (uri) => textIn(await client.readResource({ uri })),
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
    close: () => client.close()
  }
}

/** Lists, calls, cancels and subscribes. */
const useOffice = (open: () => Promise<Host>) =>
  Effect.gen(function* () {
    const host = yield* Effect.acquireRelease(Effect.promise(open), ({ close }) => Effect.promise(close))
    const names = (yield* Effect.promise(host.tools)).map(({ name }) => name)
    assert.includeMembers(names, ["computers_list", "desktop_get", "desk__echo", "lab__add_note"])
    assert.include(yield* Effect.promise(() => host.call("desk__echo", { message: "hi" })), "Echo: hi")

    const abort = yield* Effect.sync(() => new AbortController())
    const slow = host.call("desk__trigger-long-running-operation", { duration: 60, steps: 60 }, abort.signal)
    const given = Effect.exit(Effect.tryPromise(() => slow))
    yield* Effect.sync(() => setTimeout(() => abort.abort(), 300))
    assert.isTrue(Exit.isFailure(yield* given))

    const window = "window://lab.a2c.demo.notes/board?priority=80"
    yield* Effect.promise(() => host.subscribe(window))
    yield* Effect.promise(() => host.call("lab__add_note", { text: "water the plants" }))
    assert.strictEqual(yield* Deferred.await(host.updated), window)
    assert.include(yield* Effect.promise(() => host.read(window)), "water the plants")
    yield* Effect.promise(() => host.call("lab__clear_notes", {}))
  }).pipe(Effect.scoped)

const command = (environment: Environment) => ({
  command: process.execPath,
  args: [cli, "agent", "mcp"],
  env: { PATH: process.env["PATH"] ?? "", ...environment },
  stderr: "ignore" as const
})

describe("an office as an MCP server", () => {
  live(
    "clients of both SDKs list, call, cancel and subscribe over stdio",
    Effect.gen(function* () {
      const environment = yield* office
      yield* useOffice(() => older(new StdioClientTransport(command(environment))))
      yield* useOffice(() => newer(new ModernStdio(command(environment))))
    })
  )

  live(
    "clients of both SDKs list, call, cancel and subscribe over HTTP",
    Effect.gen(function* () {
      const { A2C_NAME, A2C_OFFICE, A2C_SERVER } = yield* office
      const place = ["--server", A2C_SERVER, "--office", A2C_OFFICE, "--name", A2C_NAME]
      const bridge = yield* a2c("agent", ...place, "mcp", "--http", "0")
      const said = yield* bridge.says("publishing office team at ")
      const url = new URL(said.replace("publishing office team at ", ""))
      yield* useOffice(() => older(new StreamableHTTPClientTransport(url) as Transport))
      yield* useOffice(() => newer(new ModernHttp(url)))
      yield* bridge.signal("SIGTERM")
      yield* bridge.ended
    })
  )

  live(
    "the inspector's command line lists and calls, over stdio and HTTP",
    Effect.gen(function* () {
      const environment = yield* office
      const inspect = (...args: ReadonlyArray<string>) =>
        Effect.promise(
          async () => (await promisify(execFile)(process.execPath, [inspector, "--cli", ...args])).stdout
        )
      const variables = Object.entries(environment).flatMap(([name, value]) => ["-e", `${name}=${value}`])
      const overStdio = [...variables, process.execPath, cli, "agent", "mcp"]
      assert.include(yield* inspect(...overStdio, "--method", "tools/list"), '"lab__add_note"')
      const call = ["--method", "tools/call", "--tool-name", "desk__echo", "--tool-arg", "message=hi"]
      assert.include(yield* inspect(...overStdio, ...call), "Echo: hi")

      const place = Object.values(environment)
      const [url = "", name = "", agent = ""] = place
      const bridge = yield* a2c(
        "agent",
        "--server",
        url,
        "--office",
        name,
        "--name",
        agent,
        "mcp",
        "--http",
        "0"
      )
      const at = (yield* bridge.says("publishing office ")).replace(/^.* at /, "")
      assert.include(yield* inspect(at, "--transport", "http", ...call), "Echo: hi")
    })
  )

  live(
    "a Computer takes another office as one of its servers, and its tools work through both",
    Effect.gen(function* () {
      const environment = yield* office
      const url = yield* server
      yield* computer(url, "outer", "gate", {
        inner: { command: process.execPath, args: [cli, "agent", "mcp"], env: environment }
      })
      const outer = ["--server", url, "--office", "outer"]
      const called = yield* a2c(
        "agent",
        ...outer,
        "call",
        "desk__echo",
        "--args",
        '{"message":"through both"}'
      )
      assert.deepStrictEqual([yield* called.ended, called.stdout()], [0, "Echo: through both\n"])
      const desktop = yield* a2c("agent", ...outer, "desktop")
      yield* desktop.ended
      assert.include(desktop.stdout(), "window://lab.a2c.demo.notes/board")
    })
  )

  live(
    "what a host's configuration needs is printed",
    Effect.gen(function* () {
      const place = ["--server", "http://127.0.0.1:7070", "--office", "team", "--name", "bridge"]
      const claude = yield* a2c("agent", ...place, "mcp", "config", "claude")
      assert.strictEqual(yield* claude.ended, 0)
      assert.deepStrictEqual(JSON.parse(claude.stdout()), {
        mcpServers: {
          "office-team": {
            type: "stdio",
            command: "npx",
            args: ["-y", "a2c-smcp", "agent", "mcp"],
            env: { A2C_SERVER: "http://127.0.0.1:7070", A2C_OFFICE: "team", A2C_NAME: "bridge" }
          }
        }
      })
      const code = yield* a2c("agent", ...place, "mcp", "config", "vscode", "--url", "http://127.0.0.1:1/mcp")
      yield* code.ended
      assert.include(code.stdout(), '"servers"')
      const wrong = yield* a2c("agent", ...place, "mcp", "config", "emacs")
      assert.strictEqual(yield* wrong.ended, 1)
      assert.include(wrong.stderr(), "No host 'emacs' is known, only ")
    })
  )
})
