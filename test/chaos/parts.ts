import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { type HttpProxy, openHttpProxy } from "../adapters/socketio/client/HttpProxy.ts"
import type { FaultyRedis } from "../fixtures/redisErrors.ts"
import { sourceCli } from "../main/processes.ts"
import { loopbackAddress } from "../loopbackAddress.ts"
import { descendants } from "../processes.ts"
import { watchAcknowledgements } from "./Acknowledgements.ts"
import { type Home, type Load, type Office, officeId } from "./members.ts"
import type { Execution, Ledger } from "./Ledger.ts"
import type { LogLine } from "./outages.ts"
import { type AgentOrders, type AgentReport, toolNamed } from "./orders.ts"
import { type Kept, keepRunning, startNode } from "./Process.ts"
import { openProxy, type Proxy } from "./Proxy.ts"

/** A part that can have faults. */
interface Part {
  readonly name: string
  readonly kept: Kept
  /** The warnings on its stderr. */
  readonly warnings: ReadonlyArray<LogLine>
}

/** A Server. */
export interface ServerPart extends Part {
  /** Its proxy to Redis. */
  readonly wayToRedis: Proxy
  /** Where it takes links of other Servers, as host and port, and the proxy that they use. */
  readonly links: string
  readonly wayToLinks: Proxy
  /** The port on which it listens, without a proxy; undefined while it does not listen. */
  readonly port: () => number | undefined
}

/** A member. */
export interface MemberPart extends Part {
  /** Its proxy to the Servers. */
  readonly way: Proxy
  /** The HTTP proxy behind it, which may answer itself. */
  readonly http: HttpProxy
  /** Index of the Server of its last connection. */
  readonly server: () => number | undefined
}

/** An Agent. */
export interface AgentPart extends MemberPart {
  /** Stops the process and measures the time. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  /** Stops new calls. */
  readonly rest: Effect.Effect<void>
  /** The reported status and the Computers in its office. */
  readonly standing: () => string
}

/** A Computer. */
export interface ComputerPart extends MemberPart {
  /** Kills its MCP server. */
  readonly killTool: Effect.Effect<void>
  /** Executions in its journal. */
  readonly executions: () => ReadonlyArray<Execution>
}

const child = (name: string) => fileURLToPath(new URL(`children/${name}.ts`, import.meta.url))

/** Maximum of concurrent calls of a pair; far below the limits of a Server. */
const atOnce = 60

/** Collects the warnings on a stderr. */
const collectWarnings = () => {
  const warnings: Array<LogLine> = []
  return {
    warnings,
    onError: (line: string) => {
      const [, text] = /\bWARN\s+(.*)$/.exec(line) ?? []
      if (text !== undefined) warnings.push({ at: performance.now(), text })
    }
  }
}

/** Starts a Server with this Redis. */
export const startServer = Effect.fnUntraced(function* (
  redis: FaultyRedis,
  name: string
): Effect.fn.Return<ServerPart, never, Scope.Scope> {
  const wayToRedis = yield* openProxy({ target: () => redis.port })
  const links = loopbackAddress()
  const wayToLinks = yield* openProxy({ target: () => links.port, host: links.host })
  const { onError, warnings } = collectWarnings()
  const address = `${links.host}:${links.port}`
  let port: number | undefined
  const start = startNode([sourceCli, "server", "--port", "0", "--node-address", address, "--log-level", "warn"], {
    variables: { A2C_REDIS: `redis://127.0.0.1:${wayToRedis.port}` },
    onError,
    onLine: (line) => {
      const url = /^listening on (.*)$/.exec(line)?.[1]
      if (url !== undefined) port = Number(new URL(url).port)
    }
  })
  const kept = yield* keepRunning(start, () => {
    port = undefined
  })
  return { name, kept, warnings, wayToRedis, links: address, wayToLinks, port: () => port }
})

/** A proxy to the home Server, or to the next one that listens. */
const openWay = Effect.fnUntraced(function* (
  servers: ReadonlyArray<ServerPart>,
  home: number,
  watch?: () => (chunk: Buffer) => void
): Effect.fn.Return<Pick<MemberPart, "http" | "server" | "way">, never, Scope.Scope> {
  let last: number | undefined
  const target = () => {
    const inOrder = servers.map((_, step) => (home + step) % servers.length)
    last = inOrder.find((index) => servers[index]?.port() !== undefined) ?? last
    return servers[last ?? home]?.port()
  }
  const http = yield* openHttpProxy(target)
  const port = Number(new URL(http.url).port)
  const way = yield* openProxy({ target: () => port, ...(watch !== undefined && { watch }) })
  return { http, way, server: () => last }
})

/** Starts a Computer of an office. Its configuration and its journal are in this folder. */
export const startComputer = Effect.fnUntraced(function* (
  { home, name }: Home,
  { protocol }: Office,
  servers: ReadonlyArray<ServerPart>,
  folder: string
): Effect.fn.Return<ComputerPart, never, Scope.Scope> {
  const { http, server, way } = yield* openWay(servers, home)
  const { onError, warnings } = collectWarnings()
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
  const place = [
    "--server",
    `http://127.0.0.1:${way.port}`,
    "--office",
    officeId,
    "--name",
    name,
    "--protocol",
    protocol
  ]
  const kept = yield* keepRunning(
    startNode([sourceCli, "computer", ...place, "--config", config, "--log-level", "warn"], { onError })
  )
  const noted = (what: string) =>
    readFileSync(journal, "utf8")
      .split("\n")
      .filter((line) => line.startsWith(`${what} `))
      .map((line) => line.slice(what.length + 1))
  return {
    name,
    kept,
    warnings,
    http,
    way,
    server,
    // The process may have ended meanwhile.
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

/** Measures the time for which a process is stopped, in milliseconds. */
export interface PauseClock {
  readonly begin: () => void
  readonly end: () => void
  readonly total: () => number
}

export const makePauseClock = (): PauseClock => {
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

/** The last report of an Agent and its time. */
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
      set("has not joined yet")
      sees = "none"
    },
    onReport: (report: AgentReport) => {
      if (report._tag === "Stands") set(report.where)
      if (report._tag === "Sees") sees = report.computers.join(", ") || "none"
    },
    format: () => {
      const seconds = ((performance.now() - since) / 1000).toFixed(1)
      return `${where} for ${seconds} s; Computers in its office: ${sees}`
    }
  }
}

/** Starts the Agent of an office. It calls its Computers continuously and reports to the ledger. */
export const startAgent = Effect.fnUntraced(function* (
  { agent: { home, name }, computers, protocol }: Office,
  servers: ReadonlyArray<ServerPart>,
  { every, timeout, work }: Load,
  ledger: Ledger,
  pauseClock: PauseClock
): Effect.fn.Return<AgentPart, never, Scope.Scope> {
  let connections = 0
  const { onError, warnings } = collectWarnings()
  const { http, server, way } = yield* openWay(servers, home, () => {
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
      office: officeId,
      protocol,
      tool: toolNamed("mark", "marks", protocol),
      name,
      life,
      computers: resting ? [] : computers.map((computer) => computer.name),
      every,
      atOnce,
      timeout,
      work
    }
    return startNode([child("agent"), JSON.stringify(orders)], {
      onError,
      onMessage: (report) => onReport(report as AgentReport)
    })
  })
  const kept = yield* keepRunning(start, () => {
    pauseClock.end()
    ledger.died(life)
  })
  return {
    name,
    kept,
    warnings,
    http,
    way,
    server,
    pause: Effect.andThen(kept.pause, Effect.sync(pauseClock.begin)),
    resume: Effect.andThen(Effect.sync(pauseClock.end), kept.resume),
    rest: Effect.suspend(() => {
      resting = true
      return kept.current()?.send({}) ?? Effect.void
    }),
    standing: standing.format
  }
})
