import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, type Scope, Stream } from "effect"
import { Agent } from "../../src/application/agent/Agent.ts"
import { agentLayer } from "../../src/main/layers/computerLayer.ts"
import { freePort } from "../freePort.ts"
import { descendants, gone } from "../processes.ts"
import { a2c, type Cli, temporaryFile } from "./processes.ts"
import { connectSeedDevice } from "./seedDevice.ts"

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const cli = fromHere("../../src/main/cli/a2c.ts")
const growing = { command: process.execPath, args: [fromHere("../fixtures/contractServer.ts"), "stdio"] }
const mcp = (mcpServers: object) => temporaryFile("mcp.json", JSON.stringify({ mcpServers }))

/** Two minutes: some of these tests start many processes on a machine that is busy with others. */
const testTimeout = 120_000
const live = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(body), testTimeout)

/** A Server, and what an Agent at the command line says to be in the office of the tests. */
const office = Effect.gen(function* () {
  const server = yield* a2c("server", "--port", "0")
  const url = (yield* server.says("listening on ")).replace("listening on ", "")
  return { url, place: ["--server", url, "--office", "team"] }
})

/** A Computer called desk in the office, once it has joined and its MCP server is there. */
const computer = Effect.fnUntraced(function* (place: ReadonlyArray<string>, mcpServers: object) {
  const config = yield* mcp(mcpServers)
  const desk = yield* a2c("computer", ...place, "--name", "desk", "--config", config, "--approve", "*")
  yield* desk.says("joined office")
  yield* desk.says("MCP server ready", "stderr")
  return desk
})

/** Runs a command to its end. */
const outcome = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const command = yield* a2c(...args)
  return { code: yield* command.ended, stdout: command.stdout(), stderr: command.stderr() }
})

/** The tools of a view, by name. */
const toolsIn = (view: Effect.Success<Agent["Service"]["view"]>) =>
  [...view.computers.values()].flatMap(({ tools }) => tools ?? []).map(({ name }) => name)

/** Waits until the Agent of this place knows of these tools, in any order. */
const tools = (...names: ReadonlyArray<string>) =>
  Effect.flatMap(Agent, ({ changes }) =>
    changes.pipe(
      Stream.filter((view) => names.toSorted().join() === toolsIn(view).toSorted().join()),
      Stream.runHead,
      Effect.map(Option.getOrThrow)
    )
  )

/** Does something as the Agent of the office, which has room for one: it leaves afterwards. */
const asAgent = <A, E>(url: string, act: Effect.Effect<A, E, Agent | Scope.Scope>) =>
  Effect.scoped(Effect.provide(act, agentLayer({ url, office: "team", name: "watcher" })))

/** Ends a process by a signal, and gives what it ended with. */
const endedBy = (process: Cli, signal: NodeJS.Signals) =>
  Effect.andThen(process.signal(signal), process.ended).pipe(Effect.timeoutOption("10 seconds"))

const portOf = (line: string) => Number(line.split(":").at(-1))
const gateway = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const process = yield* a2c("devices", "gateway", ...args)
  return { ...process, port: portOf(yield* process.says("listening for devices on ")) }
})

/** A device with the tools of a server that can grow. */
const device = Effect.fnUntraced(function* (port: number, name: string, ...args: ReadonlyArray<string>) {
  const config = yield* mcp({ growing })
  const to = ["--to", `127.0.0.1:${port}`, "--name", name]
  return yield* a2c("devices", "connect", ...to, "--config", config, "--approve", "*", ...args)
})

describe("a device that knows only the document", () => {
  live(
    "is called by an Agent through Server, Computer and gateway, and leaves the office when it hangs up",
    Effect.gen(function* () {
      const { place, url } = yield* office
      const port = yield* freePort
      const desk = yield* computer(place, {
        gateway: {
          command: process.execPath,
          args: [cli, "devices", "gateway", "--tcp", String(port), "--stdio"]
        }
      })
      const seed = yield* connectSeedDevice(port)
      const tool = "device-1__get_current_time"
      yield* asAgent(url, tools(tool))

      const listed = yield* outcome("agent", ...place, "tools")
      assert.match(listed.stdout, /^desk +device-1__get_current_time +获取当前时间\n$/)

      const simple = yield* outcome("agent", ...place, "call", tool, "--args", '{"format":"simple"}')
      assert.deepStrictEqual(simple, { code: 0, stdout: "2025-01-22 14:30:25\n", stderr: "" })
      const [call] = seed.calls
      assert.deepStrictEqual(call, {
        type: "call",
        data: {
          call_id: call?.data.call_id ?? "",
          method: "get_current_time",
          params: { format: "simple" }
        }
      })

      const failing = yield* outcome("agent", ...place, "call", tool, "--args", '{"format":"detailed"}')
      assert.deepStrictEqual(failing, { code: 2, stdout: "", stderr: "a2c: 详细错误信息\n" })

      const wrong = yield* outcome("agent", ...place, "call", tool, "--args", '{"format":"loud"}')
      assert.strictEqual(wrong.code, 2)
      assert.strictEqual(
        wrong.stderr,
        `a2c: Tool '${tool}' was not called: its arguments do not fit its schema.\n` +
          '- /format: must be equal to one of the allowed values: ["simple","detailed"]\n'
      )
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

describe("a2c devices connect", () => {
  live(
    "tools that a device gets later reach the Agent, and the device comes back to a gateway that was killed",
    Effect.gen(function* () {
      const { place, url } = yield* office
      const ports = ["--tcp", String(yield* freePort), "--http", String(yield* freePort)]
      const first = yield* gateway(...ports)
      const at = (yield* first.says("publishing devices at ")).replace("publishing devices at ", "")
      const desk = yield* device(first.port, "desk")
      yield* desk.says("registered 10 services")
      const lab = yield* computer(place, { gateway: { url: at } })
      const echo = ["agent", ...place, "call", "desk__echo", "--args"]
      assert.deepStrictEqual(yield* outcome(...echo, '{"over":"tcp"}'), {
        code: 0,
        stdout: '{"over":"tcp"}\n',
        stderr: ""
      })

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

      yield* first.signal("SIGKILL")
      yield* first.ended
      yield* gateway(...ports)
      yield* desk.says("registered 11 services", "stdout", 2)
      yield* lab.says("MCP server ready", "stderr", 2)
      yield* asAgent(url, knows("desk__extra0"))
      assert.strictEqual((yield* outcome(...echo, '{"over":"again"}')).stdout, '{"over":"again"}\n')
    })
  )
})

describe("who may come in", () => {
  live(
    "a device with the wrong token ends with the gateway's words, one with the right token goes by its own name",
    Effect.gen(function* () {
      const { port, says } = yield* gateway("--tcp", "0", "--token", "s3cret")
      const stranger = yield* device(port, "desk", "--token", "guess")
      assert.strictEqual(yield* stranger.ended, 1)
      assert.include(
        stranger.stderr(),
        "\na2c: the device server rejected the device: the token is not valid\n"
      )
      const friend = yield* device(port, "desk", "--token", "s3cret")
      yield* friend.says("registered 10 services")
      assert.include(yield* says("device connected", "stderr"), "device=desk")
    })
  )

  live(
    "a device that takes over a name ends the one that had it, for good",
    Effect.gen(function* () {
      const { port } = yield* gateway("--tcp", "0")
      const earlier = yield* device(port, "desk")
      yield* earlier.says("registered 10 services")
      const later = yield* device(port, "desk")
      assert.strictEqual(yield* earlier.ended, 1)
      assert.include(earlier.stderr(), "\na2c: another device uses the name 'desk'\n")
      yield* later.says("registered 10 services")
    })
  )

  live(
    "with a file of tokens, the file says how a device is called",
    Effect.gen(function* () {
      const tokens = yield* temporaryFile("tokens.json", '{"lamp": "s3cret", "door": "other"}')
      const { port, says } = yield* gateway("--tcp", "0", "--tokens", tokens)
      const friend = yield* device(port, "desk", "--token", "s3cret")
      yield* friend.says("registered 10 services")
      assert.include(yield* says("device connected", "stderr"), "device=lamp")
    })
  )
})

/** What a gateway says when it does not start. */
const rejection = (...args: ReadonlyArray<string>) => outcome("devices", "gateway", ...args)
const rejected = (message: string) => ({ code: 1, stdout: "", stderr: `a2c: ${message}\n` })

describe("a gateway that cannot start says why", () => {
  live(
    "everybody could reach it, and no token is asked for",
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* rejection("--tcp", "0", "--host", "0.0.0.0"),
        rejected(
          "Whatever reaches 0.0.0.0 could register services: set A2C_DEVICES_TOKEN, give --tokens FILE, " +
            "or listen on 127.0.0.1"
        )
      )
    })
  )

  live(
    "the token is one that no device could show",
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* rejection("--tcp", "0", "--host", "0.0.0.0", "--token", ""),
        rejected("The token of the devices may not be empty, hold '##', or have spaces around it")
      )
    })
  )

  live(
    "the tokens of a file do not tell who a device is",
    Effect.gen(function* () {
      const same = yield* temporaryFile("tokens.json", '{"lamp": "s3cret", "door": "s3cret"}')
      assert.deepStrictEqual(
        yield* rejection("--tcp", "0", "--tokens", same),
        rejected(`The tokens in ${same} cannot be used: two devices have the same token`)
      )
    })
  )

  live(
    "the port is taken",
    Effect.gen(function* () {
      const { port } = yield* gateway("--tcp", "0")
      assert.deepStrictEqual(
        yield* rejection("--tcp", String(port)),
        rejected(`Cannot listen on 127.0.0.1:${port}: the address is in use`)
      )
    })
  )

  live(
    "stdout would have two uses",
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* rejection("--tcp", "0", "--stdio", "--http", "0"),
        rejected("Give --stdio or --http, not both: stdout can only be one of them")
      )
    })
  )

  live(
    "the file of tokens is no JSON, and nothing of it is shown",
    Effect.gen(function* () {
      const tokens = yield* temporaryFile("tokens.json", "lamp: s3cret")
      assert.deepStrictEqual(
        yield* rejection("--tcp", "0", "--tokens", tokens),
        rejected(`The tokens in ${tokens} are not JSON`)
      )
    })
  )
})

describe("the end", () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    live(
      `${signal} ends a device with its MCP servers, and a gateway with its connections, within seconds`,
      Effect.gen(function* () {
        const here = yield* gateway("--tcp", "0", "--http", "0")
        const [one, other] = [yield* device(here.port, "one"), yield* device(here.port, "other")]
        yield* Effect.forEach([one, other], ({ says }) => says("registered 10 services"), { discard: true })
        const servers = descendants(one.pid)
        assert.isNotEmpty(servers)
        assert.deepStrictEqual(yield* endedBy(one, signal), Option.some(130))
        yield* gone(servers)
        assert.deepStrictEqual(yield* endedBy(here, signal), Option.some(130))
        yield* other.says("device disconnected, reconnecting", "stderr")
        assert.deepStrictEqual(yield* endedBy(other, signal), Option.some(130))
      })
    )
  }
})
