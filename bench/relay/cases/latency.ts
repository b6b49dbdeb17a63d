import { cpuOf } from "../kinds.ts"
import { closedLoop, openLoop } from "../loops.ts"
import { text } from "../payloads.ts"
import { startFlood } from "../peers/flood.ts"
import type { Pair } from "../peers/Peers.ts"
import { interleave, summarise } from "../rounds.ts"
import { connectPairs, type Site, untilQuiet, withSites } from "../Site.ts"
import { quantile } from "../statistics.ts"
import { type Case, kindsOf, ratioAtMost, type Row, type Setting, valueAtMost } from "./Case.ts"

/** Pairs that make the small calls. */
const pairs = 16

/** Bytes of a small result and of a large one. */
const small = 1024
const large = 8 * 1024 * 1024

/** Calls of the warm-up. */
const warmUps = { usual: 100_000, quick: 5000 }

interface Group {
  readonly name: string
  readonly site: Site
  readonly callers: ReadonlyArray<Pair>
}

const withGroups = <A>(setting: Setting, use: (groups: ReadonlyArray<Group>) => Promise<A>): Promise<A> =>
  withSites(kindsOf(setting), setting.client, async (sites) => {
    const payload = text(small)
    const groups: Array<Group> = []
    for (const site of sites) {
      setting.note(`warming up ${site.name}`)
      const callers = await connectPairs(site, pairs, payload)
      const calls = setting.quick ? warmUps.quick : warmUps.usual
      await closedLoop(callers, 4, { calls }).ended
      groups.push({ name: site.name, site, callers })
    }
    return use(groups)
  })

/** Latency of small calls at a fixed rate. */
export const rateCase: Case = {
  name: "rate",
  about: "latency of 3000 calls per second with results of 1 KB",
  run: (setting) =>
    withGroups(setting, async (groups) => {
      const window = async ({ callers, site: { running } }: Group) => {
        const before = await cpuOf(running)
        const latencies = await openLoop(callers, 3000, setting.quick ? 250 : 1000)
        const micros = (await cpuOf(running)) - before
        return {
          p50: quantile(latencies, 0.5),
          p99: quantile(latencies, 0.99),
          cpu: micros / latencies.length
        }
      }
      const rounds = await interleave(groups, setting.rounds, window, setting.note)
      const summary = (measure: "p50" | "p99" | "cpu") => summarise(rounds, setting.reference.name, measure, "p50")
      return [
        { case: "rate", measure: "p50", unit: "ms", summary: summary("p50") },
        { case: "rate", measure: "p99", unit: "ms", summary: summary("p99"), target: ratioAtMost(1) },
        { case: "rate", measure: "CPU per call", unit: "us", summary: summary("cpu") }
      ] satisfies ReadonlyArray<Row>
    })
}

/** Small calls per second during other traffic. */
const beside = 500

/** Latency of small calls while another pair moves large results. */
export const besideCase: Case = {
  name: "beside",
  about: "latency of 500 small calls per second beside a pair that moves 8 MB results",
  run: (setting) =>
    withGroups(setting, async (groups) => {
      const payload = text(large)
      const movers = new Map<string, ReadonlyArray<Pair>>()
      for (const { name, site } of groups) {
        const [mover] = await connectPairs(site, 1, payload, pairs + 1)
        if (mover === undefined) continue
        await closedLoop([mover], 1, { calls: setting.quick ? 3 : 10 }).ended
        movers.set(name, [mover])
      }
      const window = async ({ callers, name, site }: Group) => {
        await untilQuiet(site)
        const moving = closedLoop(movers.get(name) ?? [], 1, { calls: Number.POSITIVE_INFINITY })
        const latencies = await openLoop(callers, beside, setting.quick ? 400 : 2000)
        moving.stop()
        const { calls, millis } = await moving.ended
        return {
          p50: quantile(latencies, 0.5),
          p99: quantile(latencies, 0.99),
          moved: (calls * 1000) / millis
        }
      }
      const rounds = await interleave(groups, setting.rounds, window, setting.note)
      const summary = (measure: "p50" | "p99" | "moved") => summarise(rounds, setting.reference.name, measure, "moved")
      return [
        { case: "beside", measure: "p50", unit: "ms", summary: summary("p50") },
        { case: "beside", measure: "p99", unit: "ms", summary: summary("p99"), target: ratioAtMost(0.55) },
        { case: "beside", measure: "8 MB results", unit: "calls/s", summary: summary("moved") }
      ] satisfies ReadonlyArray<Row>
    })
}

/** Latency of small calls while one connection floods the server. */
export const floodCase: Case = {
  name: "flood",
  about: "latency of 500 small calls per second, without and with a flood on one connection",
  run: (setting) =>
    withGroups(setting, async (groups) => {
      const millis = setting.quick ? 250 : 1000
      const defended = new Set<string>()
      const window = async ({ callers, name, site }: Group) => {
        await untilQuiet(site)
        const calm = await openLoop(callers, beside, millis)
        const flood = await startFlood(site.running.agents, site.peers.flood)
        const flooded = await openLoop(callers, beside, millis)
        if (flood.isCutOff()) defended.add(name)
        flood.stop()
        const without = quantile(calm, 0.99)
        const withIt = quantile(flooded, 0.99)
        return { p50: quantile(calm, 0.5), without, with: withIt, times: withIt / without }
      }
      const rounds = await interleave(groups, setting.rounds, window, setting.note)
      for (const name of defended) setting.note(`${name} closed the flooding connection`)
      const summary = (measure: "without" | "with" | "times") =>
        summarise(rounds, setting.reference.name, measure, "p50")
      return [
        { case: "flood", measure: "p99 without", unit: "ms", summary: summary("without") },
        { case: "flood", measure: "p99 with", unit: "ms", summary: summary("with") },
        {
          case: "flood",
          measure: "with / without",
          unit: "times",
          summary: summary("times"),
          target: valueAtMost(1.2)
        }
      ] satisfies ReadonlyArray<Row>
    })
}
