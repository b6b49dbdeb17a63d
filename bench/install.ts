/**
 * Measures what users install, and how long the command takes to start, for packed archives of both packages. The archives
 * are installed from a registry on loopback, with a private cache and home.
 * Usage: node bench/install.ts [--rounds N] ARCHIVE...
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import { guardChild } from "../test/childGuard.ts"
import { demoServers } from "../src/main/demo/demoConfigs.ts"
import { readManifest, startLocalRegistry } from "../scripts/tutorial/localRegistry.ts"
import { median } from "./relay/statistics.ts"

const { positionals: archives, values } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "9" } }
})
const rounds = Number(values.rounds)
if (archives.length === 0 || !(rounds >= 1)) throw new Error("usage: node bench/install.ts [--rounds N] ARCHIVE...")

const office = "bench"
const mcpServer = "@modelcontextprotocol/server-memory"

const upstream = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim()

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { name, parentPath }) => sum + statSync(join(parentPath, name)).size, 0)

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
const seconds = (millis: number): string => `${(millis / 1000).toFixed(2)} s`

const secondsOrFailure = async (measured: Promise<number>): Promise<string> => {
  try {
    return seconds(await measured)
  } catch {
    return "fails"
  }
}

/** The first line of a process that matches. */
const lineOf = async (child: ChildProcess, pattern: RegExp): Promise<string> => {
  for await (const line of createInterface({ input: child.stdout ?? process.stdin }))
    if (pattern.test(line)) return line
  throw new Error(`a process ended before it printed ${pattern.source}`)
}

interface Cell {
  readonly row: string
  readonly value: string
}

const measure = async (archive: string): Promise<ReadonlyArray<Cell>> => {
  const root = mkdtempSync(join(tmpdir(), "a2c-install-"))
  const { bin, name } = readManifest(archive)
  await using registry = await startLocalRegistry([archive], upstream)
  const [folder, home] = [join(root, "project"), join(root, "home")]
  for (const made of [folder, home]) mkdirSync(made)
  const path = `${dirname(process.execPath)}:/usr/bin:/bin`
  const env = { PATH: path, HOME: home, npm_config_registry: registry.url, npm_config_update_notifier: "false" }
  // The registry of this process must be able to reply meanwhile.
  const run = async (command: string, args: ReadonlyArray<string>, cwd = folder): Promise<number> => {
    const begun = performance.now()
    const child = guardChild(spawn(command, args, { cwd, env, stdio: "ignore" }))
    const [code] = (await once(child, "exit")) as [number | null]
    if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}`)
    return performance.now() - begun
  }
  const medianIn = async (cwd: string, command: string, ...args: ReadonlyArray<string>): Promise<number> => {
    await run(command, args, cwd)
    const times: Array<number> = []
    for (let round = 0; round < rounds; round++) times.push(await run(command, args, cwd))
    return median(times)
  }
  const medianOf = (command: string, ...args: ReadonlyArray<string>) => medianIn(folder, command, ...args)
  const started: Array<ChildProcess> = []
  const start = (...args: ReadonlyArray<string>): ChildProcess => {
    const child = guardChild(
      spawn(join(folder, "node_modules/.bin/a2c"), args, { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] })
    )
    started.push(child)
    return child
  }
  try {
    writeFileSync(join(folder, "package.json"), "{}")
    const first = bin === undefined ? "–" : seconds(await run("npx", ["-y", name, "--version"], home))
    rmSync(join(home, ".npm"), { recursive: true, force: true })
    const installing = await run("npm", ["install", "--no-audit", "--no-fund", name])
    const modules = join(folder, "node_modules")
    const packages = execFileSync("npm", ["ls", "--all", "--parseable"], { cwd: folder, env, encoding: "utf8" })
    const size = bytesIn(modules)
    const own = bytesIn(join(modules, name))
    const installed = [
      { row: "package, packed", value: megabytes(statSync(archive).size) },
      { row: "package, unpacked", value: megabytes(own) },
      { row: "installed, with its packages", value: megabytes(size) },
      { row: "installed packages", value: String(packages.trim().split("\n").length - 1) },
      { row: "`npm install`, with an empty cache", value: seconds(installing) }
    ]
    if (bin === undefined) return installed
    await run("npm", ["install", "--no-audit", "--no-fund", `${mcpServer}@${demoServers[mcpServer]}`])

    const command = join(modules, ".bin/a2c")
    const bare = await medianOf(process.execPath, "-e", "0")
    const version = await medianOf(command, "--version")
    const url = (await lineOf(start("server", "--port", "0"), /^listening on /)).replace("listening on ", "")
    const config = join(folder, "mcp.json")
    const memory = join(modules, mcpServer, "dist/index.js")
    writeFileSync(config, JSON.stringify({ mcpServers: { memory: { command: process.execPath, args: [memory] } } }))
    const place = ["--server", url, "--office", office]
    await lineOf(start("computer", ...place, "--name", "desk", "--config", config), /joined office/)
    const tools = await medianOf(command, "agent", ...place, "tools")
    // Beside no project, npx takes the package from its cache.
    const demo = await secondsOrFailure(medianIn(home, "npx", "-y", name, "demo"))
    return [
      ...installed,
      { row: "`npx -y` of `--version`, with an empty cache", value: first },
      { row: "`node -e 0`", value: seconds(bare) },
      { row: "`a2c --version`", value: seconds(version) },
      { row: "`a2c agent tools`", value: seconds(tools) },
      { row: "`npx -y` of `demo`, again", value: demo }
    ]
  } finally {
    for (const child of started) {
      child.kill("SIGTERM")
      if (child.exitCode === null) await once(child, "exit")
    }
    rmSync(root, { recursive: true, force: true })
  }
}

const columns: Array<ReadonlyArray<Cell>> = []
for (const archive of archives) columns.push(await measure(archive))
const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |\n`
process.stdout.write(line(["what", ...archives.map((archive) => basename(archive))]))
process.stdout.write(line(["---", ...archives.map(() => "---:")]))
for (const row of new Set(columns.flatMap((cells) => cells.map((cell) => cell.row)))) {
  process.stdout.write(line([row, ...columns.map((cells) => cells.find((cell) => cell.row === row)?.value ?? "–")]))
}
