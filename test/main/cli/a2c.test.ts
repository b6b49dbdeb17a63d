import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { io } from "socket.io-client"
import { descendants, gone } from "../../processes.ts"
import { a2c, cli, node, temporaryFile } from "../processes.ts"

const everything = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js")
const contract = fileURLToPath(new URL("../../fixtures/contractServer.ts", import.meta.url))

const stdio = (...args: ReadonlyArray<string>) => ({
  type: "stdio",
  default_tool_meta: { auto_apply: true },
  server_parameters: { command: process.execPath, args }
})

/** A Server process and its URL. */
const server = Effect.gen(function* () {
  const process = yield* a2c("server", "--port", "0")
  const url = (yield* process.prints("listening on ")).replace("listening on ", "")
  return { process, url }
})

/** A Computer process with these MCP servers. */
const computer = Effect.fnUntraced(function* (url: string, servers: object, name = "desk") {
  const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers }))
  const place = ["--server", url, "--office", "o", "--name", name, "--log-level", "debug"]
  const process = yield* a2c("computer", ...place, "--config", config)
  assert.strictEqual(yield* process.prints("joined office"), `joined office o as ${name}`)
  return process
})

interface PlainRequest {
  readonly req_id: string
  readonly params?: { readonly text?: unknown }
}

/** A plain Socket.IO client. */
const plainClient = Effect.fnUntraced(function* (url: string, role: string) {
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${url}/smcp`, { path: "/smcp", query: { a2c_version: "0.2.0" }, auth: { role }, forceNew: true })
    ),
    (one) => Effect.sync(() => one.disconnect())
  )
  return {
    on: (event: string, handle: (request: PlainRequest, ack: (answer: object) => void) => void) =>
      void socket.on(event, handle),
    emit: (event: string, body: object) =>
      Effect.callback<ReadonlyArray<unknown>>((resume) => {
        socket.emit(event, body, (...values: ReadonlyArray<unknown>) => resume(Effect.succeed(values)))
      })
  }
})

/** Runs a command of an Agent to its end. */
const agent = Effect.fnUntraced(function* (url: string, ...args: ReadonlyArray<string>) {
  const process = yield* a2c("agent", "--server", url, "--office", "o", ...args)
  return { code: yield* process.ended, stdout: process.stdout(), stderr: process.stderr() }
})

describe("a2c", () => {
  it.live("runs the whole demo and leaves no process behind", () =>
    Effect.gen(function* () {
      const demo = yield* a2c("demo")
      yield* demo.prints("The sum of 40 and 2 is 42.")
      const family = descendants(demo.pid)
      assert.strictEqual(yield* demo.ended, 0)
      for (const words of [
        "listening on http://127.0.0.1:",
        "Echo: Hello, office!",
        "trigger-long-running-operation: 5/10",
        "The board is empty.",
        "- water the plants",
        "Computer 'attic' not found in the office",
        "Everything is closed again.",
        "Continue with three terminals: a2c server, a2c computer, a2c agent"
      ]) {
        assert.include(demo.stdout(), words)
      }
      assert.notInclude(demo.stdout(), "trigger-long-running-operation: 10/10")
      assert.strictEqual(demo.stderr(), "")
      yield* gone(family)
    })
  )

  it.live("leaves no process behind when the demo is interrupted", () =>
    Effect.gen(function* () {
      const demo = yield* a2c("demo")
      yield* demo.prints("trigger-long-running-operation: 1/10")
      const family = descendants(demo.pid)
      assert.isAtLeast(family.length, 3)
      yield* demo.signal("SIGINT")
      assert.strictEqual(yield* demo.ended, 130)
      yield* gone(family)
    })
  )

  it.live("connects server, computer and agent as separate processes", () =>
    Effect.gen(function* () {
      const { process: serving, url } = yield* server
      const desk = yield* computer(url, { everything: stdio(everything, "stdio") })
      const called = yield* agent(url, "call", "echo", "--args", '{"message":"hi"}')
      assert.deepStrictEqual([called.code, called.stdout], [0, "Echo: hi\n"])

      const members = yield* agent(url, "--json", "members")
      assert.deepStrictEqual(
        (JSON.parse(members.stdout) as ReadonlyArray<{ name: string }>).map(({ name }) => name),
        ["a2c-agent", "desk"]
      )
      assert.match((yield* agent(url, "tools")).stdout, /^desk {2}echo {2}/m)
      assert.match((yield* agent(url, "resources")).stdout, /demo:\/\/resource\/static/)
      assert.match((yield* agent(url, "config")).stdout, /"server_parameters"/)
      assert.match((yield* agent(url, "desktop")).stdout, /desk \(no windows\)/)
      assert.match((yield* agent(url, "find")).stdout, /no documents/)

      const failing = yield* agent(url, "call", "echo")
      assert.deepStrictEqual([failing.code, failing.stdout], [2, ""])
      assert.match(failing.stderr, /^a2c: Tool 'echo' was not called[^]*message/)

      const family = [...descendants(desk.pid), ...descendants(serving.pid)]
      assert.isAtLeast(family.length, 1)
      yield* desk.signal("SIGINT")
      yield* serving.signal("SIGTERM")
      assert.strictEqual(yield* desk.ended, 130)
      assert.strictEqual(yield* serving.ended, 0)
      yield* gone(family)
    })
  )

  it.live("ends a call and the MCP servers when the Computer is killed", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      const desk = yield* computer(url, { contract: stdio(contract, "stdio") })
      const calling = yield* a2c("agent", "--server", url, "--office", "o", "call", "wait", "--timeout", "30")
      yield* desk.prints("wait started", "stderr")
      const family = descendants(desk.pid)
      yield* desk.signal("SIGKILL")
      // The error differs from that of the timeout.
      assert.strictEqual(yield* calling.ended, 1)
      assert.match(calling.stderr(), /^a2c: Computer 'desk' not found/)
      yield* gone(family)
    })
  )

  it.live("cancels a call on the Computer by Ctrl-C", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      const desk = yield* computer(url, { contract: stdio(contract, "stdio") })
      const calling = yield* a2c("agent", "--server", url, "--office", "o", "call", "wait", "--timeout", "30")
      yield* desk.prints("wait started", "stderr")
      yield* calling.signal("SIGINT")
      yield* desk.prints("wait cancelled", "stderr")
      assert.strictEqual(yield* calling.ended, 130)
    })
  )

  it.live("serves a plain Socket.IO client as Agent", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      yield* computer(url, { everything: stdio(everything, "stdio") })
      const plain = yield* plainClient(url, "agent")
      assert.deepStrictEqual(
        yield* plain.emit("server:join_office", { role: "agent", name: "plain", office_id: "o" }),
        [true, null]
      )
      const [{ tools }] = (yield* plain.emit("client:get_tools", {
        agent: "plain",
        req_id: "1",
        computer: "desk"
      })) as [{ readonly tools: ReadonlyArray<{ readonly name: string }> }]
      assert.include(
        tools.map(({ name }) => name),
        "echo"
      )
      const [result] = yield* plain.emit("client:tool_call", {
        agent: "plain",
        req_id: "2",
        computer: "desk",
        tool_name: "echo",
        params: { message: "plain" },
        timeout: 10
      })
      assert.deepStrictEqual(result, { content: [{ type: "text", text: "Echo: plain" }], isError: false })
    })
  )

  it.live("serves an Agent with a plain Socket.IO client as Computer", () =>
    Effect.gen(function* () {
      const { url } = yield* server
      const plain = yield* plainClient(url, "computer")
      plain.on("client:get_tools", ({ req_id }, ack) =>
        ack({
          tools: [{ name: "shout", description: "", params_schema: {}, return_schema: null }],
          req_id
        })
      )
      plain.on("client:get_desktop", ({ req_id }, ack) => ack({ desktops: [], req_id }))
      plain.on("client:tool_call", ({ params }, ack) =>
        ack({ content: [{ type: "text", text: String(params?.text).toUpperCase() }], isError: false })
      )
      yield* plain.emit("server:join_office", { role: "computer", name: "plain", office_id: "o" })
      const called = yield* agent(url, "call", "shout", "--args", '{"text":"hello"}')
      assert.deepStrictEqual([called.code, called.stdout], [0, "HELLO\n"])
    })
  )

  it.live("prints an error in one line without a stack", () =>
    Effect.gen(function* () {
      const { process: serving, url } = yield* server
      const { port } = new URL(url)
      const prints = Effect.fnUntraced(function* (expected: RegExp, ...args: ReadonlyArray<string>) {
        const process = yield* a2c(...args)
        assert.strictEqual(yield* process.ended, 1)
        assert.match(process.stderr(), expected)
        assert.notMatch(process.stderr(), /\n\s+at /)
        // Scripts read results from stdout: help must not appear there.
        assert.strictEqual(process.stdout(), "")
      })
      const broken = yield* temporaryFile("broken.json", "{ nonsense")
      const wrong = yield* temporaryFile("wrong.json", JSON.stringify({ servers: { s: { type: "telnet" } } }))
      const right = yield* temporaryFile("right.json", JSON.stringify({ servers: { s: stdio("x") } }))
      const other = yield* temporaryFile("other.json", JSON.stringify({ servers: { s: stdio("x") } }))
      const desk = (...config: ReadonlyArray<string>) => ["computer", "--server", url, "--office", "o", ...config]
      yield* prints(/Cannot listen on 127\.0\.0\.1:\d+: the address is in use/, "server", "--port", port)
      yield* prints(/a port from 0 to 65535/, "server", "--port", "70000")
      yield* prints(/broken\.json:1:11: error: invalid JSON: close brace expected/, ...desk("--config", broken))
      yield* prints(/wrong\.json:1:18: error: servers\.s\.type/, ...desk("--config", wrong))
      yield* prints(/missing\.json: error: file not found/, ...desk("--config", "/tmp/missing.json"))
      yield* prints(
        /other\.json:1:13: error: servers\.s: server "s" is also defined in .*right\.json/,
        ...desk("--config", right, "--config", other)
      )
      const membersOf = (server: string) => ["agent", "--server", server, "--office", "o", "members"]
      yield* prints(
        /^a2c: Cannot reach http:\/\/127\.0\.0\.1:9: connection refused\n$/,
        ...membersOf("http://127.0.0.1:9")
      )
      yield* prints(
        /^a2c: Cannot reach http:\/\/nowhere\.invalid: (host name not found|DNS lookup failed.*)\n$/,
        ...membersOf("http://nowhere.invalid")
      )
      yield* prints(/: TLS handshake failed\n$/, ...membersOf(url.replace("http", "https")))
      yield* prints(
        /^a2c: The URL of a Server holds no user and no password: [^@]*\n$/,
        "server",
        "status",
        "http://user:s3cret@127.0.0.1:9"
      )
      yield* prints(
        /No A2C-SMCP server is at http:.*\/elsewhere/,
        "agent",
        "--server",
        `${url}/elsewhere`,
        "--office",
        "o",
        "members"
      )
      yield* prints(/No Computer is in this office/, "agent", "--server", url, "--office", "o", "tools")
      yield* prints(
        /^a2c: --args is not JSON\n$/,
        "agent",
        "--server",
        url,
        "--office",
        "o",
        "call",
        "x",
        "--args",
        "{"
      )
      yield* prints(/--office/, "agent", "--server", url, "members")
      yield* prints(/--office.*not empty/, "agent", "--server", url, "--office", "", "members")
      yield* prints(/an origin like/, "server", "--port", "0", "--allow-origin", "example.org")
      yield* prints(/an origin like/, "tools", "serve", "--port", "0", "--allow-origin", "example.org")
      yield* prints(/--interactive or --run, not both/, "computer", "--interactive", "--run", "status")
      yield* serving.signal("SIGINT")
      yield* serving.ended
    })
  )

  it.live("ends a command without a reader of its results and keeps a Server without a reader of its log", () =>
    Effect.gen(function* () {
      const { process: serving, url } = yield* server
      yield* serving.readNoMore("stderr")
      const place = ["--server", url, "--office", "o"]
      const watcher = yield* a2c("agent", ...place, "--name", "watcher", "watch", "--log-level", "debug")
      yield* watcher.prints("joined office", "stderr")
      yield* watcher.readNoMore("stdout")
      yield* computer(url, {})
      assert.strictEqual(yield* watcher.ended, 0)
      assert.notMatch(watcher.stderr(), /EPIPE|\n\s+at /)
      assert.match((yield* agent(url, "members")).stdout, /^computer {2}desk/m)
      yield* serving.signal("SIGINT")
      assert.strictEqual(yield* serving.ended, 0)
    })
  )

  it.live("checks the arguments of a call before it connects", () =>
    Effect.gen(function* () {
      const call = ["agent", "--server", "http://127.0.0.1:9", "--office", "o", "call", "x"]
      const [args, time] = [yield* a2c(...call, "--args", "["), yield* a2c(...call, "--timeout", "0")]
      assert.deepStrictEqual([yield* args.ended, args.stderr()], [1, "a2c: --args is not JSON\n"])
      assert.strictEqual(yield* time.ended, 1)
      assert.match(time.stderr(), /--timeout: "0"\. Expected: a number from 1 to 3600\n/)
    })
  )

  it.live("names an invalid variable without its value", () =>
    Effect.gen(function* () {
      const place = ["agent", "--server", "http://127.0.0.1:9", "--office", "o", "members"]
      const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" }
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, { readonly [name: string]: string }, RegExp]> = [
        [["server"], { A2C_PORT: "nonsense" }, /^a2c: Invalid value of A2C_PORT\. Expected .*number$/m],
        [["server"], { A2C_VALIDATE: "nonsense" }, /^a2c: Invalid value of A2C_VALIDATE\. Expected "true" \|/m],
        [
          ["server"],
          { A2C_ALLOW_ORIGIN: "https://a.example,nonsense" },
          /^a2c: Invalid value of A2C_ALLOW_ORIGIN\. Expected an origin like https:\/\/example\.org,/m
        ],
        [["tools", "serve"], { PORT: "nonsense" }, /^a2c: Invalid value of PORT\. Expected/m],
        [place, { OTEL_EXPORTER_OTLP_ENDPOINT: "nonsense" }, /^a2c: OTEL_EXPORTER_OTLP_ENDPOINT: Expected/],
        [place, { ...collector, OTEL_METRIC_EXPORT_INTERVAL: "nonsense" }, /^a2c: OTEL_METRIC_EXPORT_INTERVAL: /]
      ]
      for (const [args, variables, expected] of cases) {
        const process = yield* node([cli, ...args], variables)
        assert.strictEqual(yield* process.ended, 1)
        assert.match(process.stderr(), expected)
        assert.notMatch(process.stderr(), /nonsense|SchemaError|\n\s+at /)
        assert.strictEqual(process.stdout(), "")
      }
    })
  )
})
