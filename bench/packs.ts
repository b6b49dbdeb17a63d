/**
 * Measures packs: the first call of a cold pack, warm calls per second, and the memory of its process; TypeScript in the
 * process of the host and in its own, and Python. Needs Python 3.10 or later; Linux only.
 * Usage: node bench/packs.ts [SECONDS]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { PackHost } from "../src/application/packs/PackHost.ts"
import { writePack } from "../src/main/cli/tools/newPack.ts"
import { packHostLayer } from "../src/main/layers/packHostLayer.ts"
import { NodeServices } from "@effect/platform-node"
import { formatColumns } from "../src/main/cli/output/format.ts"

const seconds = Number(process.argv[2] ?? 5)

/** The resident memory of the child processes, in MB. */
const childMemory = (): number =>
  readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .reduce((sum, pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, "utf8")
        const parent = Number(/PPid:\s+(\d+)/.exec(status)?.[1])
        return parent === process.pid ? sum + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024 : sum
      } catch {
        return sum
      }
    }, 0)

const measure = (name: string, python: boolean, isolate: boolean) => {
  const folder = mkdtempSync(join(tmpdir(), "a2c-bench-"))
  return Effect.gen(function* () {
    yield* writePack({ dir: folder, name: "count", python })
    const began = performance.now()
    const { rescan, session } = yield* PackHost
    yield* rescan
    const call = session.callTool("count", { text: "hello there" })
    yield* call
    const cold = performance.now() - began
    const end = performance.now() + seconds * 1000
    let calls = 0
    yield* Effect.forEach(
      Array.from({ length: 8 }),
      () => Effect.whileLoop({ while: () => performance.now() < end, body: () => call, step: () => void calls++ }),
      { concurrency: "unbounded" }
    )
    return [name, cold.toFixed(0), (calls / seconds).toFixed(0), isolate || python ? childMemory().toFixed(0) : "–"]
  }).pipe(
    Effect.provide(packHostLayer({ folders: [folder], isolate, memory: 512, watch: false })),
    Effect.scoped,
    Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true })))
  )
}

const run = Effect.gen(function* () {
  // Makes the environment of Python, which is not measured.
  yield* measure("", true, false)
  const rows = [
    yield* measure("TypeScript", false, false),
    yield* measure("TypeScript, --isolate", false, true),
    yield* measure("Python", true, true)
  ]
  process.stdout.write(`${formatColumns([["pack", "first call, ms", "calls/s", "MB"], ...rows])}\n`)
})

await Effect.runPromise(Effect.provide(run, NodeServices.layer))
