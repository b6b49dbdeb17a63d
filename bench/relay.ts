/**
 * Measures the cost of a tool call through the Server, compared with plain Socket.IO and a bare relay. bench/README.md
 * explains method, cases and results.
 * Usage: node bench/relay.ts [--help]
 */
import { cpus } from "node:os"
import { join } from "node:path"
import { tuneGcForRelay } from "../src/adapters/process/gcTuning.ts"
import type { Row, Setting } from "./relay/cases/Case.ts"
import { cases } from "./relay/cases/all.ts"
import * as kinds from "./relay/kinds.ts"
import { helpText, type Options, readOptions } from "./relay/options.ts"
import type { OtherServer } from "./relay/otherServers.ts"
import { pin, processors } from "./relay/pinning.ts"
import { publish } from "./relay/publish.ts"
import { spellJson, formatTable } from "./relay/table.ts"

/** Exits; all children end with this process. */
const exitWith = (reason: string, code: number): never => {
  process.stderr.write(`${reason}\n`)
  process.exit(code)
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const optionsOf = (args: ReadonlyArray<string>): Options => {
  try {
    return readOptions(args, cases)
  } catch (error) {
    return exitWith(`${reasonOf(error)}\nSee --help.`, 2)
  }
}

const relaysOf = ({ against, self }: Options): Setting["others"] => {
  if (against !== undefined) return [kinds.checkout("other", against)]
  return self ? [] : [kinds.stock, kinds.ws, kinds.library]
}

/** Another checkout has no built command, so it is compared with the library. */
const subjectOf = ({ against, self }: Options): Setting["subject"] => {
  if (self) return kinds.self
  return against === undefined ? kinds.a2c : kinds.library
}

const settingOf = (options: Options, further: Setting["others"]): Omit<Setting, "note"> => ({
  reference: kinds.sio,
  subject: subjectOf(options),
  library: options.self ? kinds.self : kinds.library,
  others: [...relaysOf(options), ...further],
  client: options.client,
  slowServers: options.slowServers,
  rounds: options.rounds,
  quick: options.quick
})

/** Replaces a line of progress on terminals. */
const lineStart = process.stderr.isTTY ? "\r\u001B[K" : ""

/** Shows the progress of rounds on terminals. */
const noteFor = (name: string) => (progress: string) => {
  if (process.stderr.isTTY) process.stderr.write(`${lineStart}${name}: ${progress}`)
}

/** Characters of the reason why a server is skipped. */
const maxReason = 300

/** Prepares further servers. Those that do not start here are skipped. */
const prepareAll = async (servers: ReadonlyArray<OtherServer>): Promise<Setting["others"]> => {
  const prepared: Array<kinds.ServerKind> = []
  for (const { name, prepare } of servers) {
    noteFor(name)("preparing")
    try {
      const kind = await prepare()
      await (await kind.start()).stop()
      prepared.push(kind)
    } catch (error) {
      const reason = reasonOf(error).replaceAll(/\s+/g, " ").slice(0, maxReason)
      process.stderr.write(`${lineStart}${name} is skipped: ${reason}\n`)
    }
  }
  return prepared
}

/** Largest ratio of two kinds of the same server that is noise. */
const maxNoise = 1.1

/** Reports where the library needs another CPU time than the command. */
const reportDifferences = (rows: ReadonlyArray<Row>): void => {
  for (const { case: name, measure: what, summary, unit } of rows) {
    // Without one of them, the ratio is no number.
    const ratio = (summary.ratios[kinds.library.name] ?? Number.NaN) / (summary.ratios[kinds.a2c.name] ?? Number.NaN)
    if (unit !== "us" || !(Math.max(ratio, 1 / ratio) > maxNoise)) continue
    process.stderr.write(`${name}, ${what}: the library has ${ratio.toFixed(2)} times that of the command.\n`)
  }
}

/** Targets apply to the Server, not to the reference. */
const judged = ({ target, ...row }: Row, { self }: Options): Row => ({
  ...row,
  ...(target !== undefined && !self && { target })
})

const measure = async (options: Options, notPinned: string | undefined) => {
  const setting = settingOf(options, await prepareAll(options.with))
  const rows: Array<Row> = []
  for (const { name, run } of cases.filter((one) => options.cases.includes(one.name))) {
    const begun = performance.now()
    rows.push(...(await run({ ...setting, note: noteFor(name) })).map((row) => judged(row, options)))
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    process.stderr.write(`${lineStart}${name}: ${seconds} s\n`)
  }
  const columns = {
    reference: setting.reference.name,
    subject: setting.subject.name,
    others: setting.others.map(({ name }) => name)
  }
  const { client, quick, rounds, slowServers } = options
  const about = {
    date: new Date().toISOString(),
    node: process.version,
    processor: cpus()[0]?.model ?? "unknown",
    pinned: notPinned === undefined,
    client,
    slowServers,
    quick,
    rounds
  }
  process.stdout.write(options.json ? spellJson(rows, columns, about) : formatTable(rows, columns))
  reportDifferences(rows)
  if (options.publish) await publish(rows, columns, about)
  if (rows.some(({ summary: { counted, rounds: all } }) => counted * 2 < all)) {
    process.stderr.write("More than half of the rounds of a case were disturbed: repeat the run on a quiet machine.\n")
  }
}

const takeProfile = async (options: Options, name: string) => {
  const profile = cases.find((one) => one.name === name)?.profile
  if (profile === undefined) return exitWith(`Case "${name}" has no profile.`, 2)
  const file = join(options.profileDir, `a2c-${name}`)
  await profile({ ...settingOf(options, []), note: noteFor(name) }, file)
  process.stdout.write(`${file}.cpuprofile\n`)
}

const main = async () => {
  const options = optionsOf(process.argv.slice(2))
  if (options.help) return void process.stdout.write(helpText(cases))
  // The load generator also forwards bodies, and is not measured.
  tuneGcForRelay()
  const notPinned = pin(process.pid, processors.load)
  if (notPinned !== undefined) process.stderr.write(`Servers and load generator share processors: ${notPinned}.\n`)
  if (options.profile === undefined) await measure(options, notPinned)
  else await takeProfile(options, options.profile)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  exitWith(reasonOf(error), 1)
}
