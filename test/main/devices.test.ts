import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result, type Scope, Stream } from "effect"
import { Agent } from "../../src/application/agent/Agent.ts"
import { agentLayer } from "../../src/main/layers/agentLayer.ts"
import { decodeDeviceMessage } from "../../src/domain/devices/deviceMessages.ts"
import { openProxy } from "../chaos/Proxy.ts"
import { descendants, gone } from "../processes.ts"
import { a2c, cli, type Cli, program, run, startServer, temporaryFile } from "./processes.ts"
import { connectSeedDevice } from "./seedDevice.ts"

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const growing = { command: process.execPath, args: [fromHere("../fixtures/contractServer.ts"), "stdio"] }
const mcp = (mcpServers: object) => temporaryFile("mcp.json", JSON.stringify({ mcpServers }))

/** A Server, and the flags of Agents for the office of these tests. */
const office = Effect.gen(function* () {
  const { url } = yield* startServer()
  return { url, place: ["--server", url, "--office", "team"] }
})

/** A Computer named desk in the office, once it has joined and its MCP server is ready. */
const computer = Effect.fnUntraced(function* (place: ReadonlyArray<string>, mcpServers: object) {
  const flags = ["--name", "desk", "--config", yield* mcp(mcpServers), "--approve", "*", "--log-level", "debug"]
  const desk = yield* a2c("computer", ...place, ...flags)
  yield* desk.prints("joined office")
  yield* desk.prints("MCP server ready", "stderr")
  return desk
})

/** The tool names of a view. */
const toolsIn = (view: Effect.Success<Agent["Service"]["view"]>) =>
  [...view.computers.values()].flatMap(({ tools }) => tools ?? []).map(({ name }) => name)

/** Waits until the Agent sees exactly these tools. */
const tools = (...names: ReadonlyArray<string>) =>
  Effect.flatMap(Agent, ({ changes }) =>
    changes.pipe(
      Stream.filter((view) => names.toSorted().join() === toolsIn(view).toSorted().join()),
      Stream.runHead,
      Effect.map(Option.getOrThrow)
    )
  )

/** Runs an effect as the only Agent of the office, then leaves. */
const asAgent = <A, E>(url: string, act: Effect.Effect<A, E, Agent | Scope.Scope>) =>
  Effect.scoped(Effect.provide(act, agentLayer({ url, office: "team", name: "watcher" })))

/** Ends a process by a signal and returns its outcome. */
const endedBy = (process: Cli, signal: NodeJS.Signals) =>
  Effect.andThen(process.signal(signal), process.ended).pipe(Effect.timeoutOption("60 seconds"))

/** The port in the line of a gateway that says where it listens. */
const portOf = (line: string) => Number(/ on [\d.]+:(\d+)| at http:\/\/[\d.]+:(\d+)/.exec(line)?.slice(1).find(Boolean))
const gateway = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const process = yield* a2c("devices", "gateway", ...args)
  return { ...process, port: portOf(yield* process.prints("listening for devices on ")) }
})

/** A device whose server can get more tools. */
const device = Effect.fnUntraced(function* (port: number, name: string, ...args: ReadonlyArray<string>) {
  const config = yield* mcp({ growing })
  const to = ["--to", `127.0.0.1:${port}`, "--name", name]
  return yield* a2c("devices", "connect", ...to, "--config", config, "--approve", "*", ...args)
})

describe("device by the protocol document", () => {
  it.live("serves calls of an Agent through Server, Computer and gateway, and leaves when it disconnects", () =>
    Effect.gen(function* () {
      const { place, url } = yield* office
      const desk = yield* computer(place, {
        gateway: { command: process.execPath, args: [cli, "devices", "gateway", "--tcp", "0", "--stdio"] }
      })
      const port = portOf(yield* desk.prints("listening for devices on ", "stderr"))
      const seed = yield* connectSeedDevice(port)
      const tool = "device-1__get_current_time"
      yield* asAgent(url, tools(tool))

      const listed = yield* run("agent", ...place, "tools")
      assert.match(listed.stdout, /^desk +device-1__get_current_time +获取当前时间\n$/)

      const simple = yield* run("agent", ...place, "call", tool, "--args", '{"format":"simple"}')
      assert.deepStrictEqual(simple, { code: 0, stdout: "2025-01-22 14:30:25\n", stderr: "" })
      const [call] = seed.calls
      const data = { call_id: call?.data.call_id ?? "", method: "get_current_time", params: { format: "simple" } }
      assert.deepStrictEqual(call, { type: "call", data })

      const failing = yield* run("agent", ...place, "call", tool, "--args", '{"format":"detailed"}')
      assert.deepStrictEqual(failing, { code: 2, stdout: "", stderr: "a2c: 详细错误信息\n" })

      const wrong = yield* run("agent", ...place, "call", tool, "--args", '{"format":"loud"}')
      const reason =
        `a2c: Tool '${tool}' was not called: its arguments do not fit its schema.\n` +
        'a2c: - /format: must be equal to one of the allowed values: ["simple","detailed"]\n'
      assert.deepStrictEqual(wrong, { code: 2, stdout: "", stderr: reason })
      assert.strictEqual(seed.calls.length, 2)

      const comesAndGoes = Effect.gen(function* () {
        yield* tools(tool)
        yield* seed.hangUp
        yield* tools()
        yield* connectSeedDevice(port)
        yield* tools(tool)
      })
      yield* asAgent(url, comesAndGoes)

      yield* connectSeedDevice(port)
      const family = descendants(desk.pid)
      assert.deepStrictEqual(yield* endedBy(desk, "SIGTERM"), Option.some(130))
      yield* gone(family)
    })
  )
})

describe("the device in Python of the documentation", () => {
  it.live("registers its service, and answers calls of an Agent", () =>
    Effect.gen(function* () {
      const { place, url } = yield* office
      const desk = yield* computer(place, {
        gateway: { command: process.execPath, args: [cli, "devices", "gateway", "--tcp", "0", "--stdio"] }
      })
      const port = portOf(yield* desk.prints("listening for devices on ", "stderr"))
      const lamp = yield* program("python3", ["examples/lamp.py", `127.0.0.1:${port}`])
      yield* lamp.prints("##INFO:AUTHENTICATED")
      const tool = "lamp__set_brightness"
      yield* asAgent(url, tools(tool))

      const called = yield* run("agent", ...place, "call", tool, "percent=40")
      assert.deepStrictEqual(called, { code: 0, stdout: "The lamp shines at 40 %\n", stderr: "" })
      const wrong = yield* run("agent", ...place, "call", tool, "percent=140")
      assert.include(wrong.stderr, "/percent: must be <= 100")

      yield* endedBy(desk, "SIGTERM")
      yield* lamp.prints("the gateway closed the connection", "stderr")
    })
  )

  it("is the program of the document, with its three messages", () => {
    const text = readFileSync("docs/devices.md", "utf8")
    const blocksOf = (language: string) =>
      [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) => block)
    assert.deepStrictEqual(blocksOf("python"), [readFileSync("examples/lamp.py", "utf8")])
    const messages = blocksOf("json").filter((block) => block.includes('"type"'))
    assert.deepStrictEqual(
      messages.map((block) => Result.getOrThrow(decodeDeviceMessage(new TextEncoder().encode(block)))._tag),
      ["Register", "Call", "Result"]
    )
  })
})

describe("a2c devices connect", () => {
  it.live("publishes later tools, and reconnects to a restarted gateway", () =>
    Effect.gen(function* () {
      const { place, url } = yield* office
      const startGateway = Effect.gen(function* () {
        const running = yield* gateway("--tcp", "0", "--http", "0")
        return { ...running, httpPort: portOf(yield* running.prints("publishing devices at ")) }
      })
      let running = yield* startGateway
      const wayForDevices = yield* openProxy({ target: () => running.port })
      const wayForHttp = yield* openProxy({ target: () => running.httpPort })
      const desk = yield* device(wayForDevices.port, "desk")
      yield* desk.prints("registered 13 services")
      const lab = yield* computer(place, { gateway: { url: `http://127.0.0.1:${wayForHttp.port}/mcp` } })
      const echo = ["agent", ...place, "call", "desk__echo", "--args"]
      const echoed = { code: 0, stdout: '{"over":"tcp"}\n', stderr: "" }
      assert.deepStrictEqual(yield* run(...echo, '{"over":"tcp"}'), echoed)

      const knows = (name: string) =>
        Effect.flatMap(Agent, ({ changes }) =>
          Stream.runHead(Stream.filter(changes, (view) => toolsIn(view).includes(name)))
        )
      const grown = Effect.gen(function* () {
        const agent = yield* Agent
        yield* agent.settled
        assert.notInclude(toolsIn(yield* agent.view), "desk__extra0")
        yield* agent.callTool({ tool: "desk__grow" })
        yield* knows("desk__extra0")
      })
      yield* asAgent(url, grown)

      yield* running.signal("SIGKILL")
      yield* running.ended
      running = yield* startGateway
      yield* desk.prints("registered 14 services", "stdout", 2)
      yield* lab.prints("MCP server ready", "stderr", 2)
      yield* asAgent(url, knows("desk__extra0"))
      assert.strictEqual((yield* run(...echo, '{"over":"again"}')).stdout, '{"over":"again"}\n')
    })
  )
})

describe("device admission", () => {
  it.live("rejects a wrong token with a reason, and accepts the right one with its name", () =>
    Effect.gen(function* () {
      const { port, prints } = yield* gateway("--tcp", "0", "--token", "s3cret")
      const rejectedDevice = yield* device(port, "desk", "--token", "guess")
      assert.strictEqual(yield* rejectedDevice.ended, 1)
      assert.include(rejectedDevice.stderr(), "\na2c: the device server rejected the device: the token is not valid\n")
      const friend = yield* device(port, "desk", "--token", "s3cret")
      yield* friend.prints("registered 13 services")
      assert.include(yield* prints("device connected", "stderr"), "device=desk")
    })
  )

  it.live("stops a device for good whose name another one takes over", () =>
    Effect.gen(function* () {
      const { port } = yield* gateway("--tcp", "0")
      const earlier = yield* device(port, "desk")
      yield* earlier.prints("registered 13 services")
      const later = yield* device(port, "desk")
      assert.strictEqual(yield* earlier.ended, 1)
      assert.include(earlier.stderr(), "\na2c: another device uses the name 'desk'\n")
      yield* later.prints("registered 13 services")
    })
  )

  it.live("takes the name of a device from the token file", () =>
    Effect.gen(function* () {
      const tokens = yield* temporaryFile("tokens.json", '{"lamp": "s3cret", "door": "other"}')
      const { port, prints } = yield* gateway("--tcp", "0", "--tokens", tokens)
      const friend = yield* device(port, "desk", "--token", "s3cret")
      yield* friend.prints("registered 13 services")
      assert.include(yield* prints("device connected", "stderr"), "device=lamp")
    })
  )
})

describe("gateway that cannot start", () => {
  const assertRejected = Effect.fnUntraced(function* (args: ReadonlyArray<string>, message: string) {
    const rejected = { code: 1, stdout: "", stderr: `a2c: ${message}\n` }
    assert.deepStrictEqual(yield* run("devices", "gateway", ...args), rejected)
  })

  /** The contents of FILE, the arguments, and the message. */
  it.live.each<readonly [title: string, contents: string, args: ReadonlyArray<string>, message: string]>([
    [
      "a public address without a token",
      "",
      ["--tcp", "0", "--host", "0.0.0.0"],
      "0.0.0.0 is reachable from other machines, and the device gateway has no authentication: " +
        "set A2C_DEVICES_TOKEN, give --tokens FILE, or listen on 127.0.0.1"
    ],
    [
      "an invalid token",
      "s3 cret ##",
      ["--tcp", "0", "--host", "0.0.0.0", "--token", "@FILE"],
      "The token of the devices must not be empty, contain '##', end with '#', or start or end with a space"
    ],
    [
      "a token file with ambiguous tokens",
      '{"lamp": "s3cret", "door": "s3cret"}',
      ["--tcp", "0", "--tokens", "FILE"],
      "FILE:1:1: error: two devices have the same token"
    ],
    [
      "an invalid token file without quoting it",
      "lamp: s3cret",
      ["--tcp", "0", "--tokens", "FILE"],
      "FILE:1:1: error: invalid JSON"
    ],
    [
      "two uses of stdout",
      "",
      ["--tcp", "0", "--stdio", "--http", "0"],
      "Give --stdio or --http, not both: stdout can only be one of them"
    ]
  ])("reports %s", ([, contents, args, message]) =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("file", contents)
      const withFile = (text: string) => (contents === "" ? text : text.replace("FILE", file))
      yield* assertRejected(args.map(withFile), withFile(message))
    })
  )

  it.live("reports a port in use", () =>
    Effect.gen(function* () {
      const { port } = yield* gateway("--tcp", "0")
      yield* assertRejected(
        ["--tcp", String(port)],
        `Cannot listen on 127.0.0.1:${port}: the address is in use; choose another by --tcp or A2C_DEVICES_TCP, or 0 for a free one`
      )
    })
  )
})

describe("shutdown", () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it.live(`ends a device with its MCP servers, and a gateway with its connections, on ${signal}`, () =>
      Effect.gen(function* () {
        const here = yield* gateway("--tcp", "0", "--http", "0")
        const [one, other] = [yield* device(here.port, "one"), yield* device(here.port, "other")]
        yield* Effect.forEach([one, other], ({ prints }) => prints("registered 13 services"), { discard: true })
        const servers = descendants(one.pid)
        assert.isNotEmpty(servers)
        assert.deepStrictEqual(yield* endedBy(one, signal), Option.some(130))
        yield* gone(servers)
        assert.deepStrictEqual(yield* endedBy(here, signal), Option.some(130))
        yield* other.prints("device disconnected, reconnecting", "stderr")
        assert.deepStrictEqual(yield* endedBy(other, signal), Option.some(130))
      })
    )
  }
})
