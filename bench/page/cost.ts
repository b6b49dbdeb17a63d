import { setTimeout as sleep } from "node:timers/promises"
import { library as a2c, cpuOf } from "../relay/kinds.ts"
import { closedLoop, openLoop } from "../relay/loops.ts"
import { text } from "../relay/payloads.ts"
import { connectPairs, withSites } from "../relay/Site.ts"
import { load, startLoad } from "./load.ts"
import { startReader } from "./Reader.ts"
import { formatSpread } from "./spread.ts"

/** Calls of each warm-up. */
const warmUpCalls = 50_000

/**
 * Milliseconds of a measured phase, and between the opening or closing of the page and the phase. Together they are longer
 * than a second: the Server reports its state every second.
 */
const lengths = { full: { phase: 2000, settle: 700 }, quick: { phase: 250, settle: 200 } } as const

/** Milliseconds of a profile. */
const profileMillis = 10_000

/** Maximum factor between the phases before and after a counted one. Other load disturbed the rest. */
const steady = 1.15

export interface CostOptions {
  readonly rounds: number
  readonly quick: boolean
  readonly note: (progress: string) => void
  /** Writes a CPU profile of the Server with an open page to this file instead. */
  readonly profile?: string
}

/** Measures the CPU time of a call at one Server in phases without and with an open page. Gives the result as text. */
export const measureCost = ({ note, profile, quick, rounds }: CostOptions): Promise<string> =>
  withSites([a2c], "light", async ([site]) => {
    if (site === undefined) throw new Error("no Server")
    const { running } = site
    const reader = await startReader()
    const pairs = await connectPairs(site, load.pairs, text(load.bytes))
    const calls = quick ? warmUpCalls / 10 : warmUpCalls
    note("warming up")
    await closedLoop(pairs, 4, { calls }).ended
    await reader.open(running.agents)
    await closedLoop(pairs, 4, { calls }).ended
    if (profile !== undefined) {
      await Promise.all(running.children.map((child) => child.startProfile()))
      await openLoop(pairs, load.perSecond, profileMillis)
      await Promise.all(running.children.map((child) => child.stopProfile(profile)))
      return `${profile}\n`
    }
    await reader.close()

    // The load does not pause between the phases.
    const replies = startLoad(pairs, setImmediate)
    const { phase, settle } = quick ? lengths.quick : lengths.full
    const read = { bytes: 0, messages: 0 }
    /** The CPU time of a call in a phase. */
    const measure = async (isOpen: boolean): Promise<number> => {
      if (isOpen) await reader.open(running.agents)
      await sleep(settle)
      const [cpu, count] = [await cpuOf(running), replies()]
      await sleep(phase)
      const micros = ((await cpuOf(running)) - cpu) / (replies() - count)
      const { bytes, messages } = await reader.close()
      read.bytes += bytes
      read.messages += messages
      return micros
    }

    const closed = [await measure(false)]
    const open: Array<number> = []
    for (let round = 1; round <= rounds; round++) {
      note(`round ${round} of ${rounds}`)
      open.push(await measure(true))
      closed.push(await measure(false))
    }
    /** The ratio of a phase and the mean of two others; none when those differ much. */
    const ratio = (cost = Number.NaN, before = Number.NaN, after = Number.NaN): ReadonlyArray<number> =>
      Math.max(before, after) <= steady * Math.min(before, after) ? [(2 * cost) / (before + after)] : []
    return [
      formatSpread("without a page, us per call", closed),
      formatSpread("with an open page, us per call", open),
      formatSpread(
        "with / without",
        open.flatMap((cost, index) => ratio(cost, closed[index], closed[index + 1]))
      ),
      formatSpread(
        "without / without",
        closed.flatMap((cost, index) => ratio(cost, closed[index - 1], closed[index + 1]))
      ),
      `read: ${Math.round(read.messages / rounds)} messages and ${Math.round(read.bytes / rounds / 1024)} KiB per phase`,
      ""
    ].join("\n")
  })
