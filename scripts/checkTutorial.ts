/**
 * Runs the commands of the tutorial and of the README's first section as they are written, and compares their output with
 * the pages. They use the packed package, in empty folders with empty homes. `npm run tutorial -- 22 24 26` uses these versions
 * of Node, and the current one without arguments; the name of a page selects it. Needs npm's registry, and `script` of
 * util-linux as a terminal.
 */
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { copyFile } from "node:fs/promises"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { packArchives, run } from "./packedProject.ts"
import { installNode, otherNodes } from "./runtimes/binaries.ts"
import { commandsOf, documentSteps, sectionOf, type Step } from "./tutorial/documentSteps.ts"
import { startLocalRegistry } from "./tutorial/localRegistry.ts"
import { Machine } from "./tutorial/Machine.ts"

const report = (line: string) => void process.stdout.write(`${line}\n`)

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

/** Bytes of the files that the tutorial lists in the folder of `nas`. */
const listedFiles = { "movie.mkv": 734_003_200, "report.pdf": 18_432, "notes.txt": 310 }

/** What the tutorial asks for in sentences. */
const prepare = async (step: Step, machines: { readonly [name: string]: Machine }): Promise<void> => {
  const { laptop } = machines
  const machine = machines[step.machine]
  if (step.kind !== "commands" || machine === undefined || laptop === undefined || machine === laptop) return
  await laptop.settle()
  const key = `${step.machine}.key`
  await copyFile(join(laptop.folder, key), join(machine.folder, key))
  if (step.machine !== "nas") return
  const folder = join(machine.folder, "files")
  mkdirSync(folder)
  for (const [name, size] of Object.entries(listedFiles)) {
    writeFileSync(join(folder, name), "")
    truncateSync(join(folder, name), size)
  }
}

interface Page {
  readonly name: string
  readonly markdown: string
  readonly machines: ReadonlyArray<string>
  readonly prepare?: typeof prepare
}

const readme = sectionOf(readFileSync("README.md", "utf8"), "Five minutes")

const pages: ReadonlyArray<Page> = [
  { name: "README.md", markdown: readme, machines: ["here"] },
  {
    name: "docs/tutorial.md",
    markdown: readFileSync("docs/tutorial.md", "utf8"),
    machines: ["laptop", "nas", "desk"],
    prepare
  }
]

const checkPage = async (page: Page, npmrc: string, path: string): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "a2c-tutorial-"))
  const port = String(await freePort())
  const here = (text: string): string =>
    text.replaceAll("laptop:7070", `127.0.0.1:${port}`).replaceAll("7070", port).replaceAll("0.0.0.0", "127.0.0.1")
  const variables = { PATH: path, A2C_PORT: port, A2C_SERVER: `http://127.0.0.1:${port}` }
  const machines = Object.fromEntries(
    page.machines.map((name) => [name, new Machine(join(folder, name), { npmrc, variables })])
  )
  let prompts = 0
  try {
    await using stack = new AsyncDisposableStack()
    for (const machine of Object.values(machines)) stack.use(machine)
    for (const step of documentSteps(page.markdown, page.machines)) {
      const machine = machines[step.machine]
      if (machine === undefined) throw new Error(`no machine ${step.machine}`)
      const at = `${page.name}, block at line ${step.line} of the text, ${step.machine}`
      try {
        if (step.kind === "file") writeFileSync(join(machine.folder, step.file), step.text)
        if (step.kind === "commands") {
          await page.prepare?.(step, machines)
          for (const command of commandsOf(step.text)) await machine.start(here(command))
        }
        if (step.kind === "output") {
          await machine.expect(here(step.text))
          if (step.text.includes("y(es)")) {
            prompts++
            machine.answer("y")
          }
        }
      } catch (error) {
        throw new Error(at, { cause: error })
      }
    }
    for (const machine of Object.values(machines)) await machine.settle()
    for (const [, line = ""] of page.markdown.matchAll(/prints\s+`([^`]+)`/g)) {
      if (!Object.values(machines).some(({ output }) => output.includes(line)))
        throw new Error(`${page.name}: no ${line}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  report(`${page.name}: works${prompts > 0 ? `, with ${prompts} prompts` : ""}`)
}

/** The program of a major version of Node: the current one, or one that `npm run runtimes` also tests. */
const nodeProgram = (major: string): string => {
  const isMajor = (version: string) => version.startsWith(`${major}.`)
  if (isMajor(process.versions.node)) return process.execPath
  const version = otherNodes.find(isMajor)
  if (version === undefined) throw new Error(`expected Node 24 or one of ${otherNodes.join(", ")}`)
  return installNode(version)
}

const work = mkdtempSync(join(tmpdir(), "a2c-tutorial-"))
try {
  const archives = Object.values(packArchives(work))
  await using registry = await startLocalRegistry(archives, run("npm", ["config", "get", "registry"]).trim())
  const words = process.argv.slice(2)
  const versions = words.filter((word) => !word.endsWith(".md"))
  const chosen = pages.filter(({ name }) => words.length === versions.length || words.includes(name))
  for (const version of versions.length === 0 ? [undefined] : versions) {
    const node = dirname(version === undefined ? process.execPath : nodeProgram(version))
    const path = [node, ...(process.env["PATH"] ?? "").split(delimiter)]
      .filter((entry, index) => index === 0 || !entry.includes("node_modules"))
      .join(delimiter)
    report(`Node ${run(join(node, "node"), ["--version"]).trim()}`)
    const npmrc = `registry=${registry.url}\ncache=${join(work, "npm")}\nupdate-notifier=false\nprogress=false\n`
    for (const page of chosen) await checkPage(page, npmrc, path)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
