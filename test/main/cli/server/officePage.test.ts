import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { a2c, temporaryFile } from "../../processes.ts"

const urlOf = (line: string) => line.replace("listening on ", "")

const statusOf = (url: string) => Effect.promise(async () => (await fetch(url)).status)

describe("a2c server", () => {
  it.live("prints the URL of its office page", () =>
    Effect.gen(function* () {
      const server = yield* a2c("server", "--port", "0", "--page-bodies")
      const url = urlOf(yield* server.prints("listening on "))
      assert.strictEqual(yield* server.prints("office page at "), `office page at ${url}/office`)
      const session = yield* Effect.promise(async () => (await fetch(`${url}/office/api/session`)).text())
      assert.include(session, '"hasBodies":true')
    })
  )

  it.live("serves no office page with --no-page or its setting", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("server.yaml", "page: false\n")
      for (const flags of [["--no-page"], ["--config", file]]) {
        const server = yield* a2c("server", "--port", "0", ...flags)
        const url = urlOf(yield* server.prints("listening on "))
        assert.strictEqual(yield* statusOf(`${url}/office`), 404)
        assert.notInclude(server.stdout(), "office page")
      }
    })
  )

  it.live("rejects --page-bodies without the page", () =>
    Effect.gen(function* () {
      const server = yield* a2c("server", "--port", "0", "--no-page", "--page-bodies")
      assert.strictEqual(yield* server.ended, 1)
      assert.include(server.stderr(), "--page-bodies needs the office page: remove --no-page")
    })
  )
})
