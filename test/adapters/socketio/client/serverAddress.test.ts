import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { a2cInProcess } from "../../../main/cli/inProcess.ts"
import { makeVictim } from "../../http/victim.ts"
import { connectLink } from "../links.ts"

const failureOf = (url: string, transport: "polling" | "websocket" = "polling") =>
  Effect.scoped(Effect.flip(connectLink({ url, transports: [transport] })))

describe("the URL of a Server", () => {
  for (const transport of ["polling", "websocket"] as const) {
    it.live(`keeps its query over ${transport}, and no message repeats it`, () =>
      Effect.gen(function* () {
        const proxy = yield* makeVictim((_, response) => void response.writeHead(403).end())
        const { message } = yield* failureOf(`${proxy.url}/team/?key=s3cret&x=%C3%A4+b#fragment`, transport)
        assert.include(message, "403")
        assert.notInclude(message, "s3cret")
        assert.isNotEmpty(proxy.requests)
        for (const request of proxy.requests) {
          const { pathname, searchParams } = new URL(request.replace("GET ", ""), proxy.url)
          assert.strictEqual(pathname, "/team/")
          assert.deepStrictEqual(
            ["key", "x", "a2c_version", "EIO"].map((name) => searchParams.get(name)),
            ["s3cret", "ä b", "0.2.0", "4"]
          )
        }
      })
    )
  }

  it.live("is rejected when it sets parameters of the protocol, or repeats one", () =>
    Effect.gen(function* () {
      for (const [query, reason] of [
        ["transport=websocket", "the query must not have the parameter transport"],
        ["a2c_version=9", "the query must not have the parameter a2c_version"],
        ["a=1&a=2", "a parameter of the query is repeated"]
      ] as const) {
        const failure = yield* failureOf(`http://127.0.0.1:9/?${query}`)
        assert.strictEqual(failure.message, `Cannot reach http://127.0.0.1:9/: ${reason}`)
        assert.strictEqual(failure._tag === "Unreachable" && failure.permanent, true)
      }
    })
  )

  it.live("keeps its query in the request of a2c server status", () =>
    Effect.gen(function* () {
      const proxy = yield* makeVictim((_, response) => void response.writeHead(403).end())
      yield* a2cInProcess("server", "status", `${proxy.url}/smcp?key=s3cret`, "--offices")
      assert.deepStrictEqual(proxy.requests, ["GET /status?key=s3cret&offices=1"])
    })
  )
})
