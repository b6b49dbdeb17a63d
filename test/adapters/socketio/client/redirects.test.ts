import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeVictim } from "../../http/victim.ts"
import { connectLink } from "../links.ts"

describe("a Server that redirects", () => {
  for (const transport of ["websocket", "polling"] as const) {
    for (const location of ["elsewhere", "nowhere"]) {
      it.live(`is unreachable over ${transport}, and its redirect ${location} is not followed`, () =>
        Effect.gen(function* () {
          const victim = yield* makeVictim()
          const { url } = yield* makeVictim((_, response) => {
            if (location === "elsewhere") response.setHeader("Location", `${victim.url}/inside`)
            response.writeHead(302).end()
          })
          const options = { url, transports: [transport], headers: { "x-api-key": "s3cret" } }
          const failure = yield* Effect.flip(connectLink(options))
          assert.strictEqual(failure._tag, "Unreachable")
          assert.deepStrictEqual(victim.requests, [])
        })
      )
    }
  }
})
