import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { startRedis, type TestRedis } from "../fixtures/redis.ts"
import { cli, temporaryFolder } from "../main/processes.ts"
import { descendants } from "../processes.ts"
import { watchAcknowledgements } from "./Acknowledgements.ts"
import { type Execution, Ledger, type Pair } from "./Ledger.ts"
import type { AgentOrders, AgentReport } from "./orders.ts"
import { type Kept, keepRunning, startNode } from "./Process.ts"
import { openProxy, type Proxy } from "./Proxy.ts"

/** Who sits at which Server, by its number, as long as it runs; else at the next one. */
interface Home {
  readonly name: string
  readonly home: number
}

/** An office: an Agent, and the Computers that it calls. */
interface Office {
  readonly agent: Home
  readonly computers: ReadonlyArray<Home>
}

/** What is there. Names are unique. */
export interface Cast {
  readonly servers: number
  readonly offices: ReadonlyArray<Office>
}

/** How much is called, and how long anything may take. */
export interface Load {
  /** Milliseconds between two calls of a pair. */
  readonly every: number
  /** Milliseconds that the tool takes. */
  readonly work: number
  /** Seconds that a call may take. */
  readonly timeout: number
  /** Milliseconds after that until it counts as lost. */
  readonly grace: number
}

/** Three Servers, and pairs within one of them and across. */
export const largeCast: Cast = {
  servers: 3,
  offices: [
    {
      agent: { name: "ada", home: 0 },
      computers: [
        { name: "desk", home: 0 },
        { name: "shelf", home: 1 }
      ]
    },
    {
      agent: { name: "bob", home: 1 },
      computers: [
        { name: "lamp", home: 1 },
        { name: "store", home: 2 }
      ]
    }
  ]
}

/** The least that has it all: two Servers, a pair at one of them and one across. */
export const smallCast: Cast = {
  servers: 2,
  offices: [
    {
      agent: { name: "ada", home: 0 },
      computers: [
        { name: "desk", home: 0 },
        { name: "shelf", home: 1 }
      ]
    }
  ]
}

/** A part that can be disturbed. */
interface Part {
  readonly name: string
  readonly kept: Kept
}

/** A Server. */
export interface ServerPart extends Part {
  /** Its way to Redis. */
  readonly wayToRedis: Proxy
}

/** A member. */
export interface MemberPart extends Part {
  /** Its way to the Servers. */
  readonly way: Proxy
  /** The number of the Server that took its last connection. */
  readonly server: () => number | undefined
}

/** An Agent. */
export interface AgentPart extends MemberPart {
  /** Makes it stand still, and counts for how long. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  /** Makes it begin no more calls. */
  readonly rest: Effect.Effect<void>
}

/** A Computer. */
export interface ComputerPart extends MemberPart {
  /** Kills its MCP server, as a crash would. */
  readonly killTool: Effect.Effect<void>
}

/** Everything that runs. */
export interface Fleet {
  readonly redis: TestRedis
  readonly servers: ReadonlyArray<ServerPart>
  readonly agents: ReadonlyArray<AgentPart>
  readonly computers: ReadonlyArray<ComputerPart>
  readonly pairs: ReadonlyArray<Pair>
  readonly ledger: Ledger
  /** Every execution that the Computers have noted. */
  readonly executions: () => ReadonlyArray<Execution>
}

const child = (name: string) => fileURLToPath(new URL(`children/${name}.ts`, import.meta.url))

/** How many calls of a pair may wait for their end at once; far below what a Server allows. */
const atOnce = 60

interface Listening extends ServerPart {
  readonly port: () => number | undefined
}

const startServer = Effect.fnUntraced(function* (
  redis: TestRedis,
  name: string
): Effect.fn.Return<Listening, never, Scope.Scope> {
  const wayToRedis = yield* openProxy({ target: () => redis.port })
  let port: number | undefined
  const start = startNode([cli, "server", "--port", "0", "--log-level", "warn"], {
    variables: { A2C_REDIS: `redis://127.0.0.1:${wayToRedis.port}` },
    onLine: (line) => {
      const url = /^listening on (.*)$/.exec(line)?.[1]
      if (url !== undefined) port = Number(new URL(url).port)
    }
  })
  const kept = yield* keepRunning(start, () => {
    port = undefined
  })
  return { name, kept, wayToRedis, port: () => port }
})

/** A way to the Server that is somebody's home, or to the next one that listens. */
const openWay = Effect.fnUntraced(function* (
  servers: ReadonlyArray<Listening>,
  home: number,
  watch?: () => (chunk: Buffer) => void
): Effect.fn.Return<Pick<MemberPart, "server" | "way">, never, Scope.Scope> {
  let last: number | undefined
  const target = () => {
    const inOrder = servers.map((_, step) => (home + step) % servers.length)
    last = inOrder.find((index) => servers[index]?.port() !== undefined) ?? last
    return servers[last ?? home]?.port()
  }
  const way = yield* openProxy({ target, ...(watch !== undefined && { watch }) })
  return { way, server: () => last }
})

const startComputer = Effect.fnUntraced(function* (
  { home, name }: Home,
  office: string,
  servers: ReadonlyArray<Listening>,
  folder: string
): Effect.fn.Return<
  ComputerPart & { readonly executions: () => ReadonlyArray<Execution> },
  never,
  Scope.Scope
> {
  const { server, way } = yield* openWay(servers, home)
  const journal = join(folder, `${name}.journal`)
  const config = join(folder, `${name}.json`)
  writeFileSync(journal, "")
  const parameters = { command: process.execPath, args: [child("tool"), journal] }
  const marks = {
    type: "stdio",
    server_parameters: parameters,
    default_tool_meta: { auto_apply: true }
  }
  writeFileSync(config, JSON.stringify({ servers: { marks } }))
  const place = ["--server", `http://127.0.0.1:${way.port}`, "--office", office, "--name", name]
  const kept = yield* keepRunning(
    startNode([cli, "computer", ...place, "--config", config, "--log-level", "warn"])
  )
  const noted = (what: string) =>
    readFileSync(journal, "utf8")
      .split("\n")
      .filter((line) => line.startsWith(`${what} `))
      .map((line) => line.slice(what.length + 1))
  return {
    name,
    kept,
    way,
    server,
    // It may have ended a moment ago.
    killTool: Effect.ignore(
      Effect.try(() => {
        const root = kept.current()?.pid
        const pid = Number(noted("start").at(-1))
        if (root !== undefined && descendants(root).includes(pid)) process.kill(pid, "SIGKILL")
      })
    ),
    executions: () => noted("call").map((id) => ({ id, computer: name }))
  }
})

/** Counts for how long something has stood still, in milliseconds. */
const makeStillness = () => {
  let total = 0
  let since: number | undefined
  return {
    begin: () => {
      since ??= performance.now()
    },
    end: () => {
      if (since !== undefined) total += performance.now() - since
      since = undefined
    },
    total: () => total + (since === undefined ? 0 : performance.now() - since)
  }
}

const startAgent = Effect.fnUntraced(function* (
  { agent: { home, name }, computers }: Office,
  office: string,
  servers: ReadonlyArray<Listening>,
  { every, timeout, work }: Load,
  ledger: Ledger,
  stillness: ReturnType<typeof makeStillness>
): Effect.fn.Return<AgentPart, never, Scope.Scope> {
  let connections = 0
  const { server, way } = yield* openWay(servers, home, () => {
    const connection = ++connections
    return watchAcknowledgements((request) =>
      ledger.acknowledgedTwice(`acknowledgement ${request} on connection ${connection} of ${name}`)
    )
  })
  let lives = 0
  let life = ""
  let resting = false
  const hear = (report: AgentReport) => {
    if (report._tag === "Started") ledger.started(report.id, { agent: name, computer: report.computer }, life)
    if (report._tag === "Ended") ledger.ended(report.id, report.outcome)
  }
  const start = Effect.suspend(() => {
    life = `${name}-${++lives}`
    const orders: AgentOrders = {
      url: `http://127.0.0.1:${way.port}`,
      office,
      name,
      life,
      computers: resting ? [] : computers.map((computer) => computer.name),
      every,
      atOnce,
      timeout,
      work
    }
    return startNode([child("agent"), JSON.stringify(orders)], {
      onMessage: (report) => hear(report as AgentReport)
    })
  })
  const kept = yield* keepRunning(start, () => {
    stillness.end()
    ledger.died(life)
  })
  return {
    name,
    kept,
    way,
    server,
    pause: Effect.andThen(kept.pause, Effect.sync(stillness.begin)),
    resume: Effect.andThen(Effect.sync(stillness.end), kept.resume),
    rest: Effect.suspend(() => {
      resting = true
      return kept.current()?.send({}) ?? Effect.void
    })
  }
})

/** Starts everything; it ends with the scope. Members come as soon as they can. */
export const startFleet = Effect.fnUntraced(function* (
  cast: Cast,
  load: Load
): Effect.fn.Return<Fleet, never, Scope.Scope> {
  const redis = yield* startRedis()
  const folder = join(yield* temporaryFolder, "journals")
  mkdirSync(folder)
  const servers = yield* Effect.forEach(Array.from({ length: cast.servers }), (_, index) =>
    startServer(redis, `server ${index + 1}`)
  )
  const stillness = new Map(cast.offices.map(({ agent }) => [agent.name, makeStillness()]))
  const stillnessOf = (agent: string) => stillness.get(agent) ?? makeStillness()
  const ledger = new Ledger(load.timeout * 1000 + load.grace, (agent) => stillnessOf(agent).total())
  const offices = cast.offices.map((office, index) => ({ office, id: `office-${index + 1}` }))
  const computers = yield* Effect.forEach(
    offices.flatMap(({ id, office }) => office.computers.map((home) => ({ home, id }))),
    ({ home, id }) => startComputer(home, id, servers, folder)
  )
  const agents = yield* Effect.forEach(offices, ({ id, office }) =>
    startAgent(office, id, servers, load, ledger, stillnessOf(office.agent.name))
  )
  return {
    redis,
    servers,
    agents,
    computers,
    pairs: cast.offices.flatMap(({ agent, computers: those }) =>
      those.map(({ name }) => ({ agent: agent.name, computer: name }))
    ),
    ledger,
    executions: () => computers.flatMap((one) => one.executions())
  }
})
