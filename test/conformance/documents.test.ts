import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import type { ComputerSettings, DpeRequest } from "../../src/application/computer/ComputerSettings.ts"
import { agentIn, assertRejected } from "./joinedMembers.ts"
import { computerUnderTest, officeUnderTest, resource, tool, unreadable } from "./members.ts"
import { conform, type World } from "./World.ts"

const base = { agent: "agent-1", req_id: "r1", computer: "pc-1" }

const office = Effect.fnUntraced(function* (
  world: World,
  servers: { readonly [name: string]: MemoryMcp.MemoryMcpServerOptions },
  settings: Partial<ComputerSettings> = {},
  configure: { readonly [name: string]: object } = {}
) {
  const { a1, ...members } = yield* officeUnderTest(world, servers, { settings, configure })
  const request = (event: string, more: object) =>
    Effect.map(a1.request(event, { ...base, ...more }), ([answer]) => answer as Record<string, unknown>)
  return { ...members, request, getDpe: (uri: unknown) => request("client:get_dpe", { uri }) }
})

const report = resource("dpe://com.ex.docs/rpt", ['{"page_count":1}'], { mimeType: "application/json" })

describe("client:get_dpe", () => {
  conform("cases 277, 281, 282, 291: resolves a document to a URI", (world) =>
    Effect.gen(function* () {
      const seen: Array<DpeRequest> = []
      const long = resource("dpe://com.ex.docs/reports/2026/annual")
      const escaped = resource("dpe://com.ex.docs/a%2Fb")
      const { getDpe } = yield* office(
        world,
        { alpha: { resources: [report, long, escaped] } },
        {
          resolveDpe: (request) => {
            seen.push(request)
            return Effect.succeed({ uri: "oss://b/k", mimeType: "application/json", size: 3 })
          }
        }
      )
      assert.deepStrictEqual(yield* getDpe("dpe://com.ex.docs/rpt"), {
        uri: "oss://b/k",
        mime_type: "application/json",
        size: 3,
        req_id: "r1"
      })
      yield* getDpe(long.definition.uri)
      yield* getDpe(escaped.definition.uri)
      assert.deepStrictEqual(
        seen.map(({ uri }) => uri),
        [report, long, escaped].map(({ definition }) => definition.uri)
      )
      assert.deepStrictEqual(seen[0]?.contents, [{ uri: report.definition.uri, text: '{"page_count":1}' }])
      assert.deepStrictEqual(seen[0]?.hint, {
        mcpServerName: "alpha",
        mimeType: "application/json",
        agent: "agent-1",
        reqId: "r1"
      })
    })
  )

  conform("cases 278, 280: checks the URI without a resolver, and reads nothing", (world) =>
    Effect.gen(function* () {
      let reads = 0
      const counted = { ...report, read: Effect.sync(() => void reads++ as never) }
      const { getDpe } = yield* office(world, { alpha: { resources: [counted] } })
      const error = yield* getDpe(report.definition.uri)
      assertRejected([error], 4011)
      assert.strictEqual(error["uri"], report.definition.uri)
      assertRejected([yield* getDpe("junk")], 4012)
      assert.strictEqual(reads, 0)
    })
  )

  const resolveDpe = () => Effect.succeed({ uri: "https://x/1" })

  conform("case 279: rejects a URI without a document", (world) =>
    Effect.gen(function* () {
      const { getDpe } = yield* office(world, {}, { resolveDpe })
      for (const uri of ["dpe://com.ex.docs", "dpe://com.ex.docs/", "dpe:///x", "http://a/b", "dpe://", "", "junk"]) {
        const error = yield* getDpe(uri)
        assertRejected([error], 4012)
        assert.strictEqual(error["uri"], uri)
        assert.isString(error["reason"])
      }
    })
  )

  conform("case 283: drops a query", (world) =>
    Effect.gen(function* () {
      const { getDpe } = yield* office(world, { alpha: { resources: [report] } }, { resolveDpe })
      const found = yield* getDpe("dpe://com.ex.docs/rpt?format=md#x")
      assert.strictEqual(found["uri"], "https://x/1")
      assert.isTrue(
        world.logs.some(({ level, text }) => level === "Warn" && text.includes("query and fragment ignored"))
      )
    })
  )

  conform("cases 285, 286, 287: finds the server by its host, the first one of two", (world) =>
    Effect.gen(function* () {
      const names: Array<string> = []
      const { getDpe, computer, server } = yield* office(
        world,
        { alpha: { resources: [report] }, beta: { resources: [report] } },
        {
          resolveDpe: ({ hint }) => {
            names.push(hint.mcpServerName)
            return Effect.succeed({ uri: "https://x/1" })
          }
        }
      )
      const warning = world.logs.find(({ text }) => text.includes("document host conflict"))
      assert.strictEqual(warning?.level, "Warn")
      for (const word of ["com.ex.docs", "'alpha'", "'beta'"]) assert.include(warning?.text, word)
      assert.deepStrictEqual(
        [...(yield* computer.servers).values()].map(({ _tag }) => _tag),
        ["Ready", "Ready"]
      )
      assertRejected([yield* getDpe("dpe://unknown/x")], 4013)
      yield* getDpe("dpe://com.ex.docs/rpt")
      yield* server("alpha").crash("gone")
      yield* Effect.repeat(computer.servers, {
        until: (states) => states.get("alpha")?._tag === "BackingOff"
      })
      yield* getDpe("dpe://com.ex.docs/rpt")
      assert.deepStrictEqual(names, ["alpha", "beta"])
      assert.isTrue(world.logs.some(({ level, text }) => level === "Warn" && text.includes("document host ambiguous")))
    })
  )

  conform("finds no server by a host that contains its host, or that its host contains", (world) =>
    Effect.gen(function* () {
      let reads = 0
      const counted = { ...report, read: Effect.sync(() => (reads++, [])) }
      const { getDpe } = yield* office(world, { alpha: { resources: [counted] } }, { resolveDpe })
      const hosts = [
        "evil-com.ex.docs",
        "evil.com.ex.docs",
        "com.ex.docs.evil",
        "com.ex.doc",
        "ex.docs",
        "com.ex.docs:1"
      ]
      for (const host of hosts) {
        const error = yield* getDpe(`dpe://${host}/rpt`)
        assertRejected([error], 4013)
        assert.strictEqual(error["reason"], `no MCP server has documents of host '${host}'`)
      }
      assert.strictEqual(reads, 0)
      const found = yield* getDpe("dpe://COM.ex.DOCS/rpt")
      assert.strictEqual(found["reason"], "the MCP server failed to read it")
    })
  )

  conform("cases 288, 289, 290, 292, 295: reports failures without internals", (world) =>
    Effect.gen(function* () {
      const results = [
        Effect.fail("s3cret at /home"),
        Effect.die("s3cret"),
        Effect.succeed({ uri: "" }),
        Effect.succeed(undefined as never),
        Effect.promise(async () => ({ uri: "https://late" }))
      ]
      let turn = 0
      const { getDpe } = yield* office(
        world,
        { alpha: { resources: [report, unreadable("dpe://com.ex.docs/gone")] } },
        { resolveDpe: () => results[turn++] ?? Effect.succeed({ uri: "https://x" }) }
      )
      const unread = yield* getDpe("dpe://com.ex.docs/gone")
      assertRejected([unread], 4013)
      assert.strictEqual(unread["category"], "upstream_unavailable")
      const categories = []
      for (let count = 0; count < 4; count++) {
        const failed = yield* getDpe(report.definition.uri)
        assertRejected([failed], 4013)
        assert.notInclude(JSON.stringify(failed), "s3cret")
        categories.push(failed["category"])
      }
      assert.deepStrictEqual(categories, [
        "resolver_error",
        "resolver_error",
        "resolver_returned_invalid",
        "resolver_returned_invalid"
      ])
      assert.strictEqual((yield* getDpe(report.definition.uri))["uri"], "https://late")
    })
  )

  conform("case 293: fails when the resolver exceeds the timeout", (world) =>
    Effect.gen(function* () {
      const requests = yield* Deferred.make<void>()
      const { request } = yield* office(
        world,
        { alpha: { resources: [report] } },
        { resolveDpe: () => Effect.andThen(Deferred.succeed(requests, undefined), Effect.never) }
      )
      const asking = yield* Effect.forkChild(request("client:get_dpe", { uri: report.definition.uri, timeout: 1 }))
      yield* Deferred.await(requests)
      yield* world.elapse("1 second")
      assertRejected([yield* Fiber.join(asking)], 4013)
    })
  )

  conform("case 294: rejects other types of the fields", (world) =>
    Effect.gen(function* () {
      const { request } = yield* office(world, {}, { resolveDpe })
      for (const bad of [{}, { uri: 5 }, { uri: "dpe://h/d", timeout: "x" }, { uri: "dpe://h/d", timeout: 0 }]) {
        assertRejected([yield* request("client:get_dpe", bad)], 400)
      }
    })
  )
})

describe("client:get_resources", () => {
  const listing = (more: object) => ({ mcp_server: "alpha", ...more })
  const five = ["window://h/1", "dpe://h/d", "file:///x", "custom:y", "window://h/2?priority=x"].map((uri) =>
    resource(uri, [], { mimeType: "text/x", annotations: { a: 1 }, _meta: { m: [1] }, icons: [] })
  )

  conform("cases 296, 298, 303, 304: returns resources as listed", (world) =>
    Effect.gen(function* () {
      const { request } = yield* office(world, {
        alpha: { resources: five, capabilities: { subscribe: false } }
      })
      // With the names of MCP and those of published peers.
      const withBothNames = ({ definition }: MemoryMcp.MemoryResource) =>
        "mimeType" in definition ? { ...definition, mime_type: definition["mimeType"] } : definition
      const all = { resources: five.map(withBothNames), req_id: "r1" }
      assert.deepStrictEqual(yield* request("client:get_resources", listing({})), all)
      assert.deepStrictEqual(yield* request("client:get_resources", listing({ cursor: null })), all)
    })
  )

  conform("case 297: fetches page by page, each once", (world) =>
    Effect.gen(function* () {
      const listed: Array<string | undefined> = []
      const memory = yield* MemoryMcp.makeMemoryMcpServer({ resources: five, pageSize: 2 })
      const alpha = {
        ...memory,
        connect: Effect.map(memory.connect, (session) => ({
          ...session,
          listResources: (cursor?: string) => {
            listed.push(cursor)
            return session.listResources(cursor)
          }
        }))
      }
      yield* computerUnderTest(world, { servers: { alpha } })
      const a1 = yield* agentIn(world, "O1")
      listed.length = 0
      const sizes = []
      const cursors: Array<unknown> = []
      let cursor: unknown
      do {
        cursors.push(cursor)
        const request = { ...base, ...listing(cursor === undefined ? {} : { cursor }) }
        const [answer] = yield* a1.request("client:get_resources", request)
        const page = answer as { readonly resources: ReadonlyArray<unknown>; readonly next_cursor?: unknown }
        sizes.push(page.resources.length)
        cursor = page.next_cursor
      } while (cursor !== undefined)
      assert.deepStrictEqual(sizes, [2, 2, 1])
      assert.deepStrictEqual(listed, cursors)
    })
  )

  conform("cases 299, 300, 301, 302: rejects unavailable servers", (world) =>
    Effect.gen(function* () {
      const { request } = yield* office(
        world,
        {
          alpha: { resources: five },
          toolsOnly: { tools: [tool("t")], capabilities: { resources: false, subscribe: false } },
          off: {}
        },
        {},
        { off: { disabled: true } }
      )
      const unknown = yield* request("client:get_resources", { mcp_server: "nope" })
      assertRejected([unknown], 404)
      assert.include(unknown["message"], "nope")
      const incapable = yield* request("client:get_resources", { mcp_server: "toolsOnly" })
      assertRejected([incapable], 4015)
      assert.deepInclude(incapable, { mcp_server_name: "toolsOnly", capability: "resources" })
      assertRejected([yield* request("client:get_resources", { mcp_server: "off" })], 404)
      const rejected = yield* request("client:get_resources", listing({ cursor: "no such" }))
      assertRejected([rejected], 500)
      assert.deepStrictEqual(rejected["details"], { mcp_error: "Invalid cursor" })
    })
  )

  conform("cases 305, 306: finds the server by its key in the configuration", (world) =>
    Effect.gen(function* () {
      const { request } = yield* office(world, { alpha: {}, beta: {} })
      for (const bad of [{}, { mcp_server: 7 }, listing({ cursor: 5 })]) {
        assertRejected([yield* request("client:get_resources", bad)], 400)
      }
      const { servers } = (yield* request("client:get_config", {})) as { readonly servers?: object }
      for (const mcp_server of Object.keys(servers ?? {})) {
        assert.isArray((yield* request("client:get_resources", { mcp_server }))["resources"])
      }
    })
  )
})

describe("client:get_finder", () => {
  const doc = (path: string, meta: object = { page_count: 1 }, more: object = {}) =>
    resource(`dpe://h/${path}`, ["{}"], { name: path, _meta: meta, ...more })

  conform("cases 307, 309, 310, 312, 328, 329: lists the catalogue", (world) =>
    Effect.gen(function* () {
      let reads = 0
      const readable = resource("dpe://h/read", ['{"page_count": 4, "title": "Read"}'])
      const read = Effect.suspend(() => (reads++, readable.read))
      const { request } = yield* office(world, {
        alpha: {
          resources: [
            doc("listed", { page_count: 2, file_type: "pdf", keywords: ["k"], file_uri: "file:///l" }),
            { ...readable, read },
            doc("none", {}),
            doc("d/pages/0"),
            resource("window://h/x")
          ]
        },
        deaf: { resources: [doc("deaf")], capabilities: { subscribe: false } }
      })
      const found = yield* request("client:get_finder", {})
      assert.deepInclude(found, { total_count: 2, req_id: "r1" })
      assert.strictEqual(reads, 1)
      assert.deepStrictEqual((found["documents"] as ReadonlyArray<{ page_count: number }>)[1]?.page_count, 4)
      assert.deepStrictEqual((found["documents"] as ReadonlyArray<object>)[0], {
        doc_ref: "listed",
        uri: "dpe://h/listed",
        file_uri: "file:///l",
        file_type: "pdf",
        title: "listed",
        page_count: 2,
        keywords: ["k"],
        server: "alpha"
      })
    })
  )

  conform("cases 319, 320, 322, 335: returns pages under both names of the event", (world) =>
    Effect.gen(function* () {
      const many = Array.from({ length: 150 }, (_, index) => doc(`d${index}`))
      const { request } = yield* office(world, { alpha: { resources: many } })
      const size = (more: object, event = "client:get_finder") =>
        Effect.map(request(event, more), ({ documents, total_count }) => [
          (documents as ReadonlyArray<unknown>).length,
          total_count
        ])
      assert.deepStrictEqual(yield* size({}), [20, 150])
      assert.deepStrictEqual(yield* size({ offset: 145, limit: 10 }), [5, 150])
      assert.deepStrictEqual(yield* size({ limit: 500 }), [100, 150])
      assert.deepStrictEqual(yield* size({ tags: ["d14"] }, "client:list_finder"), [11, 11])
    })
  )

  conform("case 323: rejects other types and values of the fields", (world) =>
    Effect.gen(function* () {
      const { request } = yield* office(world, {})
      const bad = [
        ...[0, -1, 1.5, "5"].map((limit) => ({ limit })),
        ...[-1, "0"].map((offset) => ({ offset })),
        ...["x", [1]].map((keywords) => ({ keywords })),
        { file_type: 3 }
      ]
      for (const fields of bad) assertRejected([yield* request("client:get_finder", fields)], 400)
    })
  )
})
