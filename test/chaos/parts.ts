import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { cli } from "../main/processes.ts"
import { descendants } from "../processes.ts"
import { watchAcknowledgements } from "./Acknowledgements.ts"
import type { Home, Load, Office } from "./cast.ts"
import type { Execution, Ledger } from "./Ledger.ts"
import type { AgentOrders, AgentReport } from "./orders.ts"
import { type Kept, keepRunning, startNode } from "./Process.ts"
import { openProxy, type Proxy } from "./Proxy.ts"

/** A part that can be disturbed. */
interface Part {
  readonly name: string
  readonly kept: Kept
}

/** A Server. */
export interface ServerPart extends Part {
  /** Its way to Redis. */
  readonly wayToRedis: Proxy
  /** Where it listens, past all ways that can be disturbed; nothing while it does not. */
  readonly port: () => number | undefined
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
  /** Where it says that it stands with its Server, and whom it sees. */
  readonly standing: () => string
}

/** A Computer. */
export interface ComputerPart extends MemberPart {
  /** Kills its MCP server, as a crash would. */
  readonly killTool: Effect.Effect<void>
  /** Every execution that it has noted. */
  readonly executions: () => ReadonlyArray<Execution>
}

const child = (name: string) => fileURLToPath(new URL(`children/${name}.ts`, import.meta.url))

/** How many calls of a pair may wait for their end at once; far below what a Server allows. */
const atOnce = 60

/** Starts a Server that finds its Redis at this port. */
export const startServer = Effect.fnUntraced(function* (
  redisPort: number,
  name: string
): Effect.fn.Return<ServerPart, never, Scope.Scope> {
  const wayToRedis = yield* openProxy({ target: () => redisPort })
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
  servers: ReadonlyArray<ServerPart>,
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

/** Starts a Computer of an office; its configuration and its journal are written to this folder. */
export const startComputer = Effect.fnUntraced(function* (
  { home, name }: Home,
  office: string,
  servers: ReadonlyArray<ServerPart>,
  folder: string
): Effect.fn.Return<ComputerPart, never, Scope.Scope> {
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
export interface Stillness {
  readonly begin: () => void
  readonly end: () => void
  readonly total: () => number
}

/** A count that begins with nothing. */
export const makeStillness = (): Stillness => {
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

/** What an Agent says of itself, and when it said so last. */
const makeStanding = () => {
  let where = ""
  let sees = ""
  let since = 0
  const set = (now: string) => {
    where = now
    since = performance.now()
  }
  return {
    begin: () => {
      set("not in the office yet")
      sees = "nobody"
    },
    onReport: (report: AgentReport) => {
      if (report._tag === "Stands") set(report.where)
      if (report._tag === "Sees") sees = report.computers.join(", ") || "nobody"
    },
    format: () => {
      const seconds = ((performance.now() - since) / 1000).toFixed(1)
      return `for ${seconds} s ${where}; it sees ${sees}`
    }
  }
}

/** Starts the Agent of an office, which calls its Computers all the time and reports to the ledger. */
export const startAgent = Effect.fnUntraced(function* (
  { agent: { home, name }, computers }: Office,
  office: string,
  servers: ReadonlyArray<ServerPart>,
  { every, timeout, work }: Load,
  ledger: Ledger,
  stillness: Stillness
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
  const standing = makeStanding()
  const onReport = (report: AgentReport) => {
    if (report._tag === "Started") ledger.started(report.id, { agent: name, computer: report.computer }, life)
    if (report._tag === "Ended") ledger.ended(report.id, report.outcome)
    standing.onReport(report)
  }
  const start = Effect.suspend(() => {
    life = `${name}-${++lives}`
    standing.begin()
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
      onMessage: (report) => onReport(report as AgentReport)
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
    }),
    standing: standing.format
  }
})
