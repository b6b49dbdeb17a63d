import type { lookup as dnsLookup, LookupAddress } from "node:dns"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type FetchPolicy, makeCheckedFetch, RequestForbidden } from "../../../src/adapters/http/checkedFetch.ts"
import { makeVictim } from "./victim.ts"

const onlyKinds = (...kinds: ReadonlyArray<string>): FetchPolicy => ({
  checkUrl: () => undefined,
  allowsAddress: (_, kind) => kinds.includes(kind)
})

/** A lookup that gives these addresses, one list per call. */
const answering = (...answers: ReadonlyArray<ReadonlyArray<string>>) => {
  let calls = 0
  const lookup = (_name: string, _options: unknown, callback: (error: null, found: Array<LookupAddress>) => void) => {
    const found = answers[Math.min(calls, answers.length - 1)] ?? []
    calls += 1
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    )
  }
  return lookup as unknown as typeof dnsLookup
}

const makeController = () => new AbortController()

const outcome = (fetching: Promise<Response>) =>
  Effect.promise(() =>
    fetching.then(
      async (response) => `${response.status} ${await response.text()}`,
      (error: unknown) => (error instanceof RequestForbidden ? `forbidden ${error.message}` : String(error))
    )
  )

describe("a checked fetch", () => {
  it.live("rejects every spelling of a forbidden address without a request", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* makeVictim()
      const fetch = yield* makeCheckedFetch(onlyKinds("public"))
      const hosts = ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "127.0.0.2", "0", "[::]", "[::1]"]
      for (const host of [...hosts, "[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "localhost"]) {
        assert.match(yield* outcome(fetch(`http://${host}:${port}/`)), /^forbidden http:/, host)
      }
      assert.deepStrictEqual(requests, [])
    })
  )

  it.live("rejects a name with a forbidden address", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* makeVictim()
      const fetch = yield* makeCheckedFetch(onlyKinds("public"), answering(["127.0.0.1", "::1"]))
      assert.strictEqual(
        yield* outcome(fetch(`http://app.example:${port}/?token=s3cret`)),
        `forbidden http://app.example:${port}: the name has a loopback address, which is not allowed here`
      )
      assert.deepStrictEqual(requests, [])
    })
  )

  it.live("checks the address of every connection", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* makeVictim()
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"), answering(["127.0.0.1"], ["10.0.0.1"]))
      const url = `http://app.example:${port}/`
      assert.strictEqual(yield* outcome(fetch(url)), "200 inside")
      assert.match(yield* outcome(fetch(url)), /^forbidden .* private address/)
      assert.strictEqual(requests.length, 1)
    })
  )

  it.live("connects only to the allowed addresses of a name", () =>
    Effect.gen(function* () {
      const { port } = yield* makeVictim()
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"), answering(["169.254.169.254", "127.0.0.1"]))
      assert.strictEqual(yield* outcome(fetch(`http://app.example:${port}/`)), "200 inside")
    })
  )

  it.live("does not follow redirects", () =>
    Effect.gen(function* () {
      const victim = yield* makeVictim()
      const { url } = yield* makeVictim((_, response) => void response.writeHead(302, { Location: victim.url }).end())
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      assert.strictEqual((yield* Effect.promise(() => fetch(url))).status, 302)
      assert.deepStrictEqual(victim.requests, [])
    })
  )

  it.live("rejects credentials in a URL", () =>
    Effect.gen(function* () {
      const { port } = yield* makeVictim()
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      const url = `http://127.0.0.1:${port}`
      assert.strictEqual(
        yield* outcome(fetch(`http://user:s3cret@127.0.0.1:${port}/`)),
        `forbidden ${url}: the URL has credentials`
      )
    })
  )

  it.live("sends method, headers and body, and reads the response", () =>
    Effect.gen(function* () {
      const { url } = yield* makeVictim((request, response) => {
        request.setEncoding("utf8").on("data", (text: string) => {
          response.writeHead(201, { "X-Seen": String(request.headers["x-mine"]) }).end(`${request.method} ${text}`)
        })
      })
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      const response = yield* Effect.promise(() =>
        fetch(url, { method: "POST", headers: { "x-mine": "1" }, body: new URLSearchParams({ a: "b c" }) })
      )
      assert.deepStrictEqual([response.status, response.headers.get("x-seen")], [201, "1"])
      assert.strictEqual(yield* Effect.promise(() => response.text()), "POST a=b+c")
    })
  )

  it.live("ends with its signal", () =>
    Effect.gen(function* () {
      const controller = makeController()
      const { url } = yield* makeVictim(() => controller.abort())
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      assert.include(yield* outcome(fetch(url, { signal: controller.signal })), "AbortError")
    })
  )
})
