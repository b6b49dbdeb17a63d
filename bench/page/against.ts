import { library as a2c, checkout, cpuOf } from "../relay/kinds.ts"
import { closedLoop } from "../relay/loops.ts"
import { text } from "../relay/payloads.ts"
import { interleave } from "../relay/rounds.ts"
import { connectPairs, withSites } from "../relay/Site.ts"
import { median } from "../relay/statistics.ts"
import { load } from "./load.ts"
import { formatSpread } from "./spread.ts"

/** Rounds of each start, milliseconds of a window, calls of a pair in flight, and calls of the warm-up. */
const full = { rounds: 15, millis: 400, inFlight: 4, warmUp: 60_000 }
const quick = { ...full, rounds: 2, millis: 100, warmUp: 2000 }

/**
 * Compares the CPU time of a call, without an open page, with that of the Server in another checkout. Both start many
 * times: V8 optimises each process in another way. The other one runs twice, as the error of the method.
 */
export const compareWith = async (
  folder: string,
  options: { readonly starts: number; readonly quick: boolean; readonly note: (progress: string) => void }
): Promise<string> => {
  const { inFlight, millis, rounds, warmUp } = options.quick ? quick : full
  const kinds = [checkout("other", folder), checkout("other again", folder), { ...a2c, name: "this" }]
  const costs = new Map(kinds.map(({ name }) => [name, new Array<number>()]))
  for (let start = 1; start <= options.starts; start++) {
    options.note(`start ${start} of ${options.starts}`)
    const readings = await withSites(kinds, "light", async (sites) => {
      const groups = await Promise.all(
        sites.map(async (site) => {
          const pairs = await connectPairs(site, load.pairs, text(load.bytes))
          return { name: site.name, running: site.running, pairs }
        })
      )
      for (const { pairs } of groups) await closedLoop(pairs, inFlight, { calls: warmUp }).ended
      const window = async ({ pairs, running }: (typeof groups)[number]) => {
        const before = await cpuOf(running)
        const { calls } = await closedLoop(pairs, inFlight, { millis }).ended
        return { cpu: ((await cpuOf(running)) - before) / calls }
      }
      return interleave(groups, rounds, window, () => undefined)
    })
    for (const [name, all] of costs) all.push(median(readings.map((round) => round.get(name)?.cpu ?? Number.NaN)))
  }
  const of = (name: string) => costs.get(name) ?? []
  const mean = (index: number) => ((of("other")[index] ?? Number.NaN) + (of("other again")[index] ?? Number.NaN)) / 2
  return [
    formatSpread("other checkout, us per call", of("other")),
    formatSpread("this checkout, us per call", of("this")),
    formatSpread(
      "this / other",
      of("this").map((cpu, index) => cpu / mean(index))
    ),
    formatSpread(
      "other again / other",
      of("other again").map((cpu, index) => cpu / (of("other")[index] ?? Number.NaN))
    ),
    ""
  ].join("\n")
}
