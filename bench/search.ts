/**
 * Measures the search of a published office over the tools of public MCP servers: recall for a fixed set of queries, the
 * context of a model in each mode, and the time. docs/mcp.md has the results. `--missed PART` lists the queries of a part
 * without an acceptable tool among the first five.
 * Usage: node bench/search.ts [--missed tuning]
 */
import { makeToolIndex } from "../src/domain/tools/search/ToolIndex.ts"
import { contexts, office, parts, recall, sources } from "./search/corpus.ts"

const limits = [1, 5, 10]

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

const print = (line: string): void => void process.stdout.write(`${line}\n`)

print(`${office.byName.size} tools of ${sources.length} MCP servers`)
for (const [name, part] of Object.entries(parts)) {
  const shares = limits.map((limit) => `recall@${limit} ${percent(recall(part, limit))}`)
  print(`${name} (${part.length} queries): ${shares.join(", ")}`)
}

for (const [name, bytes] of Object.entries(contexts())) {
  print(`${name}: ${bytes} bytes, about ${Math.round(bytes / 4)} tokens`)
}

const timed = (run: () => unknown): string => {
  const start = process.hrtime.bigint()
  run()
  return `${(Number(process.hrtime.bigint() - start) / 1e6).toFixed(1)} ms`
}
const entries = [...office.byName].map(([name, { tool }]) => [name, tool] as const)
print(`building the index: ${timed(() => makeToolIndex(entries))}`)
print(`all ${parts.all.length} searches: ${timed(() => recall(parts.all, 10))}`)

const missed = Object.entries(parts).find(([name]) => name === process.argv[3])?.[1] ?? []
for (const query of missed.filter((one) => recall([one], 5) === 0)) print(`missed: ${query.query}`)
