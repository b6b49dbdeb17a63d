import { assert, describe, it } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect } from "effect"
import { expandServerConfig } from "../../../../src/main/cli/server/flagsFile.ts"
import { a2c, node, sourceCli, temporaryFile } from "../../processes.ts"

const expand = (args: ReadonlyArray<string>, env: { readonly [name: string]: string } = {}) =>
  expandServerConfig(args).pipe(
    Effect.provide(NodeServices.layer),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
  )

const reasonsOf = Effect.fnUntraced(function* (name: string, text: string) {
  const file = yield* temporaryFile(name, text)
  const { message } = yield* Effect.flip(expand(["server", "--config", file]))
  return message.replaceAll(file, name).split("\n")
})

const yaml = `# The Server of the team
host: 0.0.0.0
port: 7171
insecure: true
validate: false
max-connections: 100
allow-origin:
  - https://one.example
  - https://two.example
jwt-right: [agent]
redis: redis://localhost:6379
log-level: debug
`

const words = [
  "--host=0.0.0.0",
  "--port=7171",
  "--insecure=true",
  "--validate=false",
  "--max-connections=100",
  "--allow-origin=https://one.example",
  "--allow-origin=https://two.example",
  "--jwt-right=agent",
  "--redis=redis://localhost:6379",
  "--log-level=debug"
]

describe("a2c server --config", () => {
  it.live("takes the names of flags with their values", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("server.yaml", yaml)
      assert.deepStrictEqual(yield* expand(["server", "--config", file]), ["server", ...words, "--config", file])
      assert.deepStrictEqual(yield* expand(["server", `--config=${file}`]), ["server", ...words, `--config=${file}`])
      assert.deepStrictEqual(yield* expand(["server"], { A2C_SERVER_CONFIG: file }), ["server", ...words])
      assert.deepStrictEqual(yield* expand(["--log-format", "json", "server", "--config", file]), [
        "--log-format",
        "json",
        "server",
        ...words,
        "--config",
        file
      ])
    })
  )

  it.live("reads JSON with comments", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("server.json", '{ "port": 0, /* free */ "jwt-office": ["team*"], }')
      const expanded = yield* expand(["server", "--config", file])
      assert.deepStrictEqual(expanded.slice(1, 3), ["--port=0", "--jwt-office=team*"])
      const empty = yield* temporaryFile("server.yml", "# nothing yet\n")
      assert.deepStrictEqual(yield* expand(["server", "--config", empty]), ["server", "--config", empty])
    })
  )

  it.live("gives flags and variables precedence over the file", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("server.yaml", yaml)
      const expanded = yield* expand(
        ["--log-level=warn", "server", "--config", file, "--port", "1", "--no-insecure", "--allow-origin", "*"],
        { A2C_HOST: "127.0.0.1", A2C_MAX_CONNECTIONS: "7" }
      )
      assert.deepStrictEqual(expanded.slice(2, -7), [
        "--validate=false",
        "--jwt-right=agent",
        "--redis=redis://localhost:6379"
      ])
    })
  )

  it.live("leaves other commands and requests for help alone", () =>
    Effect.gen(function* () {
      const env = { A2C_SERVER_CONFIG: "nowhere.yaml" }
      for (const args of [
        ["server", "status"],
        ["server", "--log-level", "debug", "status", "http://127.0.0.1:7070"],
        ["server", "key", "--list", "keys.json"],
        ["server", "health", "http://127.0.0.1:7070"],
        ["server", "--help"],
        ["computer", "--config", "mcp.json", "--office", "server"],
        ["agent", "call", "server"],
        []
      ]) {
        assert.deepStrictEqual(yield* expand(args, env), args)
      }
    })
  )

  it.live("reports unknown keys and wrong types with their positions", () =>
    Effect.gen(function* () {
      const text =
        "port: abc\nmax-conections: 5\nhost: true\ninsecure: 1\nallow-origin: [not an origin]\njwt-office: []\nconfig: x\npath: [a]"
      assert.deepStrictEqual(yield* reasonsOf("server.yaml", text), [
        "server.yaml:1:1: error: port: expected a finite number",
        "server.yaml:2:1: error: max-conections: unknown flag: did you mean 'max-connections'?",
        "server.yaml:3:1: error: host: expected a text or number",
        "server.yaml:4:1: error: insecure: expected true or false",
        "server.yaml:5:1: error: allow-origin: expected an origin like https://example.org, without a path, *. or another pattern, or * for any",
        "server.yaml:6:1: error: jwt-office: expected a list of texts",
        "server.yaml:7:1: error: config: unknown flag",
        "server.yaml:8:1: error: path: expected a path like /smcp, in the form of URLs, without * and a slash at its end, and not that of a page: /healthz, /readyz, /metrics, /status, /office"
      ])
      assert.deepStrictEqual(yield* reasonsOf("server.json", '{\n  "port": 70000 }'), [
        "server.json:2:3: error: port: expected a port from 0 to 65535"
      ])
    })
  )

  it.live("rejects secrets in the file, and never repeats them", () =>
    Effect.gen(function* () {
      const text = "redis: redis://user:s3cret@host:6379\njwt-jwks: https://user:s3cret@host/keys"
      const reasons = yield* reasonsOf("server.yaml", text)
      assert.deepStrictEqual(reasons, [
        'server.yaml:1:1: error: redis: a secret must not be in this file: give "@FILE", or the variable A2C_REDIS',
        "server.yaml:2:1: error: jwt-jwks: --jwt-jwks: the URL must hold no user and no password"
      ])
      const secret = yield* temporaryFile("redis.url", "redis://user:s3cret@host:6379")
      const file = yield* temporaryFile("server.yaml", `redis: "@${secret}"`)
      assert.include(yield* expand(["server", "--config", file]), `--redis=@${secret}`)
    })
  )

  it.live("rejects files that are not readable as flags", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(expand(["server", "--config", "nowhere.yaml"]))
      assert.strictEqual(message, "nowhere.yaml: error: file not found")
      const expected = "server.yaml: error: expected the names of flags with values, as port: 7070"
      assert.deepStrictEqual(yield* reasonsOf("server.yaml", "- port"), [expected])
      assert.match(
        (yield* reasonsOf("server.yaml", "port: 1\nport: 2"))[0] ?? "",
        /^server.yaml:2:1: error: invalid YAML/
      )
      const bomb = [
        "a: &a [x, x]",
        ...Array.from({ length: 20 }, (_, n) => `b${n}: &b${n} [*${n ? `b${n - 1}` : "a"}, *${n ? `b${n - 1}` : "a"}]`)
      ]
      assert.match((yield* reasonsOf("server.yaml", bomb.join("\n")))[0] ?? "", /invalid YAML|unknown flag/)
    })
  )

  it.live("starts a Server by the file", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile(
        "server.yaml",
        "port: 0\nvalidate: false\nrequire-role: true\nlog-format: json\n"
      )
      const server = yield* a2c("server", "--config", file)
      assert.match(yield* server.prints("listening on "), /^listening on http:\/\/127\.0\.0\.1:\d+$/)
      const broken = yield* node([sourceCli, "server", "--config", yield* temporaryFile("server.yaml", "prt: 0")])
      assert.strictEqual(yield* broken.ended, 1)
      assert.match(broken.stderr(), /^a2c: .*server\.yaml:1:1: error: prt: unknown flag: did you mean 'port'\?\n$/)
    })
  )
})
