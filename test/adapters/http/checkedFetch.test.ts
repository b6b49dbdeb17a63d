import type { lookup as dnsLookup, LookupAddress } from "node:dns"
import { getDefaultAutoSelectFamily, setDefaultAutoSelectFamily } from "node:net"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type FetchPolicy, makeCheckedFetch, RequestForbidden } from "../../../src/adapters/http/checkedFetch.ts"
import { makeVictim } from "./victim.ts"
import { liveWith } from "../../testWith.ts"

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

/** A test with a web server. */
const live = liveWith(makeVictim())

const makeController = () => new AbortController()

const outcome = (fetching: Promise<Response>) =>
  Effect.promise(() =>
    fetching.then(
      async (response) => `${response.status} ${await response.text()}`,
      (error: unknown) => (error instanceof RequestForbidden ? `forbidden ${error.message}` : String(error))
    )
  )

describe("a checked fetch", () => {
  live("rejects every spelling of a forbidden address without a request", function* ({ port, requests }) {
    const fetch = yield* makeCheckedFetch(onlyKinds("public"))
    const hosts = ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "127.0.0.2", "0", "[::]", "[::1]"]
    for (const host of [...hosts, "[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "localhost"]) {
      assert.match(yield* outcome(fetch(`http://${host}:${port}/`)), /^forbidden http:/, host)
    }
    assert.deepStrictEqual(requests, [])
  })

  live("rejects a name with a forbidden address", function* ({ port, requests }) {
    const fetch = yield* makeCheckedFetch(onlyKinds("public"), answering(["127.0.0.1", "::1"]))
    assert.strictEqual(
      yield* outcome(fetch(`http://app.example:${port}/?token=s3cret`)),
      `forbidden http://app.example:${port}: the name has a loopback address, which is not allowed here`
    )
    assert.deepStrictEqual(requests, [])
  })

  live("checks the address of every connection", function* ({ port, requests }) {
    const fetch = yield* makeCheckedFetch(onlyKinds("loopback"), answering(["127.0.0.1"], ["10.0.0.1"]))
    const url = `http://app.example:${port}/`
    assert.strictEqual(yield* outcome(fetch(url)), "200 inside")
    assert.match(yield* outcome(fetch(url)), /^forbidden .* private address/)
    assert.strictEqual(requests.length, 1)
  })

  live("connects only to the allowed addresses of a name", function* ({ port }) {
    const fetch = yield* makeCheckedFetch(onlyKinds("loopback"), answering(["169.254.169.254", "127.0.0.1"]))
    assert.strictEqual(yield* outcome(fetch(`http://app.example:${port}/`)), "200 inside")
  })

  it.live("does not follow redirects", () =>
    Effect.gen(function* () {
      const victim = yield* makeVictim()
      const { url } = yield* makeVictim((_, response) => void response.writeHead(302, { Location: victim.url }).end())
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      assert.strictEqual((yield* Effect.promise(() => fetch(url))).status, 302)
      assert.deepStrictEqual(victim.requests, [])
    })
  )

  it.live.each(["user:s3cret@", "user@", ":s3cret@"])("rejects the credentials %s in a URL", (credentials) =>
    Effect.gen(function* () {
      const { port, requests } = yield* makeVictim()
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      assert.strictEqual(
        yield* outcome(fetch(`http://${credentials}127.0.0.1:${port}/`)),
        `forbidden http://127.0.0.1:${port}: the URL has credentials`
      )
      assert.deepStrictEqual(requests, [])
    })
  )

  it.live("rejects with a tag", () =>
    Effect.gen(function* () {
      const fetch = yield* makeCheckedFetch(onlyKinds())
      const error = yield* Effect.promise(() => fetch("http://127.0.0.1/").catch((reason: unknown) => reason))
      assert.include(error, { _tag: "RequestForbidden" })
    })
  )

  it.live("reports every kind of address that a name has", () =>
    Effect.gen(function* () {
      const fetch = yield* makeCheckedFetch(onlyKinds("public"), answering(["127.0.0.1", "::1", "10.0.0.1"]))
      assert.include(yield* outcome(fetch("http://app.example/")), "a loopback, private address")
    })
  )

  it.live("treats an answer that is not an address as reserved", () =>
    Effect.gen(function* () {
      const kinds: Array<string> = []
      const policy: FetchPolicy = {
        checkUrl: () => undefined,
        allowsAddress: (_, kind) => {
          kinds.push(kind)
          return false
        }
      }
      const fetch = yield* makeCheckedFetch(policy, answering(["app.internal"]))
      assert.match(yield* outcome(fetch("http://app.example/")), /^forbidden /)
      assert.deepStrictEqual(kinds, ["reserved"])
    })
  )

  it.live("fails with the error of the name lookup", () =>
    Effect.gen(function* () {
      const lookup = (
        _name: string,
        _options: unknown,
        callback: (error: Error, found: Array<LookupAddress>) => void
      ) => callback(new Error("getaddrinfo ENOTFOUND"), [])
      const fetch = yield* makeCheckedFetch(onlyKinds("public"), lookup as unknown as typeof dnsLookup)
      assert.strictEqual(yield* outcome(fetch("http://app.example/")), "Error: getaddrinfo ENOTFOUND")
    })
  )

  it.live("connects to the first allowed address where the platform tries only one", () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const previous = getDefaultAutoSelectFamily()
          setDefaultAutoSelectFamily(false)
          return previous
        }),
        (previous) => Effect.sync(() => setDefaultAutoSelectFamily(previous))
      )
      const { port } = yield* makeVictim()
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"), answering(["169.254.169.254", "127.0.0.1"]))
      assert.strictEqual(yield* outcome(fetch(`http://app.example:${port}/`)), "200 inside")
    })
  )

  it.live("passes the method to the policy, GET by default", () =>
    Effect.gen(function* () {
      const methods: Array<string> = []
      const checkUrl = (_: URL, method: string) => {
        methods.push(method)
        return "forbidden"
      }
      const fetch = yield* makeCheckedFetch({ checkUrl, allowsAddress: () => true })
      yield* outcome(fetch("http://127.0.0.1/"))
      yield* outcome(fetch("http://127.0.0.1/", { method: "POST" }))
      assert.deepStrictEqual(methods, ["GET", "POST"])
    })
  )

  it.live("accepts only responses without content encoding", () =>
    Effect.gen(function* () {
      const { url } = yield* makeVictim(
        (request, response) => void response.end(String(request.headers["accept-encoding"]))
      )
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      assert.strictEqual(yield* outcome(fetch(url, { headers: { "Accept-Encoding": "gzip" } })), "200 identity")
    })
  )

  live("rejects a body that is neither a text nor a form", function* ({ requests, url }) {
    const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
    assert.match(yield* outcome(fetch(url, { method: "POST", body: new Uint8Array([1]) })), /^Error: the body/)
    assert.deepStrictEqual(requests, [])
  })

  live("sends a request whose body is null", function* ({ url }) {
    const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
    assert.strictEqual(yield* outcome(fetch(url, { method: "POST", body: null })), "200 inside")
  })

  it.live("fails when the status is no HTTP status", () =>
    Effect.gen(function* () {
      const { url } = yield* makeVictim((_, response) => void response.writeHead(600).end())
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      assert.strictEqual(yield* outcome(fetch(url)), "Error: invalid HTTP status 600")
    })
  )

  it.live.each([204, 205, 304])("accepts a response with status %s, which has no body", (status) =>
    Effect.gen(function* () {
      const { url } = yield* makeVictim((_, response) => void response.writeHead(status).end())
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      const response = yield* Effect.promise(() => fetch(url))
      assert.deepStrictEqual([response.status, response.body], [status, null])
    })
  )

  it.live("reuses the connection after a response without body", () =>
    Effect.gen(function* () {
      const ports: Array<number | undefined> = []
      const { url } = yield* makeVictim((request, response) => {
        ports.push(request.socket.remotePort)
        response.writeHead(204, { Connection: "keep-alive" }).end()
      })
      const fetch = yield* makeCheckedFetch(onlyKinds("loopback"))
      yield* Effect.promise(() => fetch(url))
      yield* Effect.promise(() => setImmediate()) // the client frees the connection when the response has ended
      yield* Effect.promise(() => fetch(url))
      assert.strictEqual(ports[0], ports[1])
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
