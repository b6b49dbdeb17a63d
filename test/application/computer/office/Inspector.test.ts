import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import * as RulePolicy from "../../../../src/application/computer/calls/RulePolicy.ts"
import type { ComputerOperatorAccess } from "../../../../src/application/computer/office/operatorAccess.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { ServerOutput } from "../../../../src/application/ports/mcp/ServerOutput.ts"
import type { Link } from "../../../../src/application/ports/Transport.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { partsCodec, partsUri } from "../../../../src/domain/page/Inspection.ts"
import { operatorRequests } from "../../../../src/domain/page/operatorRequests.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { counted, joined, link, setupOf, type Startable, type TestComputer, testComputer } from "../testComputer.ts"

const noWait = { waitMillis: 0 }

const t = tool("t")

/** Runs a Computer with these servers, by default `alpha` with one tool, and gives a function that inspects it. */
const fixture = Effect.fnUntraced(function* (
  servers?: { readonly [name: string]: Startable },
  operators: ComputerOperatorAccess = {},
  configure: { readonly [name: string]: JsonObject } = {},
  to: Link = link,
  more: Pick<TestComputer, "policy" | "settings"> = {}
) {
  const { computer, receive } = yield* joined(
    { servers: servers ?? { alpha: yield* makeMemoryMcpServer({ tools: [t] }) }, operators, configure, ...more },
    Effect.succeed(to)
  )
  const inspect = (request: object) =>
    Effect.map(receive(operatorRequests.inspect.event, request), ([reply]) =>
      Result.getOrThrow(operatorRequests.inspect.reply.decode(reply))
    )
  return { computer, inspect, receive }
})

/** A server that writes a line to stderr when it starts. */
const writing = (line: string) =>
  Effect.map(
    makeMemoryMcpServer({ tools: [t] }),
    ({ connect }): Startable => ({
      connect: Effect.gen(function* () {
        const write = yield* ServerOutput
        write("alpha", line)
        return yield* connect
      })
    })
  )

const exits: Startable = {
  connect: Effect.fail(
    new McpSessionError({ reason: "closed", message: "the process exited with code 9", output: "no licence found" })
  )
}

describe("Inspector", () => {
  it.effect("reports state, tools and windows of an MCP server", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [t], resources: [resource("window://alpha/a")] })
      const { inspect } = yield* fixture({ alpha })
      const { inspection } = yield* inspect(noWait)
      assert.deepStrictEqual(inspection.servers, [
        { name: "alpha", state: "ready", since: 0, restarts: 0, tools: 1, windows: 1 }
      ])
    })
  )

  it.effect("reports an idle server with the reason of its last end", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer({ tools: [t], resources: [resource("window://alpha/a")] }))
      const { computer, inspect } = yield* fixture({ alpha }, {}, { alpha: { lifecycle: "lazy" } })
      const reported = Effect.map(inspect(noWait), ({ inspection: { servers } }) => servers[0])
      const idle = { name: "alpha", state: "idle", since: 0, restarts: 0, tools: 1, windows: 1 } as const
      assert.deepStrictEqual(yield* reported, { ...idle, reason: "lazy: starts on request" })
      alpha.starts.failure = new McpSessionError({ reason: "closed", message: "exited", output: "no licence found" })
      yield* computer.callTool({ tool: "t", params: {} })
      assert.deepStrictEqual(yield* reported, { ...idle, reason: "exited" })
    })
  )

  it.effect.each<[string, Partial<TestComputer>, ReadonlyArray<string>]>([
    [
      "of the configuration",
      { configure: { alpha: { forbidden_tools: ["v"], tool_meta: { t: { auto_apply: true } } } } },
      ["runs without consent", "needs consent", "forbidden"]
    ],
    [
      "of approved patterns",
      { settings: { approve: ["alpha/u"] } },
      ["needs consent", "runs without consent", "needs consent"]
    ],
    ["of a policy", { policy: RulePolicy.layer([]) }, ["t", "u", "v"].map(() => "decided by a policy")]
  ])("reports the rule %s for each tool", ([, { configure, ...more }, rules]) =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [t, tool("u"), tool("v")] })
      const { inspect } = yield* fixture({ alpha }, {}, configure, link, more)
      const { inspection } = yield* inspect(noWait)
      assert.deepStrictEqual<unknown>(
        inspection.consent,
        ["t", "u", "v"].map((name, index) => ({ tool: name, rule: rules[index] ?? "" }))
      )
    })
  )

  it.effect("counts restarts, and since when a server is in its state", () =>
    Effect.gen(function* () {
      const { computer, inspect } = yield* fixture()
      yield* TestClock.adjust("5 seconds")
      yield* computer.restart("alpha")
      const { inspection } = yield* inspect(noWait)
      assert.deepInclude(inspection.servers[0], { state: "ready", since: 5000, restarts: 1 })
    })
  )

  it.effect("begins again for a server that was removed and added", () =>
    Effect.gen(function* () {
      const { computer, inspect } = yield* fixture()
      yield* computer.restart("alpha")
      yield* computer.reconfigure(setupOf([]))
      yield* TestClock.adjust("5 seconds")
      yield* computer.reconfigure(setupOf(["alpha"]))
      const { inspection } = yield* inspect(noWait)
      assert.deepInclude(inspection.servers[0], { state: "ready", since: 5000, restarts: 0 })
    })
  )

  it.effect("waits for a change when the revision is known", () =>
    Effect.gen(function* () {
      const { computer, inspect } = yield* fixture()
      const { revision } = yield* inspect(noWait)
      const next = yield* Effect.forkChild(inspect({ revision, waitMillis: 20_000 }), { startImmediately: true })
      yield* TestClock.adjust("3 seconds")
      assert.isUndefined(next.pollUnsafe())
      yield* computer.stop("alpha")
      yield* TestClock.adjust("1 second")
      const { inspection, revision: after } = yield* Fiber.join(next)
      assert.deepStrictEqual([inspection.servers[0]?.state, after > revision], ["stopped", true])
    })
  )

  it.effect("replies without a change when the time is over", () =>
    Effect.gen(function* () {
      const { inspect } = yield* fixture()
      const { revision } = yield* inspect(noWait)
      const next = yield* Effect.forkChild(inspect({ revision, waitMillis: 20_000 }), { startImmediately: true })
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual((yield* Fiber.join(next)).revision, revision)
    })
  )

  it.effect("leaves out stderr from the reason of a failure, which the owner sees", () =>
    Effect.gen(function* () {
      const { computer, inspect } = yield* fixture({ alpha: exits })
      const { inspection } = yield* inspect(noWait)
      assert.strictEqual(inspection.servers[0]?.reason, "the process exited with code 9")
      const state = (yield* computer.servers).get("alpha")
      assert.deepInclude(state, { _tag: "BackingOff", reason: "the process exited with code 9: no licence found" })
    })
  )

  const small: Link = { ...link, maxBytes: () => 250, fits: (body) => body.byteLength() <= 250 }

  it.effect.each<[string, string, ComputerOperatorAccess, Link, ReadonlyArray<string> | undefined]>([
    ["hides stderr by default", "loading", {}, link, undefined],
    ["shows the last lines of stderr where the owner shares them", "loading", { stderr: true }, link, ["loading"]],
    ["hides stderr when the reply does not fit into a message", "x".repeat(400), { stderr: true }, small, undefined]
  ])("%s", ([, line, operators, to, shown]) =>
    Effect.gen(function* () {
      const { inspect } = yield* fixture({ alpha: yield* writing(line) }, operators, {}, to)
      const { name, stderr } = (yield* inspect(noWait)).inspection.servers[0] ?? {}
      assert.deepStrictEqual([name, stderr], ["alpha", shown])
    })
  )

  it.effect("reports devices and packs of an MCP server, and their changes", () =>
    Effect.gen(function* () {
      let state = "connected"
      const parts = Effect.sync(() => [
        { uri: partsUri, text: partsCodec.encode([{ kind: "device", name: "lamp", state, offers: ["on"] }]) }
      ])
      const alpha = yield* makeMemoryMcpServer({
        tools: [t],
        resources: [{ definition: { uri: partsUri, name: "parts" }, read: parts }]
      })
      const { inspect } = yield* fixture({ alpha })
      const { inspection, revision } = yield* inspect(noWait)
      assert.deepStrictEqual(inspection.parts, [{ kind: "device", name: "lamp", state: "connected", offers: ["on"] }])
      const next = yield* Effect.forkChild(inspect({ revision, waitMillis: 20_000 }), { startImmediately: true })
      state = "lost"
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(next)).inspection.parts[0]?.state, "lost")
    })
  )

  it.effect("starts no lazy server for its devices and packs", () =>
    Effect.gen(function* () {
      const alpha = counted(yield* makeMemoryMcpServer({ resources: [resource(partsUri, ["[]"])] }))
      const { inspect } = yield* fixture({ alpha }, {}, { alpha: { lifecycle: "lazy" } })
      assert.strictEqual(alpha.starts.count, 1)
      const { inspection } = yield* inspect(noWait)
      assert.deepStrictEqual([inspection.servers[0]?.state, alpha.starts.count], ["idle", 1])
    })
  )

  it.effect("tells who stopped a server", () =>
    Effect.gen(function* () {
      const servers = { alpha: yield* makeMemoryMcpServer(), beta: yield* makeMemoryMcpServer() }
      const { computer, inspect } = yield* fixture(servers, {}, { alpha: { disabled: true } })
      yield* computer.stop("beta")
      assert.deepStrictEqual(
        (yield* inspect(noWait)).inspection.servers.map(({ name, state, reason }) => [name, state, reason]),
        [
          ["alpha", "stopped", "disabled in the configuration"],
          ["beta", "stopped", "stopped by its owner"]
        ]
      )
    })
  )

  it.effect("replies to a waiting request soon after the next line of stderr", () =>
    Effect.gen(function* () {
      let write: (line: string) => void = () => assert.fail()
      const memory = yield* makeMemoryMcpServer()
      const alpha: Startable = {
        connect: Effect.flatMap(ServerOutput, (record) => {
          write = (line) => record("alpha", line)
          return memory.connect
        })
      }
      const { inspect } = yield* fixture({ alpha }, { stderr: true })
      const { revision } = yield* inspect(noWait)
      const next = yield* Effect.forkChild(inspect({ revision, waitMillis: 20_000 }), { startImmediately: true })
      yield* TestClock.adjust(0)
      write("loading")
      yield* TestClock.adjust("200 millis")
      assert.deepStrictEqual((yield* Fiber.join(next)).inspection.servers[0]?.stderr, ["loading"])
    })
  )

  it.effect("ignores a list of parts that is malformed", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [t], resources: [resource(partsUri, ["[{}]"])] })
      const { inspect } = yield* fixture({ alpha })
      const { inspection } = yield* inspect(noWait)
      assert.deepStrictEqual([inspection.parts, inspection.servers[0]?.state], [[], "ready"])
    })
  )

  it.effect("rejects a malformed request", () =>
    Effect.gen(function* () {
      const { receive } = yield* fixture()
      const [reply] = yield* receive(operatorRequests.inspect.event, { waitMillis: 3_600_000 })
      assert.include(JSON.stringify(reply), "waitMillis")
    })
  )

  it.effect("does not know the request where operators may see nothing", () =>
    Effect.gen(function* () {
      const { receive } = yield* fixture({}, { states: false })
      const [reply] = yield* receive(operatorRequests.inspect.event, noWait)
      assert.include(JSON.stringify(reply), "404")
    })
  )

  for (const [access, features] of [
    [{}, ["operator_names", "inspection"]],
    [{ calls: true }, ["operator_names", "inspection", "operator_calls"]],
    [{ states: false }, ["operator_names"]]
  ] as const) {
    it.effect(`announces the features ${features.join(" and ")} for ${JSON.stringify(access)}`, () =>
      Effect.gen(function* () {
        const announced: Array<unknown> = []
        const { computer } = yield* testComputer({
          servers: {},
          operators: access,
          transport: {
            connect: ({ auth }) => {
              announced.push(auth["a2c_features"])
              return Effect.succeed(link)
            }
          }
        })
        yield* computer.join({ office: "o" })
        assert.deepStrictEqual(announced, [features])
      })
    )
  }
})
