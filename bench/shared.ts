/**
 * Compares MCP hosts on one machine that start their MCP servers each, with the same hosts on one published office: number of
 * processes, memory, and the time to the first call. Linux only. docs/why.md has the results.
 * Usage: node bench/shared.ts [--hosts N] [--servers N]
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { guardChild } from "../test/childGuard.ts"
import { descendants } from "../test/processes.ts"
import { lineOf } from "./childLines.ts"
import type { HostOrder, HostReport } from "./mcpHost.ts"
import { builtCommand } from "./relay/builtCommand.ts"
import { median } from "./relay/statistics.ts"

const { values } = parseArgs({
  options: { hosts: { type: "string", default: "10" }, servers: { type: "string", default: "8" } }
})
const [hostCount, serverCount] = [Number(values.hosts), Number(values.servers)]
if (!(hostCount >= 1 && hostCount <= 50 && serverCount >= 2 && serverCount <= 50)) {
  throw new Error("usage: node bench/shared.ts [--hosts 1…50] [--servers 2…50]")
}

/** Milliseconds that a process may take to start. */
const limit = 180_000

/** Seconds until memory is read: processes free what their start needed. */
const settling = 15

const command = builtCommand()
const hostFile = join(import.meta.dirname, "mcpHost.ts")
const resolveServer = createRequire(import.meta.url).resolve
const memory = resolveServer("@modelcontextprotocol/server-memory/dist/index.js")
const everything = resolveServer("@modelcontextprotocol/server-everything/dist/index.js")

/** Each second server is `server-memory`, the others are `server-everything`. */
const servers = Array.from({ length: serverCount }, (_, index) => ({
  command: process.execPath,
  args: index % 2 === 0 ? [everything, "stdio"] : [memory]
}))

/** Proportional memory of processes in MB: what they share counts once. */
const megabytes = (pids: ReadonlyArray<number>): number =>
  pids.reduce(
    (sum, pid) => sum + Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) / 1024,
    0
  )

const root = mkdtempSync(join(tmpdir(), "a2c-shared-"))
const env = { PATH: process.env["PATH"] ?? "", HOME: root, NODE_COMPILE_CACHE: join(root, "compiled") }

const start = (program: ReadonlyArray<string>): ChildProcess =>
  guardChild(spawn(process.execPath, program, { cwd: root, env, stdio: ["pipe", "pipe", "ignore"] }))

/** Ends a process, and waits until it has ended its own children. */
const stop = async (child: ChildProcess, end: () => void): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const late = setTimeout(() => child.kill("SIGKILL"), 30_000)
  end()
  await once(child, "exit")
  clearTimeout(late)
}

/** Starts hosts one after the other, and measures them with all other processes: the members of the office. */
const measure = async (order: HostOrder, members: ReadonlyArray<ChildProcess>) => {
  const hosts: Array<ChildProcess> = []
  try {
    const reports: Array<HostReport> = []
    for (let at = 0; at < hostCount; at++) {
      const host = start([hostFile, JSON.stringify(order)])
      hosts.push(host)
      reports.push(JSON.parse(await lineOf(host, /^\{/, limit)) as HostReport)
    }
    await sleep(settling * 1000)
    const own = hosts.map(({ pid = 0 }) => pid)
    const roots = [...own, ...members.map(({ pid = 0 }) => pid)]
    const all = [...roots, ...roots.flatMap(descendants)]
    const [times, tools] = [reports.map(({ time }) => time), Math.min(...reports.map((one) => one.tools))]
    return { times, tools, processes: all.length, memory: megabytes(all), ofHosts: megabytes(own) }
  } finally {
    await Promise.all(hosts.map((host) => stop(host, () => host.stdin?.end())))
  }
}

/** Waits until a published office lists tools of all MCP servers. */
const waitForServers = async (url: string): Promise<void> => {
  const client = new Client({ name: "probe", version: "0" })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  const begun = performance.now()
  const started = async () => {
    const { tools } = await client.listTools()
    return new Set(tools.flatMap(({ name }) => /^desk__(server-\d+)__/.exec(name)?.[1] ?? [])).size
  }
  while ((await started()) < serverCount) {
    if (performance.now() - begun > limit) throw new Error("the MCP servers did not start in time")
    await sleep(100)
  }
  await client.close()
}

/** Starts a Server, a Computer with the MCP servers, and the published office; gives its URL and the time. */
const startOffice = async (members: Array<ChildProcess>) => {
  const startMember = (...args: ReadonlyArray<string>) => {
    const child = start([command, ...args])
    members.push(child)
    return child
  }
  const config = join(root, "mcp.json")
  const settings = { default_tool_meta: { auto_apply: true } }
  const named = servers.map((server, index) => [`server-${index}`, { ...server, ...settings }] as const)
  writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(named) }))
  const begun = performance.now()
  const listening = await lineOf(startMember("server", "--port", "0"), /^listening on /, limit)
  const place = ["--server", listening.replace("listening on ", ""), "--office", "shared", "--protocol", "auto"]
  await lineOf(startMember("computer", ...place, "--name", "desk", "--config", config), /joined office/, limit)
  const published = startMember("agent", ...place, "mcp", "--http", "0", "--no-page", "--tools", "all")
  const line = await lineOf(published, /https?:\S+/, limit)
  const url = /https?:\S+/.exec(line)?.[0] ?? ""
  await waitForServers(url)
  return { url, seconds: (performance.now() - begun) / 1000 }
}

const members: Array<ChildProcess> = []
try {
  mkdirSync(join(root, "compiled"))
  const each = await measure({ servers, tool: "echo" }, [])
  const office = await startOffice(members)
  const shared = await measure({ servers: [{ url: office.url }], tool: "desk__server-0__echo" }, members)
  const columns = [each, shared]
  type Column = typeof each
  const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(2)} s`
  const rows: ReadonlyArray<readonly [string, (column: Column) => string]> = [
    ["tools that a host sees", ({ tools }) => String(tools)],
    ["processes", ({ processes }) => String(processes)],
    ["memory of all", (column) => `${column.memory.toFixed(0)} MB`],
    ["memory without the hosts", (column) => `${(column.memory - column.ofHosts).toFixed(0)} MB`],
    ["time to the first call of a host, median", ({ times }) => seconds(median(times))],
    ["time to the first call of a host, maximum", ({ times }) => seconds(Math.max(...times))]
  ]
  const print = (cells: ReadonlyArray<string>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
  print([`${hostCount} hosts, ${serverCount} MCP servers`, "each host starts the servers", "one published office"])
  print(["---", "---:", "---:"])
  for (const [row, format] of rows) print([row, ...columns.map(format)])
  process.stdout.write(`The office was published ${office.seconds.toFixed(1)} s after the start of the Server.\n`)
} finally {
  for (const child of members.toReversed()) await stop(child, () => child.kill("SIGTERM"))
  rmSync(root, { recursive: true, force: true })
}
