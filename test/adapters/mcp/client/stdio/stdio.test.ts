import { fileURLToPath } from "node:url"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, References, Scope } from "effect"
import * as McpClient from "../../../../../src/adapters/mcp/client/McpClient.ts"
import { McpConnector } from "../../../../../src/application/ports/McpSession.ts"
import type { ChildProcessSpawner } from "effect/process"
import { familyOf, gone } from "../../../../processes.ts"
import { becomes, linesOf } from "../../../../main/computers.ts"
import { temporaryFile } from "../../../../main/processes.ts"
import { makeStdioTransport } from "../../../../../src/adapters/mcp/client/stdio/StdioTransport.ts"

const peer = fileURLToPath(new URL("../../../../fixtures/peer.ts", import.meta.url))
const Live = McpClient.layer.pipe(Layer.provideMerge(NodeServices.layer))

const parameters = (command: string, ...args: ReadonlyArray<string>) => ({
  command,
  args,
  env: null,
  cwd: null,
  encoding: "utf-8",
  encodingErrorHandler: "strict" as const
})
const open = (...args: ReadonlyArray<string>) =>
  McpConnector.use(({ connect }) => connect("peer", { type: "stdio", ...parameters(process.execPath, peer, ...args) }))

const live = (
  title: string,
  body: () => Effect.gen.Return<void, unknown, Scope.Scope | McpConnector | ChildProcessSpawner.ChildProcessSpawner>
) => it.live(title, () => Effect.gen(body).pipe(Effect.scoped, Effect.provide(Live)))

describe("stdio MCP server", () => {
  live("ignores other output between messages", function* () {
    const session = yield* open("noisy")
    assert.deepStrictEqual((yield* session.callTool("t", {}))["content"], [{ type: "text", text: "ok" }])
  })

  live("reports a server that exits at once with its stderr", function* () {
    const failure = yield* Effect.flip(open("exits"))
    assert.strictEqual(failure.reason, "unavailable")
    assert.include(failure.message, "code 9")
    assert.strictEqual(failure.output, "no licence found")
  })

  live("limits the stderr line that is kept", function* () {
    const lines: Array<number> = []
    const logger = Logger.make(({ message }) => void lines.push(JSON.stringify(message).length))
    const shell = parameters("sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 9")
    const failure = yield* Effect.flip(
      McpConnector.use(({ connect }) => connect("x", { type: "stdio", ...shell }))
    ).pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "Debug"))
    assert.include(failure.message, "code 9")
    assert.isBelow(Math.max(...lines), 1000)
  })

  live("reports an unknown encoding", function* () {
    const { connect } = yield* McpConnector
    const babel = { ...parameters(process.execPath, peer), encoding: "klingon" }
    assert.include((yield* Effect.flip(connect("x", { type: "stdio", ...babel }))).message, "klingon")
  })

  const failureOf = (given: object) =>
    McpConnector.use(({ connect }) =>
      Effect.flip(connect("x", { type: "stdio", ...parameters(process.execPath, peer), ...given }))
    ).pipe(Effect.scoped, Effect.provide(Live))

  it.live.each([
    ["/no/such/folder", '"/no/such/folder" does not exist: create it, or correct cwd in the configuration'],
    ["no/such/folder", '"no/such/folder" does not exist: create it, or correct cwd in the configuration'],
    ["~/project", '"~/project" does not exist: only shells replace ~, so use ${userHome} or the whole path'],
    [peer, `${JSON.stringify(peer)} is a file: correct cwd in the configuration`],
    [`${peer}/x`, `${JSON.stringify(`${peer}/x`)} is below a file: correct cwd in the configuration`],
    [`/${"x".repeat(300)}`, `"/${"x".repeat(300)}" cannot be used: ENAMETOOLONG`],
    ["/a\0b", '"/a\\u0000b" cannot be used: ERR_INVALID_ARG_VALUE']
  ])("names a folder in which it cannot start: %j", ([cwd, problem]) =>
    Effect.gen(function* () {
      const { message, reason } = yield* failureOf({ cwd })
      assert.deepStrictEqual([reason, message], ["unavailable", `the folder cwd ${problem}`])
    })
  )

  const plainFileUrl = new URL("../../../../../package.json", import.meta.url)
  const plainFile = fileURLToPath(plainFileUrl)
  it.live.each([
    ["no-such-command", "not found"],
    ["/no/such/command", "not found"],
    ["./no-such-command", "not found"],
    [plainFile, "is not executable: make it executable with chmod +x, or start it with its interpreter"],
    ["/tmp", "is a folder"]
  ])("names a command that cannot be started: %s", ([command, problem]) =>
    Effect.gen(function* () {
      const { message, reason } = yield* failureOf({ command })
      assert.deepStrictEqual([reason, message], ["unavailable", `command "${command}" ${problem}`])
    })
  )

  it.live.each([126, 127])("does not take the exit code %i of a program for a missing command", (code) =>
    Effect.gen(function* () {
      const { message, output } = yield* failureOf({ command: "sh", args: ["-c", `echo gone >&2; exit ${code}`] })
      assert.deepStrictEqual([message, output], [`the process exited with code ${code}`, "gone"])
    })
  )

  const respondToFirst = (result: unknown) => `process.stdin.once("data", (line) => {
    const { id } = JSON.parse(String(line))
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result: ${JSON.stringify(result)} }))
  })`

  const handshake = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "x", version: "1" } }
  it.live.each([
    [
      {},
      'the response is not an MCP result: "protocolVersion" is missing, "capabilities" is missing, "serverInfo" is missing'
    ],
    [[], "the response is not an MCP result"],
    [{ ...handshake, protocolVersion: "1.0" }, "Server's protocol version is not supported: 1.0"]
  ] as ReadonlyArray<readonly [object, string]>)(
    "says in words why a handshake is not valid: %j",
    ([result, problem]) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* failureOf({ args: ["--eval", respondToFirst(result)] })).message, problem)
      })
  )

  it.live.each([
    { ...handshake, capabilities: { tools: [], logging: [] } },
    { ...handshake, capabilities: null },
    { ...handshake, capabilities: { tools: true, experimental: { x: true } } },
    { ...handshake, serverInfo: { name: "x" } },
    { capabilities: { tools: {} }, serverInfo: {} },
    { ...handshake, instructions: ["a"] }
  ])("opens a session after a handshake whose meaning is plain: %j", (result) =>
    McpConnector.use(({ connect }) =>
      connect("x", { type: "stdio", ...parameters(process.execPath, "--eval", respondToFirst(result)) })
    ).pipe(
      Effect.map(({ info }) => assert.isString(info.protocolVersion)),
      Effect.scoped,
      Effect.provide(Live)
    )
  )

  it.live("looks for a command below its folder and in its PATH", () =>
    Effect.gen(function* () {
      const elsewhere = { command: "package.json", env: { PATH: "." }, cwd: fileURLToPath(new URL(".", plainFileUrl)) }
      assert.include((yield* failureOf(elsewhere)).message, "is not executable")
    })
  )

  live("starts in the folder of the Computer when cwd is empty", function* () {
    const { connect } = yield* McpConnector
    yield* connect("x", { type: "stdio", ...parameters(process.execPath, peer), cwd: "" })
  })

  live("accepts a response of many megabytes and rejects one beyond the limit", function* () {
    const large = yield* open("huge", String(11 * 1024 * 1024))
    const [block] = (yield* large.callTool("t", {}))["content"] as ReadonlyArray<{ readonly text: string }>
    assert.strictEqual(block?.text.length, 11 * 1024 * 1024)
    const tooLarge = yield* open("huge", String(65 * 1024 * 1024))
    assert.include((yield* Effect.flip(tooLarge.callTool("t", {}))).message, "exceeds")
    assert.strictEqual((yield* tooLarge.listTools()).items.length, 1)
  })

  live("kills a server that ignores the end of its input and SIGTERM", function* () {
    const journal = yield* temporaryFile("journal", "")
    const scope = yield* Scope.make()
    const { pid, transport } = yield* Scope.provide(
      makeStdioTransport("deaf", parameters(process.execPath, peer, "deaf", journal)),
      scope
    )
    yield* Effect.promise(() => transport.start())
    yield* becomes("the server", () => linesOf(journal).includes(`deaf ${pid}`))
    yield* Scope.close(scope, Exit.void)
    assert.include(linesOf(journal), "SIGTERM")
    yield* gone([pid])
  })

  live("ends the child processes of a server with its session", function* () {
    const scope = yield* Scope.make()
    const { pid } = yield* Scope.provide(
      makeStdioTransport("parent", parameters(process.execPath, peer, "parent")),
      scope
    )
    const family = yield* familyOf(pid, 1)
    yield* Scope.close(scope, Exit.void)
    yield* gone([pid, ...family])
  })
})
