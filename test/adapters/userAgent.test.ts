import type { IncomingHttpHeaders } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { packageVersion } from "../../src/domain/packageVersion.ts"
import { makeVictim } from "./http/victim.ts"
import { type Headers, type Sender, senders } from "./requestSenders.ts"

interface Requested {
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** The requests that reach a web server. */
const requestsOf = ({ send, status = 403 }: Sender, headers: Headers = {}) =>
  Effect.gen(function* () {
    const requests: Array<Requested> = []
    const { url } = yield* makeVictim((request, response) => {
      requests.push({ url: request.url ?? "", headers: request.headers })
      response.writeHead(status).end()
    })
    yield* Effect.exit(send(`${url}/`, headers))
    assert.isNotEmpty(requests)
    return requests
  })

const agents = (requests: ReadonlyArray<Requested>) => [
  ...new Set(requests.map(({ headers }) => headers["user-agent"]))
]

describe("the User-Agent", () => {
  it.live.each(Object.entries(senders))("names this package and its version in the requests of %s", ([, sender]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(agents(yield* requestsOf(sender)), [`a2c-smcp/${packageVersion}`])
    })
  )

  it.live.each(
    Object.entries(senders)
      .filter(([, { configurable }]) => configurable)
      .flatMap(([name, sender]) =>
        ["User-Agent", "user-agent", "USER-AGENT"].map((header) => [name, header, sender] as const)
      )
  )("is that of the configured headers in the requests of %s: %s", ([, header, sender]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(agents(yield* requestsOf(sender, { [header]: "acme/1" })), ["acme/1"])
    })
  )

  it.live("stands in the requests of OAuth for metadata and for the registration", () =>
    Effect.gen(function* () {
      const paths = (yield* requestsOf(senders.OAuth)).map(({ url }) => url)
      assert.includeMembers(paths, ["/", "/.well-known/oauth-protected-resource", "/register"])
    })
  )
})
