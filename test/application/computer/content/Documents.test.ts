import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer, type MemoryResource } from "../../../../src/adapters/memory/MemoryMcp.ts"
import type { DpeRequest, ResolveDpe } from "../../../../src/application/computer/ComputerSettings.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { resource, tool, unreadable } from "../../../conformance/members.ts"
import { autoApply, counted, joined, link, requests, type SessionChange } from "../testComputer.ts"

const uri = "dpe://h/doc"

/** A Computer that resolves every document to `found`, with one server `alpha`, and the requests to its resolver. */
const resolving = Effect.fnUntraced(function* (
  resources: ReadonlyArray<MemoryResource>,
  change?: SessionChange,
  found: ReturnType<ResolveDpe> = Effect.succeed({ uri: "https://x/1" })
) {
  const requests: Array<DpeRequest> = []
  const alpha = counted(yield* makeMemoryMcpServer({ resources }), change)
  const resolveDpe: ResolveDpe = (request) => {
    requests.push(request)
    return found
  }
  const { request, logs } = yield* joined({ servers: { alpha }, settings: { resolveDpe } })
  return { logs, requests, get: (fields: JsonObject = {}) => request("client:get_dpe", { uri, ...fields }) }
})

/** Adds a resource that is readable, but listed only once `isListed` is true, and counts the listings. */
const unannounced = (listing: { isListed: boolean; count: number }, added: JsonObject) => () => ({
  listResources: () =>
    Effect.sync(() => {
      listing.count++
      return { items: listing.isListed ? [added] : [], nextCursor: undefined }
    }),
  readResource: () => Effect.succeed([{ uri, text: "T" }])
})

/** Sessions that list no resources while `isHanging`, and count the listings that they have begun and not ended. */
const hangingListing = () => {
  const state = { isHanging: false, open: 0 }
  const hang = Effect.acquireUseRelease(
    Effect.sync(() => void state.open++),
    () => Effect.never,
    () => Effect.sync(() => void state.open--)
  )
  const hanging: SessionChange = ({ listResources }) => ({
    listResources: (cursor) => Effect.suspend(() => (state.isHanging ? hang : listResources(cursor)))
  })
  return { hanging, state }
}

describe("location of a document", () => {
  it.effect("comes from a server that the resolver and the Agent know by its name in the office", () =>
    Effect.gen(function* () {
      const hints: Array<DpeRequest["hint"]> = []
      const resolveDpe: ResolveDpe = ({ hint }) => {
        hints.push(hint)
        return Effect.fail("no storage")
      }
      const { request } = yield* joined(
        {
          servers: { alpha: yield* makeMemoryMcpServer({ resources: [resource(uri, ["T"])] }) },
          configure: { alpha: { bundle_id: "com-x-alpha" } },
          settings: { resolveDpe }
        },
        Effect.succeed(link),
        "0.4"
      )
      const bundleId = "com-x-alpha"
      const { details } = (yield* request("client:get_dpe", { uri })) as { readonly details?: JsonObject }
      assert.deepStrictEqual(details, { mcp_server_name: bundleId })
      const seen = hints.map(({ agent, mcpServerName, reqId }) => [agent, mcpServerName, reqId])
      assert.deepStrictEqual(seen, [["a", bundleId, "r"]])
    })
  )

  it.effect.each([
    ["DPE://h/doc", "dpe://h/doc"],
    ["dpe://h/doc", "DPE://h/doc"]
  ] as const)("is read by the URI of its listing, %s, for a request of %s", ([listed, requested]) =>
    Effect.gen(function* () {
      const { get, logs, requests } = yield* resolving([resource(listed, ["T"], { mimeType: "text/plain" })])
      assert.deepStrictEqual(yield* get({ uri: requested }), { uri: "https://x/1", req_id: "r" })
      assert.notInclude(logs.join(), "document")
      const seen = requests.map(({ contents, hint }) => [contents, hint.mimeType])
      assert.deepStrictEqual(seen, [[[{ uri: listed, text: "T" }], "text/plain"]])
    })
  )

  it.effect("needs no listing of the document, only its host", () =>
    Effect.gen(function* () {
      for (const [contents, mimeType] of [
        [[{ uri, mimeType: "text/x" }], "text/x"],
        [[], undefined]
      ] as const) {
        const { get, requests } = yield* resolving([resource("dpe://h/other")], () => ({
          readResource: () => Effect.succeed(contents)
        }))
        assert.deepStrictEqual(yield* get(), { uri: "https://x/1", req_id: "r" })
        assert.deepStrictEqual([requests[0]?.resource, requests[0]?.hint.mimeType], [undefined, mimeType])
      }
    })
  )

  it.effect("drops the query and the fragment with a warning", () =>
    Effect.gen(function* () {
      const { get, logs, requests } = yield* resolving([resource(uri)])
      yield* get({ uri: `${uri}?a=1#b` })
      assert.strictEqual(requests[0]?.uri, uri)
      assert.include(logs.join(), "document URI query and fragment ignored")
    })
  )

  it.effect.each<[string, string, ReturnType<ResolveDpe>]>([
    ["resolver_error", "fails", Effect.fail("no space")],
    ["resolver_error", "has a defect", Effect.die(new Error("a bug"))],
    ["resolver_returned_invalid", "gives nothing", Effect.succeed(undefined as never)],
    ["resolver_returned_invalid", "gives an empty URI", Effect.succeed({ uri: "" })],
    ["resolver_returned_invalid", "gives a URI that is no text", Effect.succeed({ uri: 7 as never })]
  ])("fails with the category %s when the resolver %s", ([category, , found]) =>
    Effect.gen(function* () {
      const { get, logs } = yield* resolving([resource(uri)], undefined, found)
      const { message: _, reason: __, ...error } = (yield* get()) as JsonObject
      assert.deepStrictEqual(error, { code: 4013, uri, category, details: { mcp_server_name: "alpha" } })
      assert.strictEqual(logs.join().includes("document resolver failed"), category === "resolver_error")
    })
  )

  it.effect("fails with the category upstream_unavailable when the MCP server cannot read it", () =>
    Effect.gen(function* () {
      const { get, requests } = yield* resolving([unreadable(uri)])
      const { message: _, reason: __, ...error } = (yield* get()) as JsonObject
      const details = { mcp_server_name: "alpha", mcp_error: "cannot be read" }
      assert.deepStrictEqual(error, { code: 4013, uri, category: "upstream_unavailable", details })
      assert.lengthOf(requests, 0)
    })
  )

  it.effect("fails with 4013 when the resolver exceeds the timeout, one minute by default", () =>
    Effect.gen(function* () {
      for (const [fields, seconds] of [
        [{}, 60],
        [{ timeout: 2 }, 2]
      ] as const) {
        const { get } = yield* resolving([resource(uri)], undefined, Effect.never)
        const pending = yield* Effect.forkChild(get(fields), { startImmediately: true })
        yield* TestClock.adjust(Duration.seconds(seconds - 1))
        assert.isUndefined(pending.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const { message: _, reason: __, ...error } = (yield* Fiber.join(pending)) as JsonObject
        assert.deepStrictEqual(error, { code: 4013, uri })
      }
    })
  )
})

describe("server of a document", () => {
  it.effect("is the first one in configuration order that lists the host", () =>
    Effect.gen(function* () {
      const servers: Array<string> = []
      const resolveDpe: ResolveDpe = ({ hint }) => {
        servers.push(hint.mcpServerName)
        return Effect.succeed({ uri: "https://x/1" })
      }
      const listing = (...uris: ReadonlyArray<string>) =>
        makeMemoryMcpServer({ resources: uris.map((listed) => resource(listed)) })
      const { request, logs } = yield* joined({
        servers: {
          zero: yield* listing("dpe://other/doc"),
          beta: yield* listing("dpe://H/first", uri),
          alpha: yield* listing(uri)
        },
        settings: { resolveDpe }
      })
      yield* request("client:get_dpe", { uri })
      assert.deepStrictEqual(servers, ["beta"])
      assert.include(logs.join(), '"document host ambiguous",{"host":"h","servers":["beta","alpha"],"using":"beta"}')
    })
  )

  it.effect("is found after another listing when no server lists the host", () =>
    Effect.gen(function* () {
      const listing = { isListed: false, count: 0 }
      const { get, requests } = yield* resolving([], unannounced(listing, { uri }))
      listing.isListed = true
      assert.deepStrictEqual(yield* get(), { uri: "https://x/1", req_id: "r" })
      assert.deepStrictEqual(requests[0]?.resource, { uri })
    })
  )

  it.effect("is found without another listing when a server lists the host", () =>
    Effect.gen(function* () {
      const listing = { isListed: true, count: 0 }
      const { get } = yield* resolving([], unannounced(listing, { uri }))
      const before = listing.count
      yield* get()
      assert.strictEqual(listing.count, before)
    })
  )

  it.effect("is found while two other servers do not respond, after the timeout of one listing", () =>
    Effect.gen(function* () {
      const { hanging, state } = hangingListing()
      const listing = { isListed: false, count: 0 }
      const memory = yield* makeMemoryMcpServer()
      const { request } = yield* joined({
        servers: {
          one: counted(memory, hanging),
          two: counted(memory, hanging),
          three: counted(memory, unannounced(listing, { uri }))
        },
        settings: { resolveDpe: () => Effect.succeed({ uri: "https://x/1" }) }
      })
      state.isHanging = true
      listing.isListed = true
      const pending = yield* Effect.forkChild(request("client:get_dpe", { uri }), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      assert.isDefined(pending.pollUnsafe())
      assert.deepInclude((yield* Fiber.join(pending)) as JsonObject, { uri: "https://x/1" })
    })
  )
})

describe("listing of the resources of a server", () => {
  it.effect.each<[string, JsonObject, JsonObject]>([
    ["an unknown server", { mcp_server: "nope" }, { code: 404, mcp_server_name: "nope" }],
    [
      "a server without resources",
      { mcp_server: "beta" },
      { code: 4015, mcp_server_name: "beta", capability: "resources" }
    ],
    [
      "a cursor that the MCP server rejects",
      { mcp_server: "alpha", cursor: "no such" },
      { code: 500, mcp_server_name: "alpha", details: { mcp_error: "Invalid cursor" } }
    ]
  ])("fails for %s", ([, fields, expected]) =>
    Effect.gen(function* () {
      const request = yield* requests({
        alpha: yield* makeMemoryMcpServer(),
        beta: yield* makeMemoryMcpServer({ capabilities: { resources: false } })
      })
      const { message: _, ...error } = (yield* request("client:get_resources", fields)) as JsonObject
      assert.deepStrictEqual(error, expected)
    })
  )
})

describe("search for documents", () => {
  const counting = (path: string, texts: ReadonlyArray<string>, more: JsonObject = {}) => {
    const reads = { count: 0 }
    const listed = resource(`dpe://h/${path}`, texts, more)
    return { ...listed, reads, read: Effect.suspend(() => (reads.count++, listed.read)) }
  }
  const found = (answer: unknown) =>
    (answer as { readonly documents: ReadonlyArray<JsonObject> }).documents.map(({ uri: one, page_count, server }) => [
      one,
      page_count,
      server
    ])

  it.effect("reads only documents without a listed page count", () =>
    Effect.gen(function* () {
      const listed = counting("listed", ["{}"], { _meta: { page_count: 2 } })
      const unlisted = counting("unlisted", ['{"page_count":3}'])
      const alpha = yield* makeMemoryMcpServer({
        resources: [listed, unlisted, resource("window://h/w"), resource("dpe://h/d/pages/1")]
      })
      const { request, logs } = yield* joined({ servers: { alpha } })
      const answer = (yield* request("client:get_finder", {})) as JsonObject
      assert.deepStrictEqual(found(answer), [
        ["dpe://h/listed", 2, "alpha"],
        ["dpe://h/unlisted", 3, "alpha"]
      ])
      assert.deepInclude(answer, { total_count: 2, req_id: "r" })
      assert.deepStrictEqual([listed.reads.count, unlisted.reads.count], [0, 1])
      assert.notInclude(logs.join(), "document skipped")
    })
  )

  it.effect("skips documents that cannot be read, or have no page count, with a warning", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({
        resources: [unreadable("dpe://h/broken"), resource("dpe://h/text"), counting("good", ['{"page_count":1}'])]
      })
      const { request, logs } = yield* joined({ servers: { alpha } })
      assert.deepStrictEqual(found(yield* request("client:get_finder", {})), [["dpe://h/good", 1, "alpha"]])
      for (const path of ["broken", "text"]) {
        assert.include(logs.join(), `"document skipped",{"uri":"dpe://h/${path}","reason":"no_page_count_or_timeout"}`)
      }
    })
  )

  it.effect("reads no more documents after the timeout", () =>
    Effect.gen(function* () {
      let reads = 0
      const alpha = yield* makeMemoryMcpServer({
        resources: Array.from({ length: 20 }, (_, index) => ({
          definition: { uri: `dpe://h/${index}`, name: "slow" },
          read: Effect.suspend(() => (reads++, Effect.never))
        }))
      })
      const request = yield* requests({ alpha })
      const pending = yield* Effect.forkChild(request("client:get_finder", {}), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(pending.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(found(yield* Fiber.join(pending)), [])
      assert.strictEqual(reads, 16)
    })
  )

  it.effect("uses the previous listing of a server that does not respond", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [counting("doc", [], { _meta: { page_count: 1 } })] })
      const { hanging, state } = hangingListing()
      const { request, logs } = yield* joined({ servers: { alpha: counted(memory, hanging) } })
      state.isHanging = true
      const pending = yield* Effect.forkChild(request("client:get_finder", {}), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(found(yield* Fiber.join(pending)), [["dpe://h/doc", 1, "alpha"]])
      assert.include(logs.join(), '"using the previous resource listing",{"server":"alpha","kind":"documents"')
    })
  )

  it.effect("puts the last used server first", () =>
    Effect.gen(function* () {
      const server = (name: string) =>
        makeMemoryMcpServer({ tools: [tool(name)], resources: [counting(name, [], { _meta: { page_count: 1 } })] })
      const both = { alpha: yield* server("a"), beta: yield* server("b") }
      const request = yield* requests(both, { alpha: autoApply, beta: autoApply })
      const servers = Effect.map(request("client:get_finder", {}), (answer) => found(answer).map(([, , name]) => name))
      assert.deepStrictEqual(yield* servers, ["alpha", "beta"])
      yield* request("client:tool_call", { tool_name: "b", params: {}, timeout: 5 })
      assert.deepStrictEqual(yield* servers, ["beta", "alpha"])
    })
  )
})

describe("unresponsive MCP server", () => {
  it.effect("never hides the documents of other servers", () =>
    Effect.gen(function* () {
      const well = yield* makeMemoryMcpServer({
        resources: [resource("dpe://well/a", ["{}"], { _meta: { page_count: 1 } })]
      })
      const hanging = yield* makeMemoryMcpServer({
        resources: Array.from({ length: 100 }, (_, index) => ({
          definition: { uri: `dpe://slow/${index}`, name: "slow" },
          read: Effect.never
        }))
      })
      const request = yield* requests({ hanging, well })
      const pending = yield* Effect.forkChild(request("client:get_finder", {}), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      const answer = pending.pollUnsafe()
      assert.isDefined(answer)
      assert.include(JSON.stringify(answer), '"total_count":1')
    })
  )

  it.effect("fails a listing with 500 after the timeout and stops it", () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("window://h/a")] })
      const { hanging, state } = hangingListing()
      const request = yield* requests({ server: counted(memory, hanging) })
      state.isHanging = true
      const pending = yield* Effect.forkChild(request("client:get_resources", { mcp_server: "server" }), {
        startImmediately: true
      })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(state.open, 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(state.open, 0)
      assert.include(JSON.stringify(yield* Fiber.join(pending)), '"code":500')
    })
  )
})
