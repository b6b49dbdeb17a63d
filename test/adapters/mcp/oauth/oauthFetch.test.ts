import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { forbiddenReason, makeCheckedFetch, RequestForbidden } from "../../../../src/adapters/http/checkedFetch.ts"
import { makeOAuthPolicy } from "../../../../src/adapters/mcp/oauth/oauthFlow.ts"

const server = (url: string, address?: string) => ({ url: new URL(url), address })

const inTheInternet = server("https://mcp.example/mcp", "8.8.8.8")
const behindAProxy = server("https://mcp.example/mcp")
const plainInTheInternet = server("http://mcp.example/mcp", "8.8.8.8")
const inACompany = server("https://mcp.corp.example/mcp", "10.1.2.3")
const here = server("http://localhost:3000/mcp", "127.0.0.1")
const hereBehindAProxy = server("http://localhost:3000/mcp")
const onTheLink = server("http://printer.example/mcp", "169.254.7.7")
const behindALocalProxy = server("https://mcp.example/mcp", "198.18.0.5")

const allowed = "Request aborted"

/** What becomes of a request, which is aborted before it connects. */
const verdict = (from: ReturnType<typeof server>, url: string, method = "POST") =>
  Effect.gen(function* () {
    const fetch = yield* makeCheckedFetch(makeOAuthPolicy(from.url, from.address))
    return yield* Effect.promise(() =>
      fetch(url, { method, signal: AbortSignal.abort() }).then(
        () => "answered",
        (error: unknown) => (error instanceof RequestForbidden ? error.message : allowed)
      )
    )
  }).pipe(Effect.scoped)

const special = [
  "https://0.0.0.0/",
  "https://[::]/",
  "https://169.254.169.254/latest/meta-data",
  "https://[fe80::1]/",
  "https://224.0.0.1/",
  "https://255.255.255.255/",
  "https://192.0.2.1/",
  "https://[2002:a00:1::]/",
  "https://[ff02::1]/"
]
const ownMachine = ["https://127.0.0.1/", "https://127.9.9.9/", "https://[::1]/", "https://2130706433/"]
const ownNetwork = ["https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.1.1/", "https://100.64.0.1/"]
const uniqueLocal = ["https://[fd00::1]/", "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a00:1]/"]
const internet = ["https://1.1.1.1/token", "https://[2606:4700::1]/token", "https://id.example/token"]

describe("OAuth request for an MCP server", () => {
  const decides = (
    title: string,
    from: ReturnType<typeof server>,
    open: ReadonlyArray<string>,
    closed: ReadonlyArray<string>
  ) =>
    it.live(title, () =>
      Effect.gen(function* () {
        for (const url of open) assert.strictEqual(yield* verdict(from, url), allowed, url)
        for (const url of closed) assert.notStrictEqual(yield* verdict(from, url), allowed, url)
      })
    )

  const inside = [...ownMachine, ...ownNetwork, ...uniqueLocal, "https://198.18.0.1/"]

  decides("in the internet stays in the internet", inTheInternet, internet, [...special, ...inside])
  decides("behind a proxy stays in the internet", behindAProxy, internet, [...special, ...inside])
  decides(
    "in a private network reaches private networks",
    inACompany,
    [...internet, ...ownNetwork, ...uniqueLocal],
    [...special, ...ownMachine]
  )
  decides(
    "on this machine reaches this machine and private networks",
    here,
    [...internet, ...ownMachine, ...ownNetwork, ...uniqueLocal],
    special
  )
  decides(
    "on this machine and behind a proxy reaches this machine and private networks",
    hereBehindAProxy,
    [...internet, ...ownMachine, ...ownNetwork, ...uniqueLocal],
    special
  )
  decides(
    "with a link-local address reaches itself",
    onTheLink,
    ["https://169.254.7.7/", ...internet],
    [...special, ...inside]
  )
  decides(
    "with a benchmark address reaches benchmark addresses, which local proxies give to every name",
    behindALocalProxy,
    [...internet, "https://198.18.0.6/"],
    [...special, ...ownMachine, ...ownNetwork]
  )

  it.live("uses HTTPS except on loopback, and for the metadata of the server itself", () =>
    Effect.gen(function* () {
      const required = (origin: string) => `${origin}: https is required`
      assert.strictEqual(yield* verdict(inTheInternet, "http://id.example/token"), required("http://id.example"))
      assert.strictEqual(yield* verdict(here, "http://10.0.0.1/token"), required("http://10.0.0.1"))
      assert.strictEqual(yield* verdict(here, "http://127.0.0.1:9/token"), allowed)
      assert.strictEqual(yield* verdict(here, "http://[::1]:9/token"), allowed)
      assert.strictEqual(yield* verdict(plainInTheInternet, "http://mcp.example/.well-known/x", "GET"), allowed)
      for (const [url, method] of [
        ["http://mcp.example/token", "POST"],
        ["http://evil-mcp.example/.well-known/x", "GET"],
        ["http://mcp.example.evil.example/.well-known/x", "GET"],
        ["http://mcp.example:81/.well-known/x", "GET"]
      ] as const) {
        assert.include(yield* verdict(plainInTheInternet, url, method), "https is required", url)
      }
      for (const url of ["file:///etc/passwd", "ftp://id.example/", "ftp://127.0.0.1/", "ws://localhost/", "data:,x"]) {
        assert.include(yield* verdict(here, url, "GET"), "https is required", url)
      }
    })
  )
})

describe("authorization page of an MCP server", () => {
  const reasonFor = ({ url, address }: ReturnType<typeof server>, page: string) =>
    forbiddenReason(makeOAuthPolicy(url, address), new URL(page), "POST")

  it("is allowed over HTTPS in the internet", () =>
    assert.isUndefined(reasonFor(inTheInternet, "https://id.example/authorize")))

  it("is forbidden without HTTPS, even at the origin of the server", () =>
    assert.isDefined(reasonFor(plainInTheInternet, "http://mcp.example/authorize")))

  it("is forbidden with credentials", () =>
    assert.isDefined(reasonFor(inTheInternet, "https://user@id.example/authorize")))

  it("is forbidden on this machine for a server in the internet", () =>
    assert.isDefined(reasonFor(inTheInternet, "http://127.0.0.1/authorize")))

  it("is allowed on this machine for a server on this machine", () =>
    assert.isUndefined(reasonFor(here, "http://127.0.0.1/authorize")))

  it.each(["file://localhost/etc/passwd", "ftp://127.0.0.1/", "ws://localhost/"])("is forbidden as %s", (page) =>
    assert.isDefined(reasonFor(here, page))
  )
})
