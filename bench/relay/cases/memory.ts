import { memoryOf, type ServerKind } from "../kinds.ts"
import { closedLoop } from "../loops.ts"
import { text } from "../payloads.ts"
import { interleave, summarise } from "../rounds.ts"
import { connectPairs, type Site, withSites } from "../Site.ts"
import { type Case, kindsOf, ratioAtMost, type Setting, summaryOf, valueAtMost } from "./Case.ts"

/** Computers that connect at the same time. */
const atOnce = 50

/** Rounds of idle Computers, each with new servers. Memory differs less between rounds than time does. */
const maxRounds = 5

/** Idle Computers, and those before them that do not count: code is compiled and the heap grows. */
const idle = { usual: { first: 1000, counted: 2000 }, quick: { first: 250, counted: 500 } }

const connectIdle = async ({ fail, peers, running }: Site, first: number, count: number) => {
  for (let done = 0; done < count; done += atOnce) {
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count - done) }, (_, index) =>
        peers.idle(running, first + done + index, fail)
      )
    )
  }
}

/** Memory per idle Computer. */
export const idleCase: Case = {
  name: "idle",
  about: "memory per Computer of 2000 idle ones",
  run: async (setting) => {
    const { client, library, note, quick, reference, subject } = setting
    const { counted, first } = quick ? idle.quick : idle.usual
    const window = (kind: ServerKind) =>
      withSites([kind], client, async ([site]) => {
        if (site === undefined) throw new Error(`${kind.name} did not start`)
        await connectIdle(site, 1, first)
        const before = await memoryOf(site.running)
        await connectIdle(site, 1 + first, counted)
        const after = await memoryOf(site.running)
        const each = (bytes: number) => bytes / 1024 / counted
        return { rss: each(after.rss - before.rss), heap: each(after.heap - before.heap) }
      })
    const rounds = await interleave(
      kindsOf({
        ...setting,
        subject: { ...library, name: subject.name },
        others: setting.others.filter((kind) => kind !== library)
      }),
      Math.min(maxRounds, quick ? 1 : setting.rounds),
      window,
      note
    )
    const summary = (measure: "rss" | "heap") => summarise(rounds, reference.name, measure, "heap")
    return [
      { case: "idle", measure: "RSS each", unit: "KB", summary: summary("rss"), target: ratioAtMost(0.5) },
      { case: "idle", measure: "heap each", unit: "KB", summary: summary("heap") }
    ]
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
