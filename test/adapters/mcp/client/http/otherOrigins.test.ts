import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeVictim } from "../../../http/victim.ts"
import { json, makeHttpPeer, open, openSse, stream } from "./HttpPeer.ts"

const initialized = {
  result: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "malicious", version: "0" } }
}

describe("MCP server that names another origin", () => {
  for (const status of [301, 302, 303, 307, 308]) {
    for (const verb of ["POST", "GET"]) {
      it.live(`receives its ${verb} requests itself after a redirect with ${status}`, () =>
        Effect.gen(function* () {
          const victim = yield* makeVictim()
          const peer = yield* makeHttpPeer((requests, response) => {
            if (requests.verb === verb) return response.writeHead(status, { Location: `${victim.url}/inside` }).end()
            return requests.id === undefined ? response.writeHead(202).end() : json(response, requests.id, initialized)
          })
          yield* Effect.exit(open(peer))
          yield* peer.until(verb === "POST" ? "initialize" : "GET")
          assert.deepStrictEqual(victim.requests, [])
        })
      )
    }
  }

  it.live("is rejected when its event stream names an endpoint there", () =>
    Effect.gen(function* () {
      const victim = yield* makeVictim()
      const peer = yield* makeHttpPeer((_, response) =>
        stream(response, `event: endpoint\ndata: ${victim.url}/inside\n\n`)
      )
      const failure = yield* Effect.flip(openSse(peer))
      assert.strictEqual(failure.reason, "unavailable")
      assert.deepStrictEqual(victim.requests, [])
    })
  )
})
