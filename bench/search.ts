/**
 * Measures the search of a published office over three data sets, ours and two of others: recall for a fixed set of
 * queries, the context of a model in each mode, and the time. bench/README.md has the results. `--own` omits the sets of
 * others, which are downloaded at the first use. `--missed SET` lists the tuning queries of a set without a right tool among
 * the first five.
 * Usage: node bench/search.ts [--own] [--missed SET]
 */
import { parseArgs } from "node:util"
import { makeToolIndex } from "../src/domain/tools/search/ToolIndex.ts"
import { ownSet, pins } from "./search/corpus.ts"
import { outsideSets } from "./search/outsideSets.ts"
import { contexts, recall, type SearchSet } from "./search/searchSet.ts"

const { values } = parseArgs({ options: { own: { type: "boolean" }, missed: { type: "string" } } })

const limits = [1, 5, 10]

/** The cheapest round counts: other programs of the machine only add to it. */
const rounds = 15

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** The CPU time of this process. */
const timed = (run: () => unknown): string => {
  const times = Array.from({ length: rounds }, () => {
    const before = process.cpuUsage()
    run()
    const { system, user } = process.cpuUsage(before)
    return (system + user) / 1000
  })
  return `${Math.min(...times).toFixed(1)} ms`
}

const report = (set: SearchSet): void => {
  print(`\n${set.name}: ${set.office.byName.size} tools`)
  for (const [kind, parts] of set.queries) {
    for (const [part, queries] of [...Object.entries(parts), ["all", Object.values(parts).flat()] as const]) {
      const shares = limits.map((limit) => {
        const { any, share } = recall(set, queries, limit)
        return `recall@${limit} ${percent(share)}${any === share ? "" : ` (any ${percent(any)})`}`
      })
      print(`${kind}, ${part} (${queries.length}): ${shares.join(", ")}`)
    }
  }
  for (const [name, bytes] of Object.entries(contexts(set, set === ownSet ? pins : []))) {
    print(`${name}: ${bytes} bytes, about ${Math.round(bytes / 4)} tokens`)
  }
  const entries = [...set.office.byName].map(([name, { tool }]) => [name, tool] as const)
  const all = Object.values(set.queries[0]?.[1] ?? {}).flat()
  print(`building the index: ${timed(() => makeToolIndex(entries))}`)
  print(`${all.length} searches: ${timed(() => recall(set, all, 10))}`)
  if (values.missed !== set.name) return
  for (const { query } of set.queries.flatMap(([, { tuning }]) =>
    tuning.filter((one) => recall(set, [one], 5).any === 0)
  ))
    print(`missed: ${query}`)
}

report(ownSet)
for (const [name, makeSet] of values.own === true ? [] : Object.entries(outsideSets)) {
  try {
    report(makeSet())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    print(`\n${name} is not measured: ${reason.trim()}\nIt needs Python with pip, and PyPI at the first use.`)
    process.exitCode = 1
  }
}
