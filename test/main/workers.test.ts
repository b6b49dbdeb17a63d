import { readdirSync, readFileSync } from "node:fs"
import { createServer, request as startRequest } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Result } from "effect"
import { makeMemoryMcpServer } from "../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import { officeKeyOf } from "../../src/domain/office/officeKey.ts"
import { agentLayer } from "../../src/main/layers/agentLayer.ts"
import { computerLayer } from "../../src/main/layers/computerLayer.ts"
import { startRedis, withoutRedis } from "../fixtures/redis.ts"
import { firstText } from "../firstText.ts"
import { loopbackAddress } from "../loopbackAddress.ts"
import { portDefaults } from "../portDefaults.ts"
import { descendants, kill, processes } from "../processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { configOf } from "./computers.ts"
import {
  type Answers,
  call,
  connect,
  echo,
  joinOffice,
  meets,
  metrics,
  type Node,
  type Peer,
  tally,
  until
} from "./nodes.ts"
import { a2c, startServer, urlOf } from "./processes.ts"

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url))

const count = 2

/** Waits until all workers serve. */
const allServe = (server: Node) =>
  until(
    Effect.catchDefect(metrics(server, "ready"), () => Effect.succeed({})),
    (found) => Object.keys(found).length === count
  )

/** The sums of the metrics of all workers. */
const totals = (server: Node, ...wanted: ReadonlyArray<string>) =>
  Effect.map(metrics(server, ...wanted), (found) => {
    const sums: { [name: string]: number } = {}
    for (const [series, value] of Object.entries(found)) {
      const name = series.replace(/,?worker="\d+"/, "").replace("{}", "")
      sums[name] = (sums[name] ?? 0) + value
    }
    return sums
  })

/** The number of the worker that has the session of a member. */
const workerOf = (peer: Peer) => Number(peer.session()?.split(".")[0])

/** Waits until a member gets the worker of its office: a worker reports itself before it gets connections. */
const takesConnections = (server: Node, index: number) =>
  until(
    connect(server, "computer", { query: { a2c_office: index.toString(16).padStart(8, "0") } }).pipe(
      Effect.map(workerOf),
      Effect.scoped,
      Effect.catchDefect(() => Effect.undefined)
    ),
    (worker) => worker === index
  )

/** Starts a Server with two workers, all of which serve. */
const startWorkers = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
  const server = yield* startServer(["--workers", String(count), ...flags])
  yield* allServe(server)
  for (let index = 0; index < count; index++) yield* takesConnections(server, index)
  yield* until(totals(server, "connections"), ({ a2c_connections }) => a2c_connections === 0)
  return server
})

const workersOf = ({ process }: Node) => descendants(process.pid)

/** The process of a worker. */
const pidOf = (server: Node, index: number) =>
  Effect.sync(() => {
    const rows = workersOf(server)
    return (
      rows.find((pid) => readFileSync(`/proc/${pid}/environ`, "utf8").includes(`A2C_WORKER={"index":${index},`)) ?? 0
    )
  })

/** Requests a page over its own connection: the status of the response, or "closed" without one. */
const getHealth = ({ url }: Node) =>
  Effect.callback<string>((resume) => {
    const request = startRequest(`${url}/healthz`, { agent: false }, (response) => {
      response.resume()
      response.on("close", () => resume(Effect.succeed(String(response.statusCode))))
    })
    request.on("error", () => resume(Effect.succeed("closed")))
    request.end()
  })

const names = (amount: number) => Array.from({ length: amount }, (_, index) => `pc${index}`)

/** Computers of an office: connections go to the workers in turn. */
const joinComputers = (
  server: Pick<Node, "url">,
  amount: number,
  office: string,
  options?: Parameters<typeof connect>[2]
) => Effect.forEach(names(amount), (name) => joinOffice(server, "computer", name, office, options))

const endsOf = (outcomes: ReadonlyArray<{ readonly end: string }>) => tally(outcomes.map(({ end }) => end))

/** Calls each of the Computers. */
const callAll = (agent: Peer, name: string, amount: number) =>
  Effect.map(
    Effect.forEach(names(amount), (computer) => call(agent, name, computer), { concurrency: "unbounded" }),
    endsOf
  )

/** A Computer that reconnects, with a tool that says its name. */
const startComputer = Effect.fnUntraced(function* (url: string, name: string) {
  const run = () => Effect.succeed({ content: [{ type: "text", text: name }] })
  const definition = { name: "say", description: "says its name", inputSchema: { type: "object" } }
  const server = yield* makeMemoryMcpServer({ tools: [{ definition, run }] })
  const config = configOf({
    memory: { type: "stdio", server_parameters: { command: "-" }, default_tool_meta: { auto_apply: true } }
  })
  const layer = computerLayer({ url, name, office: "o", config, sessions: { memory: yield* server.connect } })
  yield* Effect.orDie(Layer.build(Layer.fresh(Layer.provide(layer, portDefaults))))
})

const startAgent = (url: string) =>
  Effect.map(Effect.orDie(Layer.build(Layer.fresh(agentLayer({ url, office: "o", name: "thinker" })))), (context) =>
    Context.get(context, Agent)
  )

/** Waits until each of the Computers answers. */
const allAnswer = (agent: Agent["Service"], computers: ReadonlyArray<string>) =>
  Effect.forEach(
    computers,
    (computer) =>
      until(Effect.result(agent.callTool({ computer, tool: "say" })), (result) =>
        Result.isSuccess(result) ? firstText(result.success) === computer : false
      ),
    { concurrency: "unbounded", discard: true }
  )

/** A proxy that opens a connection for each request, and so spreads the requests of one client over the workers. */
const spreadingProxy = (target: string) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const http = createServer((request, response) => {
        const { headers, method, url } = request
        const upstream = startRequest(`${target}${url}`, { agent: false, method, headers }, (reply) => {
          response.writeHead(reply.statusCode ?? 500, reply.headers)
          reply.pipe(response)
        })
        upstream.on("error", () => response.destroy())
        response.on("close", () => upstream.destroy())
        request.pipe(upstream)
      }).listen(0, "127.0.0.1", () => {
        const { port } = http.address() as AddressInfo
        const close = () => {
          http.close()
          http.closeAllConnections()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

describe("a2c server --workers", () => {
  it.live("routes calls between members of different workers, and reports all of them on each page", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      yield* joinComputers(server, 4, "o")
      const agent = yield* joinOffice(server, "agent", "a", "o")
      assert.deepStrictEqual(yield* callAll(agent, "a", 4), { ok: 4 })
      // Each request of a page may reach another worker.
      for (let request = 0; request < 4; request++) {
        const found = yield* totals(server, "members", "connections", "nodes", "calls_total", "node_links")
        assert.deepInclude(found, {
          'a2c_members{role="agent"}': 1,
          'a2c_members{role="computer"}': 4,
          a2c_connections: 5,
          a2c_nodes: count * count,
          'a2c_calls_total{event="client:tool_call",outcome="ok"}': 4
        })
        assert.isAbove(found["a2c_node_links"] ?? 0, 0)
      }
      const status = yield* a2c("server", "status", server.url, "--offices")
      assert.strictEqual(yield* status.ended, 0)
      assert.match(status.stdout(), /members +1 Agent, 4 Computers/)
      assert.match(status.stdout(), /^o +0\.2 +1 Agent +4 Computers$/m)
    })
  )

  it.live("brings the members of each office together that name it when they connect", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      const found: Array<number> = []
      for (const office of ["north", "south", "east", "west"]) {
        const query = { a2c_office: officeKeyOf(office) }
        const members = [
          ...(yield* joinComputers(server, 3, office, { query })),
          ...(yield* joinComputers(server, 3, `${office}, polling`, { query, transports: ["polling"] })),
          yield* joinOffice(server, "agent", "a", office, { query })
        ]
        assert.strictEqual(new Set(members.map(workerOf)).size, 1)
        found.push(...members.slice(0, 1).map(workerOf))
      }
      assert.sameMembers([...new Set(found)], [0, 1])
    })
  )

  it.live("answers each of the members that name their office and connect at once", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      const offices = Array.from({ length: 40 }, (_, number) => `office-${number}`)
      const joinBoth = (office: string) =>
        joinComputers(server, 2, office, { query: { a2c_office: officeKeyOf(office) } })
      const joined = yield* Effect.forEach(offices, joinBoth, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        joined.map((members) => new Set(members.map(workerOf)).size),
        offices.map(() => 1)
      )
    })
  )

  it.live("brings the Computers and the Agent of this package together", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      yield* Effect.forEach(names(4), (name) => startComputer(server.url, name))
      const agent = yield* startAgent(server.url)
      yield* allAnswer(agent, names(4))
      const members = yield* metrics(server, "members")
      const occupied = Object.entries(members).filter(([, amount]) => amount > 0)
      assert.strictEqual(new Set(occupied.map(([series]) => /worker="(\d)"/.exec(series)?.[1])).size, 1)
    })
  )

  it.live("serves the members of an office whose worker shuts down at the others", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers("--drain-timeout", "60")
      const options = { query: { a2c_office: officeKeyOf("o") }, answers: () => undefined }
      yield* joinOffice(server, "computer", "pc", "o", options)
      const agent = yield* joinOffice(server, "agent", "a", "o", options)
      yield* Effect.forkChild(Effect.exit(call(agent, "a", "pc")), { startImmediately: true })
      yield* until(totals(server, "calls_in_flight"), (found) => found["a2c_calls_in_flight"] === 1)
      kill(yield* pidOf(server, workerOf(agent)), "SIGTERM")
      yield* server.process.prints("graceful shutdown started", "stderr")
      const transports = ["websocket", "polling"] as const
      const later = yield* Effect.forEach(transports, (one) =>
        joinOffice(server, "computer", one, "o", { ...options, transports: [one] })
      )
      assert.deepStrictEqual(later.map(workerOf), [1 - workerOf(agent), 1 - workerOf(agent)])
    })
  )

  it.live("shares the memory among the workers, and limits each of them by flags", () =>
    Effect.gen(function* () {
      const one = yield* startServer()
      const server = yield* startWorkers("--max-total-backlog", "1000000", "--max-connections", "2")
      const backlog = 'a2c_memory_limit_bytes{limit="total_backlog_bytes"}'
      const incomplete = 'a2c_memory_limit_bytes{limit="total_incomplete_bytes"}'
      const limits = yield* totals(server, "memory_limit")
      const { [incomplete]: whole = 0 } = yield* metrics(one, "memory_limit")
      assert.strictEqual(limits[backlog], count * 1_000_000)
      assert.approximately(limits[incomplete] ?? 0, whole, count)
      yield* joinComputers(server, 2 * count, "o")
      assert.strictEqual(Exit.isFailure(yield* Effect.exit(connect(server, "computer"))), true)
    })
  )

  it.live("ends each call once when a worker is killed", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      const answering: Array<() => void> = []
      const answers: Answers = (request, answer) => void answering.push(() => echo(request, answer))
      const computers = yield* joinComputers(server, 8, "o", { answers })
      const agent = yield* joinOffice(server, "agent", "a", "o")
      const calling = yield* Effect.forkChild(callAll(agent, "a", 8), { startImmediately: true })
      yield* until(
        Effect.sync(() => answering.length),
        (found) => found === 8
      )
      const isWithAgent = (peer: Peer) => workerOf(peer) === workerOf(agent)
      const [lost, left] = [computers.filter((one) => !isWithAgent(one)), computers.filter(isWithAgent)]
      kill(yield* pidOf(server, 1 - workerOf(agent)), "SIGKILL")
      yield* Effect.forEach(lost, ({ closed }) => closed)
      yield* until(
        Effect.sync(() => agent.acknowledgements()),
        (found) => found === lost.length + 1
      )
      for (const answer of answering) answer()
      const { ok = 0, ...failed } = yield* Fiber.join(calling)
      assert.deepStrictEqual([ok, agent.acknowledgements()], [left.length, agent.requestCount()])
      assert.deepStrictEqual(
        Object.keys(failed).filter((code) => code !== "503" && code !== "404"),
        []
      )
      assert.isAbove(lost.length, 0)
    })
  )

  it.live("leaves no connection waiting when workers are killed in a storm of connections", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      const outcomes: Array<string> = []
      let isOver = false
      const storm = Effect.gen(function* () {
        while (!isOver) outcomes.push(yield* getHealth(server))
      })
      const storms = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 32 }, () => storm),
          { concurrency: "unbounded" }
        )
      )
      for (let round = 0; round < 10; round++) {
        const pids = workersOf(server)
        const soFar = outcomes.length
        yield* until(
          Effect.sync(() => outcomes.length),
          (found) => found > soFar + 100
        )
        kill(pids[round % count] ?? 0, "SIGKILL")
        yield* until(
          Effect.sync(() => workersOf(server)),
          (found) => found.length === count && found.join() !== pids.join()
        )
        yield* allServe(server)
      }
      isOver = true
      yield* Fiber.join(storms)
      const ends = tally(outcomes)
      // A connection without bytes gets 408 after fifteen seconds.
      assert.deepStrictEqual(
        Object.keys(ends).filter((end) => end !== "200" && end !== "closed"),
        []
      )
      assert.isAbove(ends["200"] ?? 0, 2000)
    })
  )

  it.live("replaces a worker that is shut down alone, which gets no more connections", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers("--drain-timeout", "60")
      const computers = yield* joinComputers(server, 4, "o", { answers: () => undefined })
      const agent = yield* joinOffice(server, "agent", "a", "o")
      // Its call keeps the worker from ending.
      const drained = computers.find((one) => workerOf(one) !== workerOf(agent))
      assert.isDefined(drained)
      const called = computers.indexOf(drained)
      const calling = yield* Effect.forkChild(Effect.exit(call(agent, "a", `pc${called}`)), { startImmediately: true })
      yield* until(totals(server, "calls_in_flight"), (found) => found["a2c_calls_in_flight"] === 1)
      const index = workerOf(drained)
      const pid = yield* pidOf(server, index)
      kill(pid, "SIGTERM")
      yield* server.process.prints("graceful shutdown started", "stderr")
      const later = yield* Effect.forEach(names(6), () => connect(server, "computer"))
      assert.deepStrictEqual(
        later.map(workerOf),
        later.map(() => 1 - index)
      )
      yield* drained.close
      yield* Fiber.join(calling)
      yield* until(
        Effect.sync(() => workersOf(server)),
        (found) => found.length === count && !found.includes(pid)
      )
      yield* allServe(server)
    })
  )

  it.live("replaces a killed worker, whose members rejoin", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      const computers = names(3)
      yield* Effect.forEach(computers, (name) => startComputer(server.url, name))
      const agent = yield* startAgent(server.url)
      yield* allAnswer(agent, computers)
      for (const worker of workersOf(server)) {
        kill(worker, "SIGKILL")
        yield* until(
          Effect.sync(() => workersOf(server)),
          (found) => !found.includes(worker) && found.length === count
        )
        yield* allServe(server)
        yield* allAnswer(agent, computers)
      }
    })
  )

  it.live("serves again at its port after all workers were killed", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      for (const worker of workersOf(server)) kill(worker, "SIGKILL")
      yield* allServe(server)
      const computer = yield* joinOffice(server, "computer", "pc0", "o")
      const agent = yield* joinOffice(server, "agent", "a", "o")
      assert.strictEqual((yield* call(agent, "a", "pc0")).end, "ok")
      yield* computer.close
    })
  )

  it.live("leaves no process when the primary one is killed, and its members rejoin when it is started again", () =>
    Effect.gen(function* () {
      const { host, port } = loopbackAddress()
      const start = Effect.gen(function* () {
        const process = yield* a2c("server", "--workers", "2", "--host", host, "--port", String(port))
        return { process, url: yield* urlOf(process) }
      })
      const server = yield* start
      yield* allServe(server)
      const computers = names(2)
      yield* Effect.forEach(computers, (name) => startComputer(server.url, name))
      const agent = yield* startAgent(server.url)
      yield* allAnswer(agent, computers)
      const workers = workersOf(server)
      yield* server.process.signal("SIGKILL")
      yield* until(
        Effect.sync(() => processes().filter(({ isZombie, pid }) => !isZombie && workers.includes(pid))),
        (left) => left.length === 0
      )
      yield* start
      yield* allAnswer(agent, computers)
    })
  )

  it.live("replaces a worker that stalls", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      const [stalled = 0] = workersOf(server)
      kill(stalled, "SIGSTOP")
      yield* until(
        Effect.sync(() => workersOf(server)),
        (found) => !found.includes(stalled) && found.length === count
      )
      yield* allServe(server)
    })
  )

  it.live("serves polling members whose requests reach different workers", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      const proxy = yield* spreadingProxy(server.url)
      const options = { transports: ["polling"] } as const
      yield* joinComputers(proxy, 4, "o", options)
      const agent = yield* joinOffice(proxy, "agent", "a", "o", options)
      for (let round = 0; round < 5; round++) assert.deepStrictEqual(yield* callAll(agent, "a", 4), { ok: 4 })
    })
  )

  for (const [what, flags, ca] of [
    ["", [], undefined],
    [" over TLS", ["--tls-cert", fixture("first.cert"), "--tls-key", fixture("first.key")], fixture("first.cert")]
  ] as const) {
    it.live(`upgrades connections that begin with polling${what}`, () =>
      Effect.gen(function* () {
        const server = yield* startServer(["--workers", "2", ...flags])
        const options = {
          transports: ["polling", "websocket"],
          ...(ca !== undefined && { ca: readFileSync(ca, "utf8") })
        } as const
        const computers = yield* joinComputers(server, 8, "o", options)
        yield* until(
          Effect.sync(() => tally(computers.map(({ transport }) => transport() ?? ""))),
          (found) => found["websocket"] === 8
        )
        const agent = yield* joinOffice(server, "agent", "a", "o", options)
        assert.deepStrictEqual(yield* callAll(agent, "a", 8), { ok: 8 })
      })
    )
  }

  it.live("rejects the engine of the package socket.io", () =>
    Effect.gen(function* () {
      const server = yield* a2c("server", "--workers", "2", "--engine", "socket.io")
      assert.strictEqual(yield* server.ended, 1)
      assert.include(server.stderr(), "--workers needs the engine 'relay'")
    })
  )

  it.live.skipIf(withoutRedis)("makes each worker a node of the cluster of Redis", () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis
      const server = yield* startWorkers("--redis", url)
      const other = yield* startServer(["--redis", url])
      yield* until(metrics(other, "nodes"), (found) => found["a2c_nodes"] === count + 1)
      const agent = yield* joinOffice(other, "agent", "a", "o")
      yield* joinComputers(server, 4, "o")
      yield* Effect.forEach(names(4), (name) => meets(agent, name))
      assert.deepStrictEqual(yield* callAll(agent, "a", 4), { ok: 4 })
    })
  )

  it.live("ends calls in flight between workers before it stops", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers("--drain-timeout", "60")
      const answering: Array<() => void> = []
      const answers: Answers = (request, answer) => void answering.push(() => echo(request, answer))
      yield* joinComputers(server, 2, "o", { answers })
      const agent = yield* joinOffice(server, "agent", "a", "o")
      const calling = yield* Effect.forkChild(callAll(agent, "a", 2), { startImmediately: true })
      yield* until(
        Effect.sync(() => answering.length),
        (found) => found === 2
      )
      yield* server.process.signal("SIGTERM")
      yield* server.process.prints("graceful shutdown started", "stderr")
      for (const answer of answering) answer()
      assert.deepStrictEqual(yield* Fiber.join(calling), { ok: 2 })
      assert.strictEqual(yield* server.process.ended, 0)
      assert.include(server.process.stderr(), "server stopped")
    })
  )

  it.live("ends all processes on a second signal", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers("--drain-timeout", "60")
      yield* joinOffice(server, "computer", "pc", "o", { answers: () => undefined })
      const agent = yield* joinOffice(server, "agent", "a", "o")
      yield* Effect.forkChild(Effect.exit(call(agent, "a", "pc")), { startImmediately: true })
      const workers = workersOf(server)
      yield* until(totals(server, "calls_in_flight"), (found) => found["a2c_calls_in_flight"] === 1)
      yield* server.process.signal("SIGTERM")
      yield* server.process.prints("graceful shutdown started", "stderr")
      yield* server.process.signal("SIGTERM")
      assert.strictEqual(yield* server.process.ended, 143)
      yield* until(
        Effect.sync(() => processes().filter(({ isZombie, pid }) => !isZombie && workers.includes(pid))),
        (left) => left.length === 0
      )
    })
  )

  it.live("shows the members of all workers on the office page, by one session", () =>
    Effect.gen(function* () {
      const server = yield* startWorkers()
      yield* joinComputers(server, 4, "o", { answers: ({ req_id }, answer) => answer({ tools: [], req_id }) })
      const opened = yield* Effect.promise(() => fetch(`${server.url}/office/api/session`))
      const { csrf } = (yield* Effect.promise(() => opened.json())) as { readonly csrf: string }
      const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? ""
      // Each request has its own connection.
      const headers = { cookie, "x-a2c-csrf": csrf, "content-type": "application/json", connection: "close" }
      for (let request = 0; request < 4; request++) {
        for (const computer of names(4)) {
          const body = JSON.stringify({ _tag: "GetTools", line: "0.2", office: "o", computer })
          const reply = yield* Effect.promise(() =>
            fetch(`${server.url}/office/api/commands`, { method: "POST", headers, body })
          )
          assert.strictEqual(reply.status, 200)
          yield* Effect.promise(() => reply.text())
        }
      }
    })
  )

  it.live("writes the audit of all workers to one file, which it rotates", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "audit.jsonl")
      const server = yield* startWorkers("--audit", file, "--audit-max-bytes", "4096", "--audit-keep", "1000")
      yield* joinComputers(server, 4, "o")
      const agents = yield* Effect.forEach(["o", "p"], (office) => joinOffice(server, "agent", "a", office))
      const [agent] = agents
      assert.isDefined(agent)
      for (let round = 0; round < 25; round++) assert.deepStrictEqual(yield* callAll(agent, "a", 4), { ok: 4 })
      yield* server.process.signal("SIGTERM")
      assert.strictEqual(yield* server.process.ended, 0)
      const lines = readdirSync(folder)
        .flatMap((name) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n"))
        .map((line) => JSON.parse(line) as { readonly type: string })
      assert.isAbove(readdirSync(folder).length, 1)
      const types = tally(lines.map(({ type }) => type))
      assert.deepInclude(types, { call: 100 })
    })
  )

  it.live("fails with the error of the first worker when it cannot start", () =>
    Effect.gen(function* () {
      const server = yield* startServer()
      const { port } = new URL(server.url)
      const second = yield* a2c("server", "--workers", "2", "--port", port)
      assert.strictEqual(yield* second.ended, 1)
      assert.include(second.stderr(), "the address is in use")
    })
  )

  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    it.live(`leaves no file behind after ${signal}`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const server = yield* startServer(["--workers", String(count)], { TMPDIR: folder })
        yield* allServe(server)
        assert.lengthOf(readdirSync(folder), 1)
        yield* server.process.signal(signal)
        yield* until(
          Effect.sync(() => readdirSync(folder)),
          (left) => left.length === 0
        )
      })
    )
  }
})
