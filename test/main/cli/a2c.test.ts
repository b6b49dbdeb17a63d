import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { descendants, gone } from "../../processes.ts"
import { type Answers, connect, joinOffice } from "../nodes.ts"
import { a2c, cli, everythingServer, node, outcomeOf, run, startServer, temporaryFile } from "../processes.ts"

const contract = fileURLToPath(new URL("../../fixtures/contractServer.ts", import.meta.url))

const stdio = (...args: ReadonlyArray<string>) => ({
  type: "stdio",
  default_tool_meta: { auto_apply: true },
  server_parameters: { command: process.execPath, args }
})

/** A Computer process with these MCP servers. */
const computer = Effect.fnUntraced(function* (url: string, servers: object, name = "desk") {
  const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers }))
  const place = ["--server", url, "--office", "o", "--name", name, "--log-level", "debug"]
  const process = yield* a2c("computer", ...place, "--config", config)
  assert.strictEqual(yield* process.prints("joined office"), `joined office o as ${name}`)
  return process
})

/** Runs a command of an Agent to its end. */
const agent = (url: string, ...args: ReadonlyArray<string>) => run("agent", "--server", url, "--office", "o", ...args)

/** Prints the modules of Node that a command has loaded, when it ends. */
const reportModules = "data:text/javascript,process.on('exit',()=>console.error(process.moduleLoadList.join(' ')))"

describe("a2c", () => {
  it.live("asks an office without Node's fetch, which takes a tenth of the start", () =>
    Effect.gen(function* () {
      const { url } = yield* startServer()
      const place = ["--server", url, "--office", "o"]
      const members = yield* outcomeOf(yield* node(["--import", reportModules, cli, "agent", ...place, "members"]))
      assert.deepStrictEqual([members.code, members.stdout.split(/\s+/u)[0]], [0, "agent"])
      assert.include(members.stderr, "NativeModule net")
      assert.notInclude(members.stderr, "undici")
    })
  )

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
        "Continue with three terminals: npx a2c-cli server, npx a2c-cli computer, npx a2c-cli agent"
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
      const { process: serving, url } = yield* startServer()
      const desk = yield* computer(url, { everything: stdio(everythingServer, "stdio") })
      const called = yield* agent(url, "call", "echo", "--args", '{"message":"hi"}')
      assert.deepStrictEqual([called.code, called.stdout], [0, "Echo: hi\n"])

      const members = yield* agent(url, "--json", "members")
      const names = (JSON.parse(members.stdout) as ReadonlyArray<{ name: string }>).map(({ name }) => name)
      assert.deepStrictEqual(names, ["a2c-agent", "desk"])
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
      const { url } = yield* startServer()
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
      const { url } = yield* startServer()
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
      const { url } = yield* startServer()
      yield* computer(url, { everything: stdio(everythingServer, "stdio") })
      const plain = yield* connect({ url }, "agent")
      const joining = { role: "agent", name: "plain", office_id: "o" }
      assert.deepStrictEqual(yield* plain.request("server:join_office", joining), [true, null])
      const place = { agent: "plain", computer: "desk" }
      const [{ tools }] = (yield* plain.request("client:get_tools", { ...place, req_id: "1" })) as [
        { readonly tools: ReadonlyArray<{ readonly name: string }> }
      ]
      const names = tools.map(({ name }) => name)
      assert.include(names, "echo")
      const call = { ...place, req_id: "2", tool_name: "echo", params: { message: "plain" }, timeout: 10 }
      const [result] = yield* plain.request("client:tool_call", call)
      assert.deepStrictEqual(result, { content: [{ type: "text", text: "Echo: plain" }], isError: false })
    })
  )

  it.live("serves an Agent with a plain Socket.IO client as Computer", () =>
    Effect.gen(function* () {
      const { url } = yield* startServer()
      const tools = [{ name: "shout", description: "", params_schema: {}, return_schema: null }]
      const answers: Answers = ({ params, req_id }, answer, event) => {
        if (event === "client:get_tools") answer({ tools, req_id })
        if (event === "client:get_desktop") answer({ desktops: [], req_id })
        const text = String(params?.["text"]).toUpperCase()
        if (event === "client:tool_call") answer({ content: [{ type: "text", text }], isError: false })
      }
      yield* joinOffice({ url }, "computer", "plain", "o", { answers })
      const called = yield* agent(url, "call", "shout", "--args", '{"text":"hello"}')
      assert.deepStrictEqual([called.code, called.stdout], [0, "HELLO\n"])
    })
  )

  it.live("prints an error in one line without a stack", () =>
    Effect.gen(function* () {
      const { process: serving, url } = yield* startServer()
      const { port } = new URL(url)
      const broken = yield* temporaryFile("broken.json", "{ nonsense")
      const wrong = yield* temporaryFile("wrong.json", JSON.stringify({ servers: { s: { type: "telnet" } } }))
      const right = yield* temporaryFile("right.json", JSON.stringify({ servers: { s: stdio("x") } }))
      const other = yield* temporaryFile("other.json", JSON.stringify({ servers: { s: stdio("x") } }))
      const desk = (...config: ReadonlyArray<string>) => ["computer", "--server", url, "--office", "o", ...config]
      const agentAt = (at: string, ...words: ReadonlyArray<string>) => [
        "agent",
        "--server",
        at,
        "--office",
        "o",
        ...words
      ]
      const unreachable = /^a2c: Cannot reach http:\/\/nowhere\.invalid: (host name not found|DNS lookup failed.*)\n$/
      const duplicate = /other\.json:1:13: error: servers\.s: server "s" is also defined in .*right\.json/
      for (const [args, expected] of [
        [["server", "--port", port], /Cannot listen on 127\.0\.0\.1:\d+: the address is in use/],
        [["server", "--port", "70000"], /a port from 0 to 65535/],
        [desk("--config", broken), /broken\.json:1:11: error: invalid JSON: close brace expected/],
        [desk("--config", wrong), /wrong\.json:1:18: error: servers\.s\.type/],
        [desk("--config", "/tmp/missing.json"), /missing\.json: error: file not found/],
        [desk("--config", right, "--config", other), duplicate],
        [agentAt("http://127.0.0.1:9", "members"), /^a2c: Cannot reach http:\/\/127\.0\.0\.1:9: connection refused\n$/],
        [agentAt("http://nowhere.invalid", "members"), unreachable],
        [agentAt(url.replace("http", "https"), "members"), /: TLS handshake failed\n$/],
        [
          ["server", "status", "http://user:s3cret@127.0.0.1:9"],
          /^a2c: The URL of a Server holds no user and no password: [^@]*\n$/
        ],
        [agentAt(`${url}/elsewhere`, "members"), /No A2C-SMCP server is at http:.*\/elsewhere/],
        [agentAt(url, "tools"), /Office 'o' has no Computer: check --office/],
        [agentAt(url, "call", "x", "--args", "{"), /^a2c: --args is not JSON\n$/],
        [["agent", "--server", url, "members"], /--office/],
        [["agent", "--server", url, "--office", "", "members"], /--office.*not empty/],
        [["server", "--port", "0", "--allow-origin", "example.org"], /an origin like/],
        [["tools", "serve", "--port", "0", "--allow-origin", "example.org"], /an origin like/],
        [["computer", "--interactive", "--run", "status"], /--interactive or --run, not both/]
      ] as const) {
        const { code, stderr, stdout } = yield* run(...args)
        // Scripts read results from stdout: help must not appear there.
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, expected)
        assert.notMatch(stderr, /\n\s+at /)
      }
      yield* serving.signal("SIGINT")
      yield* serving.ended
    })
  )

  it.live("ends a command without a reader of its results and keeps a Server without a reader of its log", () =>
    Effect.gen(function* () {
      const { process: serving, url } = yield* startServer()
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
      const [args, time] = [yield* run(...call, "--args", "["), yield* run(...call, "--timeout", "0")]
      assert.deepStrictEqual([args.code, args.stderr], [1, "a2c: --args is not JSON\n"])
      assert.strictEqual(time.code, 1)
      assert.match(time.stderr, /--timeout: "0"\. Expected: a number from 1 to 3600\n/)
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
        const { code, stderr, stdout } = yield* outcomeOf(yield* node([cli, ...args], variables))
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, expected)
        assert.notMatch(stderr, /nonsense|SchemaError|\n\s+at /)
      }
    })
  )
})
