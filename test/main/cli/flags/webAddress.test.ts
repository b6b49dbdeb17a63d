import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { a2cInProcess } from "../inProcess.ts"
import { a2c, node, cli, temporaryFile } from "../../processes.ts"

const expectedUrl = "expected a URL with its scheme, like http://127.0.0.1:7070 or https://[2001:db8::1]"

/** Texts that are no URL of HTTP, or whose host is missing. */
const noUrls = [
  "127.0.0.1:7070",
  "localhost:7070",
  "a2c.example:7070/smcp",
  "a2c.example",
  "//a2c.example:7070",
  "http:a2c.example",
  "http://",
  "http://::1:7070",
  "http://a2c.example:port",
  "ftp://a2c.example",
  "file:///smcp",
  "http://a2c example",
  "-",
  " ",
  ""
]

describe("a flag of a URL", () => {
  describe.each([
    ["--server", "agent", "--office", "o", "members", "--server"],
    ["--server", "agent", "--office", "o", "mcp", "config", "claude", "--server"],
    ["--server", "computer", "--server"],
    ["--jwt-jwks", "server", "--jwt-jwks"],
    ["--dpe-url", "computer", "--dpe-url"],
    ["--otlp", "server", "--otlp"],
    ["--url", "agent", "--office", "o", "mcp", "config", "claude", "--url"]
  ])("%s of a2c %s", (flag, ...args) => {
    it.live("rejects a text that is no URL of HTTP", () =>
      Effect.gen(function* () {
        for (const text of noUrls) {
          const { stderr } = yield* a2cInProcess(...args.slice(0, -1), `${args.at(-1)}=${text}`)
          assert.include(stderr, `${flag}: ${expectedUrl}`, text)
        }
      })
    )
  })

  it.live("is also checked in its variable and in the file of flags", () =>
    Effect.gen(function* () {
      for (const value of ["localhost:7070", "//a2c.example"]) {
        const child = yield* node([cli, "agent", "--office", "o", "members"], { A2C_SERVER: value })
        assert.deepStrictEqual([yield* child.ended, child.stdout()], [1, ""])
        assert.include(child.stderr(), `a2c: --server: ${expectedUrl}\n`)
      }
      const file = yield* temporaryFile("a.yaml", "jwt-jwks: idp.example:443/keys")
      const { failure } = yield* a2cInProcess("server", "--config", file)
      assert.include(String(failure), `a.yaml:1:1: error: jwt-jwks: --jwt-jwks: ${expectedUrl}`)
    })
  )

  it.live("quotes no secret of the text", () =>
    Effect.gen(function* () {
      for (const text of ["user:hunter2@a2c.example:7070", "a2c.example?key=hunter2"]) {
        const { failure, stderr } = yield* a2cInProcess("agent", "--office", "o", "--server", text, "members")
        assert.include(stderr, "--server: ")
        assert.notInclude(`${stderr}${String(failure)}`, "hunter2")
      }
    })
  )
})

/** Flags with values that would have no effect. */
const withoutEffect: ReadonlyArray<
  readonly [flag: string, args: ReadonlyArray<string>, values: ReadonlyArray<string>]
> = [
  ["--allow-origin", ["server"], ["https://*.app.example", "https://*", "app.example", "app.example:8080", "//app"]],
  ["--allow-origin", ["server"], ["https://app.example/path", "https://app.example?a", "https://app.example/#a"]],
  [
    "--allow-origin",
    ["server"],
    ["ws://app.example", "file:///", "chrome-extension://", "https://u@app.example", "https://.example", ""]
  ],
  ["--allow-origin", ["tools", "serve", "missing"], ["https://*.app.example", "app.example", "https://app.example/a"]],
  ["--app-origin", ["server"], ["https://*.app.example", "app.example", "https://app.example/path", "*", "null"]],
  ["--allow-host", ["tools", "serve", "missing"], ["http://tools", "tools:8000", "*.tools", "tools/", "a b", ""]],
  ["--path", ["server"], ["/é", "/a b", "/a?b", "/a#b", "/a/../b", "/%2e%2e/a", "/./a", "//a", "/a\\b", '/a"b', "/a*"]],
  ["--path", ["server"], ["", "/", "smcp", "/smcp/", "http://host/smcp"]],
  ["--path", ["server"], ["/healthz", "/readyz", "/metrics", "/status", "/office", "/office/api"]]
]

describe("a flag whose value would have no effect", () => {
  for (const [flag, args, values] of withoutEffect) {
    it.live(`fails the start of a2c ${args.join(" ")} for ${flag} ${values.join(" ")}`, () =>
      Effect.gen(function* () {
        for (const value of values) {
          const { stderr } = yield* a2cInProcess(...args, "--port", "0", `${flag}=${value}`)
          assert.match(
            stderr,
            new RegExp(`Invalid value for flag ${flag}: .* Expected: an? |Missing value for flag ${flag}`),
            value
          )
        }
      })
    )
  }

  it.live("fails the start for its key in the file of flags", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("a.yaml", "path: [/smcp, /office]\nallow-origin: https://*.app.example")
      const message = String((yield* a2cInProcess("server", "--config", file)).failure)
      assert.include(message, "a.yaml:1:1: error: path: expected a path like /smcp")
      assert.include(message, "a.yaml:2:1: error: allow-origin: expected an origin like")
    })
  )
})

/** The origin that a server lets read its answer. */
const allowedBy = (url: string, origin: string) =>
  Effect.promise(() =>
    fetch(`${new URL(url).origin}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`, { headers: { origin } })
  ).pipe(Effect.map((response) => response.headers.get("access-control-allow-origin")))

describe("an allowed origin", () => {
  it.live("names a browser extension or an application with a web view", () =>
    Effect.gen(function* () {
      const origins = ["chrome-extension://abcdefgh", "capacitor://localhost", "app://desk:8080"]
      const server = yield* a2c("server", "--port", "0", ...origins.flatMap((origin) => ["--allow-origin", origin]))
      const [url = ""] = /http:\S+/.exec(yield* server.prints("listening on ")) ?? []
      const allowed = yield* Effect.forEach(origins, (origin) => allowedBy(url, origin))
      assert.deepStrictEqual(allowed, origins)
    })
  )

  it.live(
    "matches with a slash at its end, in upper case, with the port of its scheme and as an international name",
    () =>
      Effect.gen(function* () {
        const origins = ["https://a.example/", "HTTPS://B.Example", "https://c.example:443", "https://bücher.example"]
        const server = yield* a2c("server", "--port", "0", ...origins.flatMap((origin) => ["--allow-origin", origin]))
        const [url = ""] = /http:\S+/.exec(yield* server.prints("listening on ")) ?? []
        const sent = ["https://a.example", "https://b.example", "https://c.example", "https://xn--bcher-kva.example"]
        assert.deepStrictEqual(yield* Effect.forEach(sent, (origin) => allowedBy(url, origin)), sent)
        assert.isNull(yield* allowedBy(url, "https://d.example"))
      })
  )
})
