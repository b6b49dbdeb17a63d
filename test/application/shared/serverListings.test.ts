import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type McpInfo, type McpSession, McpSessionError } from "../../../src/application/ports/McpSession.ts"
import { serverListings } from "../../../src/application/shared/listings/serverListings.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

const all = { tools: true, resources: true, subscribe: false, prompts: true }

/** The lists of a server with one item in each. */
const listingsOf = (more: Partial<McpSession> = {}, capabilities: McpInfo["capabilities"] = all) =>
  serverListings({
    info: { name: "alpha", version: "1", capabilities },
    listTools: () => Effect.succeed({ items: [{ name: "t", inputSchema: { type: "object" } }], nextCursor: undefined }),
    listResources: () => Effect.succeed({ items: [{ uri: "a:", name: "a" }], nextCursor: undefined }),
    readResource: () => Effect.succeed([]),
    callTool: () => Effect.succeed({}),
    request: (method): Effect.Effect<JsonObject> =>
      Effect.succeed(
        method === "prompts/list"
          ? { prompts: [{ name: "p" }] }
          : { resourceTemplates: [{ uriTemplate: "a:{b}", name: "b" }] }
      ),
    watch: () => Effect.succeed(Stream.never),
    ping: Effect.void,
    closed: Effect.never,
    ...more
  })

const failing = (code: number | undefined, reason: McpSessionError["reason"] = "protocol") =>
  Effect.fail(new McpSessionError({ reason, message: "no", ...(code !== undefined && { code }) }))

const none = { items: [], omitted: [] }

describe("serverListings", () => {
  it.effect("gives the items of all lists", () =>
    Effect.gen(function* () {
      const { prompts, resources, templates, tools } = listingsOf()
      const listed = yield* Effect.all([tools, resources, prompts, templates])
      assert.deepStrictEqual(
        listed.map(({ items: [first] }) => first?.["name"]),
        ["t", "a", "p", "b"]
      )
    })
  )

  it.effect("gives empty lists without the capability", () =>
    Effect.gen(function* () {
      const listings = listingsOf({}, { tools: false, resources: false, subscribe: false })
      const listed = yield* Effect.all(Object.values(listings))
      assert.deepStrictEqual(listed, [none, none, none, none])
    })
  )

  it.effect.each([
    ["an unknown method", failing(-32601)],
    ["a method that its revision lacks", failing(undefined, "unsupported")]
  ] as const)("gives no templates after %s", ([, answer]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* listingsOf({ request: () => answer }).templates, none)
    })
  )

  it.effect("fails with another error of the templates, and with an unknown method for prompts", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(listingsOf({ request: () => failing(-32603) }).templates)).code, -32603)
      assert.strictEqual((yield* Effect.flip(listingsOf({ request: () => failing(-32601) }).prompts)).code, -32601)
    })
  )

  it.effect("tells why a list is incomplete", () =>
    Effect.gen(function* () {
      const listTools: McpSession["listTools"] = (cursor) =>
        cursor === undefined
          ? Effect.succeed({ items: [{ name: "t", inputSchema: {} }], nextCursor: "2" })
          : failing(-32602)
      const { incomplete, items } = yield* listingsOf({ listTools }).tools
      assert.deepStrictEqual([incomplete, items.length], ["a page was refused: no", 1])
    })
  )
})
