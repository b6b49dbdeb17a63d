/**
 * What does a call over two nodes cost beside one within a node? Two processes and a redis-server; CPU time of all
 * three for one request and its answer of the same size, without the members' own connections.
 * Usage: node bench/nodes.ts [SECONDS per row]
 */
import { fork, spawn, type ChildProcess } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Order, Report } from "./nodeHost.ts"

const seconds = Number(process.argv[2] ?? 3)

/** Sizes of bodies in bytes, and how many requests wait for their answer at once. */
const rows = [
  { bytes: 1024, atOnce: 1 },
  { bytes: 1024, atOnce: 64 },
  { bytes: 64 * 1024, atOnce: 16 },
  { bytes: 1024 * 1024, atOnce: 4 }
]

/** How long all of it may take, in milliseconds: whatever hangs is a failure. */
const patience = 60_000 + rows.length * 4000 * seconds
setTimeout(() => {
  process.stdout.write("it took too long\n")
  process.exit(1)
}, patience).unref()

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** CPU time of a process so far, in microseconds. */
const cpuOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000

const port = await freePort()
const folder = mkdtempSync(join(tmpdir(), "a2c-nodes-"))
const redis = spawn(
  process.env["REDIS_SERVER"] ?? "/usr/bin/redis-server",
  ["--port", String(port), "--save", "", "--dir", folder],
  {
    stdio: "ignore"
  }
)
const url = `redis://127.0.0.1:${port}`

const heard = (child: ChildProcess): Promise<Report> =>
  new Promise((resolve, reject) => {
    child.once("message", (report: Report) => resolve(report))
    child.once("exit", () => reject(new Error("a node has ended")))
  })
const start = async (node: string, kind: "redis" | "local") => {
  const child = fork(fileURLToPath(new URL("nodeHost.ts", import.meta.url)), [kind, url, node])
  await heard(child)
  return child
}
const answerer = await start("answerer", "redis")
const asker = await start("asker", "redis")
const local = await start("answerer", "local")

const measure = async (child: ChildProcess, others: ReadonlyArray<ChildProcess>, order: Order) => {
  const pids = [child, ...others].map(({ pid = 0 }) => pid)
  child.send(order satisfies Order)
  const { calls: warm } = await heard(child)
  if (warm === 0) throw new Error("nothing was answered")
  const before = pids.map(cpuOf)
  child.send(order satisfies Order)
  const { calls, latency } = await heard(child)
  const each = pids.map((pid, index) => (cpuOf(pid) - (before[index] ?? 0)) / calls)
  return { each, calls, latency, all: each.reduce((sum, one) => sum + one, 0) }
}

const row = (what: string, ...cells: ReadonlyArray<string>) =>
  process.stdout.write(`${what.padEnd(22)}${cells.map((cell) => cell.padStart(10)).join("")}\n`)
const number = (value: number) => value.toFixed(value < 100 ? 1 : 0)
row("CPU µs per call", "loopback", "two nodes", "asker", "answerer", "redis", "calls/s", "p50 ms")
for (const { atOnce, bytes } of rows) {
  const order: Order = { bytes, atOnce, seconds }
  const near = await measure(local, [], order)
  const far = await measure(asker, [answerer, redis], order)
  row(
    `${bytes / 1024} KiB, ${atOnce} at once`,
    ...[near.all, far.all, ...far.each, far.calls / seconds].map(number),
    far.latency.toFixed(2)
  )
}
for (const child of [asker, answerer, local, redis]) child.kill("SIGKILL")
rmSync(folder, { recursive: true, force: true })
process.exit(0)
