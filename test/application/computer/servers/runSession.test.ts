import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { MemoryMcpServerOptions } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { McpSessionError, type McpMethod, type McpWatchOptions } from "../../../../src/application/ports/McpSession.ts"
import { partsUri } from "../../../../src/domain/page/Inspection.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { type SessionChange, type TestComputer, withAlpha } from "../testComputer.ts"

const letGo = TestClock.adjust(0)
const window = "window://com.x.app/one"
const document = "dpe://com.x.app/doc"
const secret = "hunter2-of-production"

const failure = (message: string, reason: McpSessionError["reason"] = "protocol") =>
  new McpSessionError({ reason, message })

/** Starts a Computer with a server in memory whose session is changed. */
const alpha = (change: SessionChange, server: MemoryMcpServerOptions = {}, more: Partial<TestComputer> = {}) =>
  Effect.map(withAlpha({ change, server, ...more }), ({ alpha: memory, ...parts }) => ({ ...parts, memory }))

/** A Computer whose server gets a secret. */
const withSecret: Partial<TestComputer> = {
  environment: { TOKEN: secret },
  configure: { alpha: { server_parameters: { command: "x", args: ["${env:TOKEN}"] } } }
}

describe("runSession", () => {
  it.effect("runs a server without tools, resources and subscriptions", () =>
    Effect.gen(function* () {
      const { state } = yield* alpha(() => ({}), {
        capabilities: { tools: false, resources: false, subscribe: false }
      })
      const now = yield* state
      assert.strictEqual(now?._tag, "Ready")
      assert.deepStrictEqual(now?._tag === "Ready" ? [now.tools, now.resources] : undefined, [[], []])
    })
  )

  it.effect("watches the listings once, and each window and document once", () =>
    Effect.gen(function* () {
      const watched: Array<McpWatchOptions> = []
      const { memory } = yield* alpha(
        (session) => ({ watch: (wanted) => Effect.suspend(() => (watched.push(wanted), session.watch(wanted))) }),
        { resources: [resource(window), resource("file:///x")] }
      )
      yield* memory.setResources([resource(window), resource(document)])
      yield* letGo
      assert.deepStrictEqual(watched, [
        { tools: true, resources: true, prompts: false, uris: [], logs: true },
        { tools: false, resources: false, uris: [window] },
        { tools: false, resources: false, uris: [document] }
      ])
    })
  )

  it.effect("retries a failed subscription only after a change of the resources", () =>
    Effect.gen(function* () {
      let attempts = 0
      const { memory, reason } = yield* alpha(
        (session) => ({
          watch: (wanted) =>
            wanted.uris.length === 0
              ? session.watch(wanted)
              : Effect.suspend(() => Effect.fail(failure(`attempt ${++attempts}`)))
        }),
        { resources: [resource(window)] }
      )
      assert.include(yield* reason, "attempt 1")
      yield* memory.setTools([tool("t")])
      yield* letGo
      assert.strictEqual(attempts, 1)
      yield* memory.setResources([resource(window), resource("file:///x")])
      yield* letGo
      assert.strictEqual(attempts, 2)
    })
  )

  it.effect("logs a defect of a subscription and keeps the session", () =>
    Effect.gen(function* () {
      const { logs, starts, state } = yield* alpha(
        (session) => ({ watch: (wanted) => (wanted.uris.length === 0 ? session.watch(wanted) : Effect.die("broken")) }),
        { resources: [resource(window)] }
      )
      assert.deepStrictEqual([(yield* state)?._tag, starts.count], ["Ready", 1])
      assert.isTrue(logs.some((line) => line.includes("resource subscription failed") && line.includes(window)))
    })
  )

  it.effect("recovers from a failed listing of resources at the start", () =>
    Effect.gen(function* () {
      let fails = true
      const { memory, state } = yield* alpha(
        (session) => ({
          listResources: (cursor) =>
            Effect.suspend(() => (fails ? Effect.fail(failure("not now")) : session.listResources(cursor)))
        }),
        { resources: [resource(window)] }
      )
      const before = yield* state
      assert.deepStrictEqual(before?._tag === "Degraded" ? before.resources : undefined, [])
      fails = false
      yield* memory.notify({ _tag: "ResourcesChanged" })
      yield* letGo
      const after = yield* state
      assert.lengthOf(after?._tag === "Ready" ? after.resources : [], 1)
    })
  )

  it.effect("keeps the pages of a listing that repeats its cursor, and logs it once", () =>
    Effect.gen(function* () {
      const { logs, memory, state } = yield* alpha(
        (session) => ({
          listTools: (cursor) =>
            Effect.map(session.listTools(), ({ items }) => ({
              items: cursor === undefined ? items : [{ name: "two" }],
              nextCursor: "again"
            }))
        }),
        { tools: [tool("one")] }
      )
      yield* memory.notify({ _tag: "ToolsChanged" })
      yield* letGo
      const now = yield* state
      assert.deepStrictEqual(now?._tag === "Ready" ? now.tools.map(({ name }) => name) : [], ["one", "two"])
      const lines = logs.filter((line) => line.includes("listing cut short"))
      assert.lengthOf(lines, 1)
      assert.include(lines[0], "a cursor was repeated")
    })
  )

  it.effect("leaves out the odd items of all listings, and logs each once", () =>
    Effect.gen(function* () {
      const answer = (method: string) =>
        Effect.succeed(
          method === "prompts/list"
            ? { prompts: [{}, 7, { name: "p" }] }
            : { resourceTemplates: [{ uriTemplate: null }] }
        )
      const { logs, memory, state } = yield* alpha(
        (session) => ({
          listTools: () =>
            Effect.succeed({
              items: [{ name: 5 }, { name: "t", inputSchema: { type: "array" } }, { name: "u" }],
              nextCursor: undefined
            }),
          listResources: () =>
            Effect.map(session.listResources(), ({ items }) => ({
              items: [{ uri: 5 }, ...items],
              nextCursor: undefined
            }))
        }),
        { answer, capabilities: { prompts: true }, resources: [resource("file:///x")] }
      )
      yield* memory.notify({ _tag: "ToolsChanged" })
      yield* letGo
      const now = yield* state
      const listed = now?._tag === "Ready" ? [now.tools, now.resources, now.prompts, now.templates] : []
      const counts = listed.map((items) => items.length)
      assert.deepStrictEqual(counts, [1, 1, 1, 0])
      const lines = logs.filter((line) => line.includes("items omitted from listing"))
      assert.deepStrictEqual(
        ["tools", "resources", "prompts", "templates"].map(
          (list) => lines.filter((line) => new RegExp(`list\\W+${list}\\b`).test(line)).length
        ),
        [1, 1, 1, 1]
      )
      assert.isTrue(lines.some((line) => line.includes("inputSchema: its type is not object")))
    })
  )

  it.effect("leaves out rounded integers of all listings, and logs each item once with its places", () =>
    Effect.gen(function* () {
      const one = { name: "t", inputSchema: { properties: { id: { maximum: 2 ** 64, minimum: 0 } } } }
      const { logs, memory, state } = yield* alpha(
        () => ({ listTools: () => Effect.succeed({ items: [one, { name: "u" }], nextCursor: undefined }) }),
        { resources: [resource("file:///x", [], { size: 2 ** 63 })] }
      )
      yield* memory.notify({ _tag: "ToolsChanged" })
      yield* letGo
      const now = yield* state
      assert.deepStrictEqual(now?._tag === "Ready" ? now.tools : [], [
        { name: "t", inputSchema: { properties: { id: { minimum: 0 } } } },
        { name: "u" }
      ])
      const lines = logs.filter((line) => line.includes("rounded integers omitted from listing"))
      assert.lengthOf(lines, 2)
      for (const part of ["alpha", "tools", '"t"', "/inputSchema/properties/id/maximum"]) assert.include(lines[0], part)
      assert.include(lines[1], "/size")
    })
  )

  it.effect("drops the metadata keys of this project, except the tags of tools", () =>
    Effect.gen(function* () {
      const _meta = { a2c_app: { server: [], tool: "x" }, a2c_computer: "x", a2c_tool_meta: { tags: ["t"] }, mine: 1 }
      const { state } = yield* alpha(() => ({}), {
        tools: [tool("one", undefined, { _meta })],
        resources: [resource("file:///x", [], { _meta })]
      })
      const now = yield* state
      const kept = now?._tag === "Ready" ? [...now.tools, ...now.resources].map((item) => item["_meta"]) : []
      const expected = { a2c_tool_meta: { tags: ["t"] }, mine: 1 }
      assert.deepStrictEqual(kept, [expected, expected])
    })
  )

  it.effect("joins the reasons of a degraded server", () =>
    Effect.gen(function* () {
      const { reason } = yield* alpha(() => ({
        listResources: () => Effect.fail(failure("not now")),
        degraded: Effect.succeed("no notifications")
      }))
      assert.strictEqual(yield* reason, "cannot list resources: not now; no notifications")
    })
  )

  it.effect("logs a degradation and its recovery once, with the source", () =>
    Effect.gen(function* () {
      let isDead = false
      const { logs } = yield* alpha((session) => ({
        ping: Effect.suspend(() => (isDead ? Effect.fail(failure("gone", "closed")) : session.ping))
      }))
      yield* TestClock.adjust("2 minutes")
      isDead = true
      yield* TestClock.adjust("35 seconds")
      isDead = false
      yield* TestClock.adjust("2 minutes")
      const changes = logs.filter((line) => /degraded|recovered/.test(line))
      assert.lengthOf(changes, 2)
      assert.include(changes[0], '"reason":"gone"')
      assert.include(changes[1], '"source":"keepalive"')
    })
  )

  it.effect("never retries a session that ends as unauthorized, and redacts its reason", () =>
    Effect.gen(function* () {
      const { starts, state } = yield* alpha(
        () => ({ closed: Effect.delay(Effect.succeed(failure(`no ${secret}`, "unauthorized")), "1 minute") }),
        {},
        withSecret
      )
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* state, { _tag: "Failed", reason: "no <redacted>", publicReason: "no <redacted>" })
      assert.strictEqual(starts.count, 1)
    })
  )

  it.effect("lists again what the server says has changed, and templates with the resources", () =>
    Effect.gen(function* () {
      let version = 1
      const answer = (method: McpMethod) =>
        Effect.sync(() =>
          method === "prompts/list"
            ? { prompts: [{ name: `p${version}` }] }
            : { resourceTemplates: [{ uriTemplate: `note://${version}/{id}` }] }
        )
      const { memory, state } = yield* alpha(
        () => ({
          listTools: () => Effect.sync(() => ({ items: [tool(`t${version}`).definition], nextCursor: undefined })),
          listResources: () => Effect.sync(() => ({ items: [{ uri: `note://${version}` }], nextCursor: undefined }))
        }),
        { answer, capabilities: { prompts: true } }
      )
      const versions = Effect.map(state, (now) => {
        if (now?._tag !== "Ready") return assert.fail(now?._tag)
        const { prompts, resources, templates, tools } = now
        const shown = Object.entries({ tools, resources, templates, prompts })
        return Object.fromEntries(shown.map(([what, items]) => [what, /\d/.exec(JSON.stringify(items))?.[0]]))
      })
      const all = { tools: "1", resources: "1", templates: "1", prompts: "1" }
      assert.deepStrictEqual(yield* versions, all)
      version = 2
      yield* memory.notify({ _tag: "ResourcesChanged" })
      yield* letGo
      assert.deepStrictEqual(yield* versions, { ...all, resources: "2", templates: "2" })
      version = 3
      yield* memory.notify({ _tag: "PromptsChanged" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* versions, { ...all, resources: "2", templates: "2", prompts: "3" })
      version = 4
      yield* memory.notify({ _tag: "ToolsChanged" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* versions, { tools: "4", resources: "2", templates: "2", prompts: "3" })
    })
  )

  it.effect("redacts the failures of all its requests, also in what the server adds to them", () =>
    Effect.gen(function* () {
      const data = { [secret]: [secret, { token: secret, n: 1 }], ok: true }
      const broken = Effect.fail(
        new McpSessionError({ reason: "protocol", code: -1, message: `no ${secret}`, data, output: secret })
      )
      let isBroken = false
      const failing = <A, R>(effect: Effect.Effect<A, McpSessionError, R>) =>
        Effect.suspend(() => (isBroken ? broken : effect))
      const { state } = yield* alpha(
        (session) => ({
          listTools: (cursor) => failing(session.listTools(cursor)),
          listResources: (cursor) => failing(session.listResources(cursor)),
          readResource: (uri) => failing(session.readResource(uri)),
          callTool: (name, params, options) => failing(session.callTool(name, params, options)),
          watch: (wanted) => failing(session.watch(wanted)),
          ping: failing(session.ping),
          request: (method, params) => failing(session.request?.(method, params) ?? Effect.succeed({}))
        }),
        {},
        withSecret
      )
      const now = yield* state
      if (now?._tag !== "Ready") return assert.fail(now?._tag)
      isBroken = true
      const { session } = now
      const requests: ReadonlyArray<Effect.Effect<unknown, McpSessionError, Scope.Scope>> = [
        session.listTools(),
        session.listResources(),
        session.readResource(window),
        session.callTool("t", {}),
        session.watch({ tools: true, resources: false, uris: [] }),
        session.ping,
        session.request?.("prompts/get", {}) ?? Effect.void
      ]
      for (const request of requests) {
        const { code, data: shown, message, output } = yield* Effect.flip(request)
        assert.deepStrictEqual<unknown>(
          { code, message, output, data: shown },
          {
            code: -1,
            message: "no <redacted>",
            output: "<redacted>",
            data: { "<redacted>": ["<redacted>", { token: "<redacted>", n: 1 }], ok: true }
          }
        )
      }
    })
  )

  it.effect("redacts the failure of a later listing of tools", () =>
    Effect.gen(function* () {
      let lists = 0
      const { memory, reason } = yield* alpha(
        (session) => ({
          listTools: (cursor) =>
            Effect.suspend(() => (lists++ === 0 ? session.listTools(cursor) : Effect.fail(failure(`no ${secret}`))))
        }),
        {},
        withSecret
      )
      yield* memory.setTools([])
      yield* letGo
      assert.strictEqual(yield* reason, "cannot list tools: no <redacted>")
    })
  )

  it.effect("keeps a session whose stream of changes ends", () =>
    Effect.gen(function* () {
      const { starts } = yield* alpha(() => ({ watch: () => Effect.succeed(Stream.empty) }))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(starts.count, 1)
    })
  )

  it.effect("lists all pages of tools within one connect timeout", () =>
    Effect.gen(function* () {
      const { state } = yield* alpha(
        (session) => ({ listTools: (cursor) => Effect.delay(session.listTools(cursor), "4 seconds") }),
        { tools: [tool("one"), tool("two"), tool("three")], pageSize: 1 },
        { settings: { connectTimeout: Duration.seconds(10) } }
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* state)?._tag, "BackingOff")
    })
  )

  it.effect("is degraded by failed packs, logs each once with its reason, and recovers with it", () =>
    Effect.gen(function* () {
      let failed = ["adder", "lamp"]
      const read = Effect.sync(() => {
        const packs = failed.map((name) => ({
          kind: "pack",
          name,
          state: "failed",
          reason: `no ${secret}`,
          offers: []
        }))
        return [
          { uri: partsUri, text: JSON.stringify([...packs, { kind: "pack", name: "ok", state: "ready", offers: [] }]) }
        ]
      })
      const resources = [{ definition: { uri: partsUri, name: "parts" }, read }]
      const { logs, memory, reason, state } = yield* alpha(() => ({}), { resources }, withSecret)
      const shown = "pack adder failed: no <redacted>; pack lamp failed: no <redacted>"
      assert.deepStrictEqual([(yield* state)?._tag, yield* reason], ["Degraded", shown])
      yield* memory.setTools([tool("t")])
      yield* letGo
      failed = []
      yield* memory.setTools([])
      yield* letGo
      assert.strictEqual((yield* state)?._tag, "Ready")
      const messages = logs.flatMap(
        (line) => /(?:degraded|recovered).*?"(?:reason|source)":"([^"]*)"/.exec(line)?.[1] ?? []
      )
      assert.deepStrictEqual(messages, [...shown.split("; "), "pack adder", "pack lamp"])
    })
  )

  it.effect("redacts the reason of a degraded session", () =>
    Effect.gen(function* () {
      const { reason } = yield* alpha(() => ({ degraded: Effect.succeed(`no ${secret}`) }), {}, withSecret)
      assert.strictEqual(yield* reason, "no <redacted>")
    })
  )

  it.effect("adds no degradation to a session without one", () =>
    Effect.gen(function* () {
      const { state } = yield* alpha(() => ({}))
      const now = yield* state
      assert.isFalse(now?._tag !== "Ready" || "degraded" in now.session)
    })
  )
})
