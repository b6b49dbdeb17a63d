import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { a2c, cli, node, program, startGateway, temporaryFile } from "../processes.ts"
import { a2cInProcess } from "./inProcess.ts"

const warning = "secret on the command line, where other processes can read it: give @FILE or a variable"

/** Command lines that end at once, and take a secret where `SECRET` stands. */
const commands: ReadonlyArray<readonly [flag: string, ...args: ReadonlyArray<string>]> = [
  ["--redis", "server", "--redis", "SECRET", "--tls-cert", "missing"],
  ["--token", "agent", "--server", "http://127.0.0.1:1", "--office", "o", "mcp", "--token", "SECRET"],
  ["--token", "devices", "gateway", "--stdio", "--http", "0", "--token", "SECRET"],
  ["--mcp-token", "devices", "gateway", "--stdio", "--http", "0", "--mcp-token", "SECRET"],
  ["--token", "devices", "connect", "--to", "127.0.0.1:1", "--token", "SECRET"],
  ["--key", "tools", "serve", "missing", "--host", "192.0.2.1", "--key", "SECRET"]
]

const run = (args: ReadonlyArray<string>, secret: string) =>
  a2cInProcess(...args.map((arg) => (arg === "SECRET" ? secret : arg)))

const warnings = ({ stderr }: { readonly stderr: string }) =>
  stderr.split("\n").filter((line) => line.includes(warning))

const secret = "redis://user:hunter2@127.0.0.1:1"

describe("flag of a secret", () => {
  for (const [flag, ...args] of commands) {
    const command = args.filter((arg) => /^[a-z]+$/.test(arg) && arg !== "missing" && arg !== "o").join(" ")

    it.live(`warns once of a literal ${flag} of a2c ${command}, without quoting it`, () =>
      Effect.gen(function* () {
        const outcome = yield* run(args, secret)
        assert.deepStrictEqual(
          warnings(outcome).map((line) => line.slice(line.indexOf("flags="))),
          [`flags=["${flag}"]`]
        )
        assert.notInclude(`${outcome.stdout}${outcome.stderr}${String(outcome.failure)}`, "hunter2")
      })
    )

    it.live(`reads ${flag} of a2c ${command} from a file without a warning`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(warnings(yield* run(args, `@${yield* temporaryFile("secret", secret)}`)), [])
      })
    )

    it.live(`names the missing file of ${flag} of a2c ${command}`, () =>
      Effect.gen(function* () {
        const { stderr } = yield* run(args, "@/missing/file")
        assert.include(stderr, `${flag}: the file /missing/file does not exist; a literal value is written with @@`)
      })
    )
  }

  it.live("warns once of several literal secrets", () =>
    Effect.gen(function* () {
      const args = ["--stdio", "--http", "0", "--token", "one", "--mcp-token", "two"]
      const outcome = yield* a2cInProcess("devices", "gateway", ...args)
      assert.strictEqual(warnings(outcome).length, 1)
      assert.include(outcome.stderr, 'flags=["--token","--mcp-token"]')
    })
  )

  it.live("accepts a Redis URL without a password without a warning", () =>
    Effect.gen(function* () {
      const outcome = yield* a2cInProcess("server", "--redis", "redis://localhost:6379", "--tls-cert", "missing")
      assert.deepStrictEqual(warnings(outcome), [])
    })
  )

  it.live("gives the content of its file to the command, and that of its variable", () =>
    Effect.gen(function* () {
      const token = yield* temporaryFile("token", "s3cret\n")
      const config = yield* temporaryFile("mcp.json", '{"mcpServers": {}}')
      const { address: to } = yield* startGateway("--token", `@${token}`)
      const connect = ["devices", "connect", "--to", to, "--config", config]
      yield* (yield* a2c(...connect, "--name", "one", "--token", `@${token}`)).prints("registered ")
      yield* (yield* node([cli, ...connect, "--name", "two"], { A2C_DEVICES_TOKEN: "s3cret" })).prints("registered ")
      const wrong = yield* node([cli, ...connect, "--name", "three"], { A2C_DEVICES_TOKEN: `@${token}` })
      assert.strictEqual(yield* wrong.ended, 1)
    })
  )

  it.live("takes a literal value that begins with @ when it is written with @@", () =>
    Effect.gen(function* () {
      const { address: to } = yield* startGateway("--token", "@@s3cret")
      const config = yield* temporaryFile("mcp.json", '{"mcpServers": {}}')
      const device = yield* node([cli, "devices", "connect", "--to", to, "--name", "desk", "--config", config], {
        A2C_DEVICES_TOKEN: "@s3cret"
      })
      yield* device.prints("registered ")
    })
  )
})

describe("a secret from a pipe", () => {
  const words = (...args: ReadonlyArray<string>) => [process.execPath, cli, ...args].map((arg) => `'${arg}'`).join(" ")

  /** Each script becomes a command with the secret s3cret in a pipe: a child of the shell would outlive the test. */
  const pipes: ReadonlyArray<readonly [title: string, script: (command: string) => string]> = [
    ["a process substitution", (command) => `exec ${command} @<(sleep 0.2; echo s3cret)`],
    ["stdin of a pipeline", (command) => `shopt -s lastpipe; echo s3cret | exec ${command} @/dev/stdin`],
    ["an inherited descriptor", (command) => `exec 9< <(echo s3cret); exec ${command} @/dev/fd/9`],
    ["a here-string", (command) => `exec ${command} @/proc/self/fd/0 <<< s3cret`]
  ]

  for (const [title, script] of pipes) {
    it.live(`reaches the command from ${title}`, () =>
      Effect.gen(function* () {
        const { address: to } = yield* startGateway("--token", "s3cret")
        const config = yield* temporaryFile("mcp.json", '{"mcpServers": {}}')
        const command = words("devices", "connect", "--to", to, "--name", "desk", "--config", config, "--token")
        yield* (yield* program("bash", ["-c", script(command)])).prints("registered ")
      })
    )
  }

  it.live("reaches the command from a stdin that is a socket", () =>
    Effect.gen(function* () {
      const child = yield* a2c("server", "--port", "0", "--redis", "@/dev/stdin")
      yield* child.types("http://user:s3cret@host")
      yield* child.closesStdin
      assert.strictEqual(yield* child.ended, 1)
      assert.include(child.stderr(), "Invalid Redis URL")
    })
  )

  it.live("is read once when the file of flags names it", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("a.yaml", 'redis: "@/dev/fd/9"')
      const command = words("server", "--port", "0", "--config", file)
      const child = yield* program("bash", ["-c", `exec 9< <(echo http://host); exec ${command}`])
      assert.strictEqual(yield* child.ended, 1)
      assert.include(child.stderr(), "Invalid Redis URL")
    })
  )
})

describe("value of an input", () => {
  const config = temporaryFile(
    "mcp.json",
    JSON.stringify({
      inputs: [
        { type: "promptString", id: "token", description: "" },
        { type: "pickString", id: "size", description: "", options: ["S", "M"] }
      ],
      servers: { s: { type: "stdio", command: "${input:token}", args: ["${input:size}"] } }
    })
  )

  it.live("causes one warning when it is literal, unless it is an option of the configuration", () =>
    Effect.gen(function* () {
      const check = ["computer", "check", yield* config]
      const outcome = yield* a2cInProcess(...check, "--input", "token=hunter2", "--input", "size=M")
      assert.strictEqual(warnings(outcome).length, 1)
      assert.include(outcome.stderr, 'flags=["--input token"]')
      assert.notInclude(`${outcome.stdout}${outcome.stderr}`, "hunter2")
      assert.deepStrictEqual(warnings(yield* a2cInProcess(...check, "--input", "size=M")), [])
    })
  )

  it.live("is read from a file", () =>
    Effect.gen(function* () {
      const size = yield* temporaryFile("size", "M\n")
      const { stderr, stdout } = yield* a2cInProcess("computer", "check", yield* config, "--input", `size=@${size}`)
      assert.include(stdout, "input size: pickString, given on the command line")
      assert.notInclude(stderr, warning)
    })
  )

  it.live("is not quoted when its key is missing", () =>
    Effect.gen(function* () {
      const { stderr } = yield* a2cInProcess("computer", "check", yield* config, "--input", "hunter2")
      assert.include(stderr, "--input: expected KEY=@FILE or KEY=VALUE")
      assert.notInclude(stderr, "hunter2")
    })
  )

  it.live("causes a warning in a command of --run", () =>
    Effect.gen(function* () {
      const run = ["--run", "input token hunter2", "--run", "exit"]
      const { stderr } = yield* a2cInProcess("computer", "--config", yield* temporaryFile("a.json", "{}"), ...run)
      assert.include(stderr, 'flags=["--run"]')
    })
  )
})

describe("flag of a URL", () => {
  for (const [flag, ...args] of [
    ["--server", "agent", "--office", "o", "--server", "URL", "members"],
    ["--jwt-jwks", "server", "--jwt-jwks", "URL"],
    ["--dpe-url", "computer", "--dpe-url", "URL"],
    ["--otlp", "server", "--otlp", "URL"],
    ["--url", "agent", "--office", "o", "mcp", "config", "claude", "--url", "URL"]
  ] as const) {
    it.live(`rejects a password in ${flag} without quoting it`, () =>
      Effect.gen(function* () {
        const outcome = yield* a2cInProcess(...args.map((arg) => (arg === "URL" ? "http://user:hunter2@host" : arg)))
        assert.include(outcome.stderr, `${flag}: the URL must hold no user and no password`)
        assert.notInclude(outcome.stderr, "hunter2")
      })
    )
  }
})
