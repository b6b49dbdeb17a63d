/**
 * Measures the CPU time of a call between two nodes, compared with a call in one node. Counts two processes, for
 * one request and a reply of the same size, without the connections of members.
 * Usage: node bench/nodes.ts [SECONDS per row]
 */
import { fork, type ChildProcess } from "node:child_process"
import { fileURLToPath } from "node:url"
import { guardChild } from "../test/childGuard.ts"
import { cpuTimeOf } from "./cpuTime.ts"
import type { Order, Report } from "./nodeHost.ts"

const seconds = Number(process.argv[2] ?? 3)

/** Sizes of bodies in bytes, and pending requests. */
const rows = [
  { bytes: 1024, atOnce: 1 },
  { bytes: 1024, atOnce: 64 },
  { bytes: 64 * 1024, atOnce: 16 },
  { bytes: 1024 * 1024, atOnce: 4 }
]

/** Timeout of the benchmark in milliseconds. */
const timeout = 60_000 + rows.length * 4000 * seconds
setTimeout(() => {
  process.stdout.write("benchmark timed out\n")
  process.exit(1)
}, timeout).unref()

const received = (child: ChildProcess): Promise<Report> =>
  new Promise((resolve, reject) => {
    child.once("message", (report: Report) => resolve(report))
    child.once("exit", () => reject(new Error("a node has ended")))
  })
// Children end with this process.
const start = async (node: string, kind: "tcp" | "local") => {
  const child = guardChild(fork(fileURLToPath(new URL("nodeHost.ts", import.meta.url)), [kind, node]))
  const { address } = await received(child)
  return { child, address }
}
const callee = await start("answerer", "tcp")
const caller = await start("asker", "tcp")
const local = await start("answerer", "local")
const { address } = callee

const measure = async (child: ChildProcess, others: ReadonlyArray<number>, order: Order) => {
  const pids = [child.pid ?? 0, ...others]
  child.send(order satisfies Order)
  const { calls: warm } = await received(child)
  if (warm === 0) throw new Error("no replies")
  const before = pids.map(cpuTimeOf)
  child.send(order satisfies Order)
  const { calls, latency } = await received(child)
  const each = pids.map((pid, index) => (cpuTimeOf(pid) - (before[index] ?? 0)) / calls)
  return { each, calls, latency, all: each.reduce((sum, one) => sum + one, 0) }
}

const row = (what: string, ...cells: ReadonlyArray<string>) =>
  process.stdout.write(`${what.padEnd(22)}${cells.map((cell) => cell.padStart(10)).join("")}\n`)
const number = (value: number) => value.toFixed(value < 100 ? 1 : 0)
row("CPU µs per call", "loopback", "two nodes", "caller", "callee", "calls/s", "p50 ms")
for (const { atOnce, bytes } of rows) {
  const order: Order = { address, bytes, atOnce, seconds }
  const near = await measure(local.child, [], order)
  const far = await measure(caller.child, [callee.child.pid ?? 0], order)
  row(
    `${bytes / 1024} KiB, ${atOnce} in flight`,
    ...[near.all, far.all, ...far.each, far.calls / seconds].map(number),
    far.latency.toFixed(2)
  )
}
process.exit(0)
