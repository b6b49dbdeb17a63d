import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { serverListings } from "../../../../../src/application/shared/listings/serverListings.ts"
import { json, makeHttpPeer, open } from "./HttpPeer.ts"

const capabilities = { tools: {}, prompts: {}, resources: {} }
const info = { protocolVersion: "2025-06-18", capabilities, serverInfo: { name: "paged", version: "1" } }
const item = (text: string) => ({ name: text, uri: `a://${text}`, uriTemplate: `a://${text}`, inputSchema: {} })

/** A server whose lists have two pages; `cursor` leads to the second one. */
const makePagedServer = (cursor: unknown) =>
  makeHttpPeer(({ id, method, params, verb }, response) => {
    if (verb === "GET") return response.writeHead(405).end()
    if (id === undefined || verb === "DELETE") return response.writeHead(202).end()
    if (method === "initialize") return json(response, id, { result: info })
    const list = { tools: "tools", prompts: "prompts", resources: "resources" }[method.split("/")[0] ?? ""] ?? ""
    const name = method === "resources/templates/list" ? "resourceTemplates" : list
    const isFirst = params["cursor"] === undefined
    return json(response, id, {
      result: { [name]: [item(isFirst ? "one" : "two")], ...(isFirst && { nextCursor: cursor }) }
    })
  })

describe("the cursor of a list", () => {
  it.live.each([
    ["a text", "2", 2],
    ["a number", 2, 2],
    ["zero", 0, 2],
    ["null", null, 1],
    ["an empty text", "", 1],
    ["an object", {}, 1]
  ] as const)("may be %s", ([, cursor, pages]) =>
    Effect.gen(function* () {
      const session = yield* open(yield* makePagedServer(cursor))
      for (const listing of Object.values(serverListings(session))) {
        assert.strictEqual((yield* listing).items.length, pages)
      }
    })
  )
})
