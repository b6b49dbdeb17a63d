/**
 * Measures what idle Computers cost the command `a2c server`: memory, and CPU time for their keepalive. Each is alone in its
 * office. Memory is read a minute after the last connect, without a forced collection. Linux only.
 * Usage: node bench/members.ts [COUNT...]
 */
import { residentMegabytes } from "./residentMemory.ts"
import { a2c } from "./relay/kinds.ts"
import { cpuTimeReader } from "./relay/processTime.ts"
import { withSites } from "./relay/Site.ts"

/** Computers that connect at the same time. */
const atOnce = 50

/** Milliseconds until memory is read, which are two keepalive intervals and more. */
const idleMillis = 65_000

const given = process.argv.slice(2).map(Number)
const counts = given.length === 0 ? [1000, 2000, 5000, 10_000] : given

const print = (line: string) => process.stdout.write(`${line}\n`)
const wait = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

print("| idle Computers | memory | for each | CPU while idle | CPU of each connect and join |")
print("| ---: | ---: | ---: | ---: | ---: |")
await withSites([a2c], "light", async ([site]) => {
  const [child] = site?.running.children ?? []
  if (site === undefined || child === undefined) throw new Error("the Server did not start")
  const readCpu = cpuTimeReader(child.pid)
  await wait(idleMillis)
  const empty = residentMegabytes(child.pid)
  print(`| 0 | ${empty.toFixed(0)} MB | | | |`)
  let connected = 0
  for (const count of counts) {
    const before = readCpu()
    const added = count - connected
    while (connected < count) {
      const next = Array.from({ length: Math.min(atOnce, count - connected) }, (_, index) => connected + index)
      await Promise.all(next.map((number) => site.peers.idle(site.running, number, site.fail)))
      connected += next.length
    }
    const joined = readCpu()
    await wait(idleMillis)
    const megabytes = residentMegabytes(child.pid)
    const each = ((megabytes - empty) * 1024) / count
    const busy = (readCpu() - joined) / (idleMillis * 10)
    print(
      `| ${count} | ${megabytes.toFixed(0)} MB | ${each.toFixed(1)} KB | ${busy.toFixed(1)} % | ${((joined - before) / added).toFixed(0)} us |`
    )
  }
})
process.exit(0)
