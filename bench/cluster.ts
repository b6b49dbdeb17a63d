/**
 * What does a call cost that crosses from one Server to another over Redis, compared with one that stays at a Server?
 * CPU time of both Servers and of Redis together. Needs redis-server, or its path in REDIS_SERVER; Linux only.
 * Usage: node bench/cluster.ts [ROUNDS]
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ratioAtMost } from "./relay/cases/Case.ts"
import { closedCase } from "./relay/cases/closed.ts"
import { type Child, startChild } from "./relay/Child.ts"
import { a2c, type ServerKind } from "./relay/kinds.ts"
import { listen } from "./relay/listen.ts"
import { text } from "./relay/payloads.ts"
import { pin, processors } from "./relay/pinning.ts"
import { spellTable } from "./relay/table.ts"

const rounds = Number(process.argv[2] ?? 12)

const freePort = async (): Promise<number> => {
  const server = createServer()
  const { port } = new URL(`http://${await listen(server)}`)
  server.close()
  return Number(port)
}

/** Waits until somebody listens there. */
const reachable = async (port: number): Promise<void> => {
  for (;;) {
    const socket = connect(port, "127.0.0.1")
    const answered = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false)
    ]).catch(() => false)
    socket.destroy()
    if (answered) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A Redis of our own, whose CPU time is read from the system: it has one thread that matters. */
const startRedis = async (): Promise<Child & { readonly url: string }> => {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), "a2c-bench-"))
  const program = process.env["REDIS_SERVER"] ?? "/usr/bin/redis-server"
  const redis = spawn(
    program,
    ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
    {
      stdio: "ignore"
    }
  )
  const kill = () => void redis.kill("SIGKILL")
  process.once("exit", kill)
  const { pid } = redis
  if (pid === undefined) throw new Error(`cannot start ${program}`)
  pin(pid, processors.servers)
  await reachable(port)
  return {
    url: `redis://127.0.0.1:${port}`,
    address: `127.0.0.1:${port}`,
    cpu: () => Promise.resolve(Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000),
    memory: () => Promise.resolve({ rss: 0, heap: 0 }),
    startProfile: () => Promise.resolve(),
    stopProfile: () => Promise.resolve(),
    stop: async () => {
      redis.kill()
      if (redis.exitCode === null) await once(redis, "exit")
      process.off("exit", kill)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** Agents at one Server, Computers at another. */
const twoNodes: ServerKind = {
  name: "two nodes",
  wire: "socketIo",
  start: async () => {
    const redis = await startRedis()
    const environment = { A2C_BENCH_REDIS: redis.url }
    const one = await startChild("a2c.ts", environment)
    const two = await startChild("a2c.ts", environment)
    return {
      agents: one.address,
      computers: two.address,
      children: [one, two, redis],
      stop: async () => {
        await Promise.all([one.stop(), two.stop()])
        await redis.stop()
      }
    }
  }
}

const cases = [
  closedCase({
    name: "1k",
    about: "results of 1 KB text",
    payload: () => text(1024),
    pairs: 16,
    inFlight: 4,
    warmUp: 50_000,
    millis: 500,
    targets: { cpu: ratioAtMost(4) }
  }),
  closedCase({
    name: "1m",
    about: "results of 1 MB text",
    payload: () => text(1024 * 1024),
    pairs: 4,
    inFlight: 1,
    warmUp: 2000,
    millis: 500,
    targets: { cpu: ratioAtMost(2) }
  })
]

const setting = {
  reference: a2c,
  subject: twoNodes,
  others: [],
  client: "light",
  rounds,
  quick: false
} as const
pin(process.pid, processors.load)
for (const { run } of cases) {
  const rows = await run({ ...setting, note: () => undefined })
  process.stdout.write(spellTable(rows, { reference: "a2c", subject: "two nodes", others: [] }))
}
process.exit(0)
