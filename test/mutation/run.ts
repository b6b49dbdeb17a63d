/** Runs the mutation tests: see `--help`. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { Stryker } from "@stryker-mutator/core"
import { optionsOrExit } from "../commandLine.ts"
import { type Area, areas, filesOf } from "./areas.ts"
import { helpText, type Options, parseOptions } from "./options.ts"
import { type Mutant, scoreOf, survivors, table } from "./report.ts"

/** Each run has its own: parallel runs must not remove each other's files. */
const workFolder = `.mutation/${process.pid}`
const cacheFolder = "node_modules/.cache/mutation"

type Result = Awaited<ReturnType<Stryker["runMutationTest"]>>[number]

const outcomes: Readonly<Record<Result["status"], Mutant["outcome"]>> = {
  Killed: "killed",
  Timeout: "timeout",
  Survived: "survived",
  NoCoverage: "uncovered",
  Ignored: "ignored",
  CompileError: "error",
  RuntimeError: "error",
  Pending: "error"
}

/** The text between two positions; lines and columns start at 1. */
const textAt = (source: string, { end, start }: Result["location"]): string => {
  const lines = source.split("\n").slice(start.line - 1, end.line)
  const last = lines.length - 1
  return lines
    .map((line, index) => line.slice(index === 0 ? start.column - 1 : 0, index === last ? end.column - 1 : undefined))
    .join("\n")
}

const fileOf = ({ fileName }: Result): string => relative(process.cwd(), fileName).replaceAll("\\", "/")

/** The mutated part of a file as Stryker's options state it: lines start at 1, columns at 0. */
const rangeOf = (result: Result): string => {
  const { end, start } = result.location
  return `${fileOf(result)}:${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`
}

const keyOf = (result: Result): string => JSON.stringify([rangeOf(result), result.mutatorName, result.replacement])

const toMutant = (result: Result): Mutant => {
  const file = fileOf(result)
  return {
    file,
    line: result.location.start.line,
    operator: result.mutatorName,
    original: textAt(readFileSync(file, "utf8"), result.location),
    mutated: result.replacement,
    outcome: outcomes[result.status]
  }
}

/** Runs the tests against each mutant in these files or ranges. */
const mutate = async (
  name: string,
  ranges: ReadonlyArray<string>,
  tests: ReadonlyArray<string>,
  { concurrency, fresh }: Options
): Promise<ReadonlyArray<Result>> => {
  process.env["A2C_MUTATION_TESTS"] = tests.join(" ")
  const stryker = new Stryker({
    mutate: [...ranges],
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner", fileURLToPath(new URL("plugin.ts", import.meta.url))],
    vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    // A constant is evaluated once, when its module loads: such a mutant would run all tests of the area.
    ignoreStatic: true,
    ignorers: ["messages"],
    // TypeScript 7 has no API that Stryker could read a tsconfig.json with.
    tsconfigFile: "none.json",
    ignorePatterns: ["/*", "!/src", "!/test", "!/docs", "!/package.json", "!/tsconfig.json"],
    concurrency,
    timeoutMS: 10_000,
    incremental: true,
    incrementalFile: `${cacheFolder}/${name}.json`,
    force: fresh,
    reporters: [process.stdout.isTTY ? "progress" : "progress-append-only"],
    tempDirName: workFolder,
    cleanTempDir: "always"
  })
  return stryker.runMutationTest()
}

const isOpen = ({ status }: Result): boolean => status === "Survived" || status === "NoCoverage"

const runArea = async (area: Area, files: ReadonlyArray<string>, options: Options): Promise<ReadonlyArray<Mutant>> => {
  // In incremental mode the results contain those of earlier runs for other files.
  const results = (await mutate(area.name, files, area.tests, options)).filter((result) =>
    files.includes(fileOf(result))
  )
  const open = results.filter(isOpen)
  if (area.widerTests.length === 0 || open.length === 0) return results.map(toMutant)
  const wider = await mutate(`${area.name}-wider`, open.map(rangeOf), area.widerTests, options)
  const found = new Map(wider.flatMap((result) => (isOpen(result) ? [] : [[keyOf(result), result]])))
  return results.map((result) => toMutant((isOpen(result) ? found.get(keyOf(result)) : undefined) ?? result))
}

const run = async (options: Options): Promise<number> => {
  const parts = areas
    .map((area) => ({ area, files: filesOf(area, options.positionals) }))
    .filter(({ files }) => files.length > 0)
  if (parts.length === 0) {
    process.stderr.write(`No area contains ${options.positionals.join(" or ")}\n`)
    return 2
  }
  mkdirSync(cacheFolder, { recursive: true })
  process.env["NODE_COMPILE_CACHE"] ??= `${process.cwd()}/${cacheFolder}/compiled`
  const mutants: Array<Mutant> = []
  for (const { area, files } of parts) {
    const began = performance.now()
    process.stderr.write(`${area.name}: ${files.length} files\n`)
    mutants.push(...(await runArea(area, files, options)))
    process.stderr.write(`${area.name}: ${((performance.now() - began) / 60_000).toFixed(1)} minutes\n`)
  }
  const score = scoreOf(mutants)
  const report = `${survivors(mutants).join("\n")}\n\n${table(mutants)}\n`
  process.stdout.write(report)
  if (options.output !== undefined) writeFileSync(options.output, report)
  if (score >= options.threshold) return 0
  process.stderr.write(`The score is below ${options.threshold} %\n`)
  return 1
}

const options = optionsOrExit(parseOptions, helpText)
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
process.on("exit", () => rmSync(workFolder, { recursive: true, force: true }))
process.exit(await run(options))
