import { setTimeout as sleep } from "node:timers/promises"
import { a2c, cpuOf } from "../relay/kinds.ts"
import { closedLoop, openLoop } from "../relay/loops.ts"
import { text } from "../relay/payloads.ts"
import { connectPairs, withSites } from "../relay/Site.ts"
import { shuffled } from "../relay/statistics.ts"
import { load, startLoad } from "./load.ts"
import { startReader } from "./Reader.ts"
import { formatSpread } from "./spread.ts"

/** Calls of each warm-up. */
const warmUpCalls = 50_000

/** Milliseconds of a measured phase, and between the opening or closing of the page and the phase. */
const lengths = { full: { phase: 1500, settle: 700 }, quick: { phase: 250, settle: 200 } } as const

/** Milliseconds of a profile. */
const profileMillis = 10_000

/** Maximum factor between the phases before and after a counted one, both without a page. Other load disturbed the rest. */
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

    const costs = { open: new Array<number>(), closed: new Array<number>() }
    const ratios = { open: new Array<number>(), closed: new Array<number>() }
    let before = await measure(false)
    for (let round = 1; round <= rounds; round++) {
      note(`round ${round} of ${rounds}`)
      // A phase with the page, and one without it as the error of the method, in random order.
      for (const kind of shuffled(["open", "closed"] as const)) {
        const cost = await measure(kind === "open")
        const after = await measure(false)
        if (Math.max(before, after) <= steady * Math.min(before, after)) {
          costs[kind].push(cost)
          ratios[kind].push((2 * cost) / (before + after))
        }
        before = after
      }
    }
    return [
      formatSpread("without a page, us per call", costs.closed),
      formatSpread("with an open page, us per call", costs.open),
      formatSpread("with / without", ratios.open),
      formatSpread("without / without", ratios.closed),
      `read: ${Math.round(read.messages / rounds)} messages and ${Math.round(read.bytes / rounds / 1024)} KiB per phase`,
      `${rounds} rounds, without disturbed phases`,
      ""
    ].join("\n")
  })
