/**
 * Measures the cost of a gateway for many devices. All devices connect at once, register one service each, and receive
 * calls. The gateway runs in a separate process, whose memory is measured. A bare TCP server is the baseline.
 * Usage: node bench/devices.ts [DEVICES]
 */
import { fork } from "node:child_process"
import { connect, type Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { guardChild } from "../test/childGuard.ts"
import type { Order, Report } from "./deviceHost.ts"
import { maxOpenFiles } from "./openFiles.ts"

const devices = Number(process.argv[2] ?? 1000)

/** Calls per device, and concurrent calls, of each measurement. */
const load = { times: 10, atOnce: Math.min(64, devices) }

/** Timeout of the benchmark in milliseconds. */
const timeout = 120_000

/** Open files of a process beside its sockets. */
const otherFiles = 64

const openFiles = maxOpenFiles()
if (openFiles < devices + otherFiles) {
  process.stdout.write(`${devices} devices need more than the ${openFiles} open files of "ulimit -n"\n`)
  process.exit(1)
}
setTimeout(() => {
  process.stdout.write("benchmark timed out\n")
  process.exit(1)
}, timeout).unref()

const frame = (message: object) => `##START\u0006mcp000010000${JSON.stringify(message)}##END`
const registration = frame({
  type: "register",
  data: {
    services: {
      ping: {
        description: "Answers at once",
        parameters: { type: "object", properties: { device: { type: "integer" } }, required: ["device"] }
      }
    }
  }
})
const callId = /"call_id":"([^"]+)"/

/** One frame per call, smaller than one read of a socket. */
const answerTo = (call: string) =>
  frame({
    type: "result",
    data: { call_id: callId.exec(call)?.[1], result: { success: true, data: "pong" } }
  })

/** Connects a device and waits until it is registered. Later frames are calls. */
const connectDevice = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true })
    socket.setEncoding("latin1")
    socket.once("error", reject)
    socket.once("connect", () => socket.write(registration))
    socket.once("data", () => {
      socket.on("data", (chunk: string) => {
        for (const call of chunk.split("##END")) if (call !== "") socket.write(answerTo(call))
      })
      resolve(socket)
    })
  })

const host = async (kind: "gateway" | "bare") => {
  const child = guardChild(fork(fileURLToPath(new URL("deviceHost.ts", import.meta.url)), [kind]))
  const received = <Tag extends Report["_tag"]>(tag: Tag) =>
    new Promise<Extract<Report, { readonly _tag: Tag }>>((resolve, reject) => {
      child.once("exit", () => reject(new Error(`the ${kind} has ended`)))
      child.once("message", (report: Report) => {
        const isWanted = (one: Report): one is Extract<Report, { readonly _tag: Tag }> => one._tag === tag
        if (isWanted(report)) resolve(report)
        else reject(new Error(`${report._tag} instead of ${tag}`))
      })
    })
  const order = (wanted: Order) => void child.send(wanted)
  const { port } = await received("Listening")
  return {
    port,
    memory: async () => {
      order({ _tag: "Memory" })
      return received("Memory")
    },
    call: async (times: number, atOnce: number) => {
      order({ _tag: "Call", devices, times, atOnce })
      const called = await received("Called")
      if (called.failures.length > 0) {
        throw new Error(`${called.failures.length} calls failed, the first: ${called.failures[0]}`)
      }
      return called
    },
    stop: () => order({ _tag: "Stop" })
  }
}

const percentile = (latencies: ReadonlyArray<number>, share: number): number =>
  latencies.toSorted((one, other) => one - other)[Math.floor(share * (latencies.length - 1))] ?? 0

/** The results, in the units of the table. */
const measure = async (kind: "gateway" | "bare") => {
  const { call, memory, port, stop } = await host(kind)
  const before = await memory()
  const begun = performance.now()
  const sockets = await Promise.all(Array.from({ length: devices }, () => connectDevice(port)))
  const connected = performance.now() - begun
  const idle = await memory()
  // The first run is slow: schemas and code are compiled.
  await call(1, 1)
  const alone = await call(1, 1)
  const busy = await call(load.times, load.atOnce)
  const after = await memory()
  stop()
  for (const socket of sockets) socket.destroy()
  const perDevice = (bytes: number) => bytes / 1024 / devices
  return {
    "connect and register all, ms": connected,
    "heap per idle device, KiB": perDevice(idle.heap - before.heap),
    "RSS per idle device, KiB": perDevice(idle.rss - before.rss),
    "sequential calls, p50 ms": percentile(alone.latencies, 0.5),
    "sequential calls, p99 ms": percentile(alone.latencies, 0.99),
    [`${load.atOnce} concurrent calls, calls per second`]: (devices * load.times * 1000) / busy.took,
    [`${load.atOnce} concurrent calls, p50 ms`]: percentile(busy.latencies, 0.5),
    [`${load.atOnce} concurrent calls, p99 ms`]: percentile(busy.latencies, 0.99),
    "heap per device after all calls, KiB": perDevice(after.heap - before.heap),
    "RSS per device after all calls, KiB": perDevice(after.rss - before.rss)
  }
}

const ours = await measure("gateway")
const theirs: { readonly [what: string]: number } = await measure("bare")

const row = (what: string, ...cells: ReadonlyArray<string>) =>
  process.stdout.write(`${what.padEnd(40)}${cells.map((cell) => cell.padStart(10)).join("")}\n`)
const number = (value: number) => (value < 100 ? value.toFixed(2) : value.toFixed(0))
row(`${devices} devices`, "gateway", "bare TCP", "ratio")
for (const [what, value] of Object.entries(ours)) {
  const other = theirs[what] ?? 0
  row(what, number(value), number(other), number(value / other))
}
process.exit(0)
