import { maxOpenFiles } from "../../openFiles.ts"
import { residentMegabytes } from "../../residentMemory.ts"
import { memoryOf, type ServerKind } from "../kinds.ts"
import { quietMillis } from "../limits.ts"
import { closedLoop } from "../loops.ts"
import { text } from "../payloads.ts"
import { interleave, type Reading, summarise } from "../rounds.ts"
import { connectPairs, type Site, withSites } from "../Site.ts"
import { type Case, kindsOf, ratioAtMost, type Row, type Setting, summaryOf, valueAtMost } from "./Case.ts"

/** Computers that connect at the same time. */
const atOnce = 50

/** Rounds of idle Computers, each with new servers. Memory differs less between rounds than time does. */
const maxRounds = { rss: 2, heap: 3 }

/** Idle Computers, and those before them that do not count: code is compiled and the heap grows. */
const idle = { usual: { first: 1000, counted: 2000 }, quick: { first: 250, counted: 500 } }

/** Open files of this process besides the connections. */
const otherFiles = 256

const connectIdle = async ({ fail, peers, running }: Site, first: number, count: number) => {
  for (let done = 0; done < count; done += atOnce) {
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count - done) }, (_, index) =>
        peers.idle(running, first + done + index, fail)
      )
    )
  }
}

const residentKilobytes = ({ running: { children } }: Site): number =>
  children.reduce((sum, { pid }) => sum + residentMegabytes(pid) * 1024, 0)

/** Connects idle Computers to servers, which then rest, and reads their memory. */
const readIdle = async (sites: ReadonlyArray<Site>, first: number, count: number, rest: number) => {
  for (const site of sites) await connectIdle(site, first, count)
  await new Promise((resolve) => setTimeout(resolve, rest))
  return sites.map(residentKilobytes)
}

/** Resident memory of all kinds per idle Computer, as users see it. Servers rest at the same time. */
const measureResident = async (setting: Setting) => {
  const { counted, first } = setting.quick ? idle.quick : idle.usual
  const rest = setting.quick ? quietMillis.quick : quietMillis.usual
  // The library does not free memory after loads.
  const kinds = kindsOf(setting).filter((kind) => kind !== setting.library)
  const atOnce = Math.max(1, Math.floor((maxOpenFiles() - otherFiles) / (first + counted)))
  const readings = new Map<string, Reading<"rss">>()
  for (let start = 0; start < kinds.length; start += atOnce) {
    await withSites(kinds.slice(start, start + atOnce), setting.client, async (sites) => {
      const before = await readIdle(sites, 1, first, rest)
      const after = await readIdle(sites, 1 + first, counted, rest)
      for (const [index, { name }] of sites.entries()) {
        readings.set(name, { rss: ((after[index] ?? 0) - (before[index] ?? 0)) / counted })
      }
    })
  }
  return readings
}

/** Live heap per idle Computer. */
const measureHeap = (kind: ServerKind, { client, quick }: Setting) =>
  withSites([kind], client, async ([site]) => {
    if (site === undefined) throw new Error(`${kind.name} did not start`)
    const { counted, first } = quick ? idle.quick : idle.usual
    await connectIdle(site, 1, first)
    const before = await memoryOf(site.running)
    await connectIdle(site, 1 + first, counted)
    const after = await memoryOf(site.running)
    return { heap: (after.heap - before.heap) / 1024 / counted }
  })

/** Memory per idle Computer. */
export const idleCase: Case = {
  name: "idle",
  about: "memory per Computer of 2000 idle ones",
  run: async (setting) => {
    const { library, note, quick, reference, subject } = setting
    const roundsOf = (most: number) => Math.min(most, quick ? 1 : setting.rounds)
    const heaps = await interleave(
      [reference, { ...library, name: subject.name }],
      roundsOf(maxRounds.heap),
      (kind) => measureHeap(kind, setting),
      note
    )
    const rows: Array<Row> = [
      { case: "idle", measure: "heap each", unit: "KB", summary: summarise(heaps, reference.name, "heap", "heap") }
    ]
    if (process.platform !== "linux") return rows
    const resident: Array<ReadonlyMap<string, Reading<"rss">>> = []
    for (let round = 1; round <= roundsOf(maxRounds.rss); round++) {
      note(`resident memory, round ${round}`)
      resident.push(await measureResident(setting))
    }
    const summary = summarise(resident, reference.name, "rss", "rss")
    return [...rows, { case: "idle", measure: "RSS each", unit: "KB", summary, target: ratioAtMost(0.5) }]
  }
}

/** Measured calls, and the calls of the warm-up. */
const soaked = { usual: { calls: 500_000, warmUp: 100_000 }, quick: { calls: 50_000, warmUp: 20_000 } }

/** Memory growth per call. */
export const heapCase: Case = {
  name: "heap",
  about: "live heap of the Server before and after 500 000 calls with results of 1 KB",
  long: true,
  run: ({ client, library, note, quick, subject }: Setting) =>
    withSites([library], client, async ([site]) => {
      if (site === undefined) throw new Error(`${subject.name} did not start`)
      const { calls, warmUp } = quick ? soaked.quick : soaked.usual
      const pairs = await connectPairs(site, 16, text(1024))
      note("warming up")
      await closedLoop(pairs, 4, { calls: warmUp }).ended
      const before = await memoryOf(site.running)
      note(`${calls} calls`)
      await closedLoop(pairs, 4, { calls }).ended
      const after = await memoryOf(site.running)
      const once = (bytes: number) => summaryOf(subject.name, [bytes / 2 ** 20])
      return [
        { case: "heap", measure: "before", unit: "MB", summary: once(before.heap) },
        {
          case: "heap",
          measure: "grown by",
          unit: "MB",
          summary: once(after.heap - before.heap),
          target: valueAtMost(2)
        }
      ]
    })
}
