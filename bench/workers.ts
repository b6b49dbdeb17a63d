/**
 * Measures the CPU time of a call through a Server with two workers, compared with the same Server in one process. Members of
 * this package name their office when they connect, so all of it are at one worker. Others ("spread") connect to the workers
 * in turn, so about half of their calls pass from one worker to the other. All processes of the Server share one processor,
 * and the load has another one: with a processor for each worker, the throughput is the number of workers divided by the
 * ratio. Linux only.
 * Usage: node bench/workers.ts [ROUNDS]
 */
import { descendants } from "../test/processes.ts"
import { builtCommand } from "./relay/builtCommand.ts"
import { compareCalls } from "./compareCalls.ts"
import { cpuTimeOf } from "./cpuTime.ts"
import type { Child } from "./relay/Child.ts"
import { a2c, type ServerKind } from "./relay/kinds.ts"
import { defaultDialect } from "./relay/peers/Dialect.ts"
import { pin, processors } from "./relay/pinning.ts"
import { startProgram } from "./relay/Program.ts"

const count = 2

/** A worker, whose first thread does nearly all work. */
const workerChild = (pid: number, address: string): Child => {
  pin(pid, processors.servers)
  return {
    pid,
    address,
    cpu: () => Promise.resolve(cpuTimeOf(pid)),
    memory: () => Promise.resolve({ rss: 0, heap: 0 }),
    startProfile: () => Promise.resolve(),
    stopProfile: () => Promise.resolve(),
    stop: () => Promise.resolve()
  }
}

/** Waits until all workers serve. */
const allServe = async (address: string): Promise<void> => {
  const servingCount = async () =>
    (await (await fetch(`http://${address}/metrics`)).text()).match(/^a2c_ready\{/gm)?.length
  while ((await servingCount()) !== count) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const twoWorkers: ServerKind = {
  name: "two workers",
  wire: "socketIo",
  dialect: { ...defaultDialect, namesOffice: true },
  start: async () => {
    const args = [builtCommand(), "server", "--port", "0", "--workers", String(count)]
    const primary = await startProgram({ name: "two workers", file: process.execPath, args })
    await allServe(primary.address)
    const workers = descendants(primary.pid).map((pid) => workerChild(pid, primary.address))
    return {
      agents: primary.address,
      computers: primary.address,
      children: [primary, ...workers],
      stop: primary.stop
    }
  }
}

await compareCalls(
  { reference: a2c, subject: twoWorkers, others: [{ ...twoWorkers, name: "spread", dialect: defaultDialect }] },
  { small: { pairs: 16, target: 1.2 }, large: { pairs: 8, target: 1.2 } }
)
process.exit(0)
