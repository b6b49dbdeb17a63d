import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import type { Computer } from "../../src/application/computer/Computer.ts"
import { agentUnderTest, computerUnderTest, resource } from "../conformance/members.ts"
import { type LoopbackAddress, loopbackAddress } from "../loopbackAddress.ts"
import { alive, gone, processes } from "../processes.ts"
import {
  becomes,
  configOf,
  linesOf,
  listen,
  makeComputer,
  makePlace,
  nodeServer,
  testTimeout,
  until
} from "./computers.ts"
import { memoryServer, temporaryFile } from "./processes.ts"
import { guardChild } from "../childGuard.ts"

const contract = fileURLToPath(new URL("../fixtures/contractServer.ts", import.meta.url))
const plain = fileURLToPath(new URL("../fixtures/faults/server.ts", import.meta.url))
const office = "O1"

/** The only Node process with this argument. */
const pidOf = (argument: string): number => {
  const own = processes().filter(
    ({ command: [program, ...args] }) => program === process.execPath && args.includes(argument)
  )
  assert.strictEqual(own.length, 1)
  return own[0]?.pid ?? 0
}

describe("killed MCP server", () => {
  it.live("loses its tools, restarts, serves the same call again, and causes exactly two notifications", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const marker = `marker-${process.hrtime.bigint()}`
      // Its tool list never changes; other servers add tools once they know the client.
      const servers = { memory: nodeServer(memoryServer, marker) }
      const settings = { startupTimeout: testTimeout }
      const computer = yield* makeComputer(place, servers, { office, settings })
      const agent = yield* agentUnderTest(place, { office })
      let notices = 0
      yield* agent.events.pipe(
        Stream.filter((event) => event._tag === "Updated" && event.part === "toolList"),
        Stream.runForEach(() => Effect.sync(() => notices++)),
        Effect.forkScoped({ startImmediately: true })
      )
      const echo = agent.callTool({ computer: "pc-1", tool: "read_graph" })
      const before = yield* agent.getTools("pc-1")
      const answer = yield* echo
      assert.isTrue(before.some(({ name }) => name === "read_graph") && !answer.isError)

      const first = pidOf(marker)
      process.kill(first, "SIGKILL")
      yield* until(computer, "memory", "BackingOff")
      assert.deepStrictEqual(yield* agent.getTools("pc-1"), [])
      yield* until(computer, "memory", "Ready")
      yield* becomes("the second notice", () => notices === 2)
      assert.deepStrictEqual(yield* agent.getTools("pc-1"), before)
      assert.deepStrictEqual(yield* echo, answer)

      const second = pidOf(marker)
      assert.notStrictEqual(second, first)
      // Notifications are ordered: another one would arrive before that of the stop.
      yield* computer.stop("memory")
      yield* becomes("the notice of the stop", () => notices >= 3)
      assert.strictEqual(notices, 3)
      yield* gone([first, second])
    })
  )
})

/** An MCP server on Streamable HTTP and its URL. It is killed when the scope closes. */
const httpServer = Effect.fnUntraced(function* ({ host, port }: LoopbackAddress) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      guardChild(
        spawn(process.execPath, [contract, "http", host, String(port)], { stdio: ["ignore", "pipe", "ignore"] })
      )
    ),
    (one) => Effect.sync(() => one.kill("SIGKILL"))
  )
  const url = yield* Effect.callback<string>((resume) => {
    child.stdout.setEncoding("utf8").once("data", (text: string) => resume(Effect.succeed(text.trim())))
  })
  return { child, url }
})

describe("restarted MCP server on HTTP", () => {
  it.live("loses its tools, reconnects, serves the same call again, and causes exactly two notifications", () =>
    Effect.gen(function* () {
      const address = loopbackAddress()
      const { child, url } = yield* httpServer(address)
      const place = yield* makePlace
      const notices = yield* listen(place, office)
      const servers = { web: { type: "streamable", server_parameters: { url } } }
      const computer = yield* makeComputer(place, servers, {
        office,
        settings: { startupTimeout: testTimeout }
      })
      const echo = computer.callTool({ tool: "echo", params: { message: "hi" } })
      const answer = yield* echo
      assert.isFalse(answer.isError)
      yield* becomes("the notice of the start", () => notices("notify:update_tool_list") === 1)
      child.kill("SIGKILL")
      yield* until(computer, "web", "BackingOff")
      assert.strictEqual((yield* computer.catalogue).entries.size, 0)
      yield* httpServer(address)
      yield* until(computer, "web", "Ready")
      assert.deepStrictEqual(yield* echo, answer)
      yield* becomes("the notice of the restart", () => notices("notify:update_tool_list") === 3)
      // Notifications are ordered: another one would arrive before that of the stop.
      yield* computer.stop("web")
      yield* becomes("the notice of the stop", () => notices("notify:update_tool_list") >= 4)
      assert.strictEqual(notices("notify:update_tool_list"), 4)
    })
  )
})

/** A server that records its processes. */
const noting = Effect.map(temporaryFile("journal", ""), (journal) => ({
  config: nodeServer(plain, journal, "plain"),
  changed: nodeServer(plain, journal, "plain", "changed"),
  /** Its processes, the latest one last. */
  pids: () =>
    linesOf(journal)
      .filter((line) => line.startsWith("start"))
      .map((line) => Number(line.split(" ")[1]))
}))

const reconfigure = (computer: Computer["Service"], servers: object) =>
  computer.reconfigure({ config: configOf(servers), variables: {} })

describe("Computer with a new configuration", () => {
  it.live("keeps the processes of unchanged servers, and sends one configuration notification", () =>
    Effect.gen(function* () {
      const [a, b, c, d] = yield* Effect.all([noting, noting, noting, noting])
      const place = yield* makePlace
      const notices = yield* listen(place, office)
      const first = { a: a.config, b: b.config, c: c.config }
      const computer = yield* makeComputer(place, first, { office })
      yield* Effect.forEach(["a", "b", "c"], (name) => until(computer, name, "Ready"))
      const [oldA, oldB, oldC] = [a.pids(), b.pids(), c.pids()]
      assert.strictEqual(notices("notify:update_config"), 0)

      yield* reconfigure(computer, { ...first, d: d.config })
      yield* until(computer, "d", "Ready")
      assert.deepStrictEqual([a.pids(), b.pids(), c.pids()], [oldA, oldB, oldC])
      assert.isTrue([...oldA, ...oldB, ...oldC].every(alive))
      yield* becomes("the notice", () => notices("notify:update_config") === 1)

      const oldD = d.pids()
      const last = { b: b.changed, c: c.config, d: d.config }
      yield* reconfigure(computer, last)
      yield* until(computer, "b", "Ready")
      yield* gone([...oldA, ...oldB])
      assert.deepStrictEqual([a.pids(), c.pids(), d.pids()], [oldA, oldC, oldD])
      assert.isTrue([...oldC, ...oldD].every(alive))
      assert.strictEqual(b.pids().length, 2)
      yield* becomes("the notice", () => notices("notify:update_config") === 2)

      yield* reconfigure(computer, last)
      yield* computer.stop("b")
      assert.deepStrictEqual([...(yield* computer.servers).keys()], ["b", "c", "d"])
      assert.strictEqual(notices("notify:update_config"), 2)
    })
  )
})

describe("desktop of many windows", () => {
  it.effect("leaves out the windows of a hanging server at its timeout", () =>
    Effect.gen(function* () {
      const readTimeout = Duration.seconds(10)
      const names = Array.from({ length: 10 }, (_, index) => `s${index}`)
      const made = yield* Effect.forEach(names, (name) =>
        MemoryMcp.makeMemoryMcpServer({
          name,
          resources: Array.from({ length: 20 }, (_, index) => {
            const window = resource(`window://${name}/${index}`)
            return name === "s4" ? { ...window, read: Effect.never } : window
          })
        })
      )
      const servers = Object.fromEntries(names.map((name, index) => [name, made[index] ?? assert.fail()]))
      const place = yield* makePlace
      const computer = yield* computerUnderTest(place, { servers, settings: { readTimeout } })
      const fiber = yield* Effect.forkChild(computer.desktop({}), { startImmediately: true })
      yield* TestClock.adjust(readTimeout)
      const entries = yield* Fiber.join(fiber)
      assert.strictEqual(entries.length, 180)
      assert.isFalse(entries.some((entry) => entry.startsWith("window://s4/")))
    })
  )
})
