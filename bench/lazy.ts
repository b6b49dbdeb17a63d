/**
 * Measures `a2c computer` with many MCP servers in processes, eager and lazy: the time to join, processes, memory, and the
 * latency of calls. Linux only. bench/README.md has the results.
 * Usage: node bench/lazy.ts [--servers N] [--calls N]
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { connectAgent } from "../src/main/entrypoints/promise.ts"
import { guardChild } from "../test/childGuard.ts"
import { descendants } from "../test/processes.ts"
import { lineOf } from "./childLines.ts"
import { builtCommand } from "./relay/builtCommand.ts"
import { median, quantile } from "./relay/statistics.ts"

const { values } = parseArgs({
  options: { servers: { type: "string", default: "50" }, calls: { type: "string", default: "10" } }
})
const [count, calls] = [Number(values.servers), Number(values.calls)]
if (!(count >= 2 && count <= 500 && calls >= 1 && calls <= count / 2)) {
  throw new Error("usage: node bench/lazy.ts [--servers 2…500] [--calls 1…SERVERS/2]")
}

/** Milliseconds that a Computer may take for anything. */
const limit = 300_000

/** Seconds until memory is read: a Computer frees what its start needed. */
const settling = 15

const command = builtCommand()
const resolveServer = createRequire(import.meta.url).resolve
const memory = resolveServer("@modelcontextprotocol/server-memory/dist/index.js")
const everything = resolveServer("@modelcontextprotocol/server-everything/dist/index.js")

/** Each second server is `server-memory`, the others are `server-everything`. */
const servers = (lifecycle: string) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `server-${index}`,
      {
        command: process.execPath,
        args: index % 2 === 0 ? [memory] : [everything, "stdio"],
        lifecycle,
        idle: "1h",
        default_tool_meta: { auto_apply: true },
        // Of tools with one name the office sees only the first.
        tool_meta: index % 2 === 0 ? { read_graph: { alias: `read_${index}` } } : { echo: { alias: `echo_${index}` } }
      }
    ])
  )

/** Proportional memory of processes in MB: what they share counts once. */
const megabytes = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => {
    try {
      return sum + Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) / 1024
    } catch {
      return sum
    }
  }, 0)

const root = mkdtempSync(join(tmpdir(), "a2c-lazy-"))
const started: Array<ChildProcess> = []
const start = (...args: ReadonlyArray<string>): ChildProcess => {
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, NODE_COMPILE_CACHE: join(root, "compiled") }
  const child = guardChild(
    spawn(process.execPath, [command, ...args], { cwd: root, env, stdio: ["ignore", "pipe", "ignore"] })
  )
  started.push(child)
  return child
}
const stop = async (child: ChildProcess) => {
  child.kill("SIGTERM")
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
}
/** MCP servers below a Computer: its children, without the watchers of their process groups. */
const serverPids = (computer: number) =>
  descendants(computer).filter((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8")
      return line.includes(memory) || line.includes(everything)
    } catch {
      return false
    }
  })

const milliseconds = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`

const measure = async (url: string, lifecycle: string) => {
  const config = join(root, `${lifecycle}.json`)
  writeFileSync(config, JSON.stringify({ mcpServers: servers(lifecycle) }))
  const office = `office-${lifecycle}-${started.length}`
  const agent = await connectAgent({ url, office, name: "bench" })
  const begun = performance.now()
  const child = start("computer", "--server", url, "--office", office, "--name", "desk", "--config", config)
  const pid = child.pid ?? 0
  try {
    await lineOf(child, /joined office/, limit)
    const joining = performance.now() - begun
    // The last server of the configuration may still be starting.
    const names = new Set(
      Array.from({ length: count }, (_, index) => (index % 2 === 0 ? `read_${index}` : `echo_${index}`))
    )
    const isComplete = async () => {
      const tools = new Set((await agent.getTools("desk")).map(({ name }) => name))
      return [...names].every((name) => tools.has(name))
    }
    while (!(await isComplete())) {
      if (performance.now() - begun > limit) throw new Error("the MCP servers did not start in time")
      await sleep(100)
    }
    const complete = performance.now() - begun
    await sleep(settling * 1000)
    const running = serverPids(pid)
    const [own, all] = [megabytes([pid]), megabytes([pid, ...descendants(pid)])]
    const latencies = async (tools: ReadonlyArray<string>) => {
      const times: Array<number> = []
      for (const tool of tools) {
        const params = tool.startsWith("echo") ? { message: "hi" } : {}
        const called = performance.now()
        const { isError } = await agent.callTool({ computer: "desk", tool, params, timeout: 60 })
        if (isError) throw new Error(`the call of ${tool} failed`)
        times.push(performance.now() - called)
      }
      return times
    }
    const tools = [...names].slice(0, 2 * calls)
    const ofKind = (kind: string) => tools.filter((name) => name.startsWith(kind))
    const first = { read: await latencies(ofKind("read")), echo: await latencies(ofKind("echo")) }
    const next = await latencies(tools)
    const afterCalls = serverPids(pid).length
    return { joining, complete, processes: running.length, own, all, first, next, afterCalls }
  } finally {
    await stop(child)
    await agent.close()
  }
}

try {
  mkdirSync(join(root, "compiled"))
  const listening = await lineOf(start("server", "--port", "0"), /^listening on /, limit)
  const url = listening.replace("listening on ", "")
  const columns = {
    eager: await measure(url, "eager"),
    "lazy, first start": await measure(url, "lazy"),
    lazy: await measure(url, "lazy")
  }
  type Column = (typeof columns)["lazy"]
  const rows: ReadonlyArray<readonly [string, (column: Column) => string]> = [
    ["start to `joined office`", ({ joining }) => `${(joining / 1000).toFixed(1)} s`],
    ["start to all tools", ({ complete }) => `${(complete / 1000).toFixed(1)} s`],
    ["processes of MCP servers", ({ processes }) => String(processes)],
    ["memory of the Computer", ({ own }) => `${own.toFixed(0)} MB`],
    ["memory of the Computer and all below it", ({ all }) => `${all.toFixed(0)} MB`],
    ["first call, `server-memory`", ({ first }) => milliseconds(median(first.read))],
    ["first call, `server-everything`", ({ first }) => milliseconds(median(first.echo))],
    ["slowest first call", ({ first }) => milliseconds(quantile([...first.read, ...first.echo], 1))],
    ["next call", ({ next }) => milliseconds(median(next))],
    [`processes after calls to ${2 * calls} servers`, ({ afterCalls }) => String(afterCalls)]
  ]
  const line = (cells: ReadonlyArray<string>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
  line([`${count} MCP servers`, ...Object.keys(columns)])
  line(["---", ...Object.keys(columns).map(() => "---:")])
  for (const [row, format] of rows) line([row, ...Object.values(columns).map(format)])
} finally {
  for (const child of started) await stop(child)
  rmSync(root, { recursive: true, force: true })
}
process.exit(0)
