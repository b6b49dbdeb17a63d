import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import type { TestProject } from "vitest/node"
import { bundleCommand } from "../../scripts/command/bundleCommand.ts"
import { commandManifest } from "../../scripts/command/buildCommand.ts"

const root = join(import.meta.dirname, "../..")

/** Below `node_modules`, since tests of VRL scripts need an optional package. */
const folder = join(root, "node_modules/.cache/a2c-test-command")
const dist = join(folder, "dist")

/** The file of the bundled `a2c` command. */
export const bundledCommand = join(dist, "main/cli/a2c.cjs")

/** What the command reads beside its modules, in the checkout. */
const assets = { page: "dist/page", "adapters/packs/python": "src/adapters/packs/python" }

/** Writes a file that other processes may be reading. */
const replaceFile = (path: string, contents: Uint8Array): void => {
  if (existsSync(path) && readFileSync(path).equals(contents)) return
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.${process.pid}`, contents)
  renameSync(`${path}.${process.pid}`, path)
}

/** True for a file that no other run of the tests uses: none of them takes an hour. */
const isOutdated = (path: string): boolean =>
  Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > 3_600_000

const writeBundle = async (): Promise<void> => {
  const { files } = await bundleCommand()
  replaceFile(join(folder, "package.json"), Buffer.from(JSON.stringify(commandManifest())))
  for (const { contents, path } of files) replaceFile(join(dist, path), contents)
  for (const [place, target] of Object.entries(assets)) {
    const link = join(dist, place)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(join(root, target), link)
  }
  const current = new Set(files.map(({ path }) => path))
  for (const file of readdirSync(join(dist, "chunks"))) {
    const path = join("chunks", file)
    if (!current.has(path) && isOutdated(join(dist, path))) rmSync(join(dist, path), { force: true })
  }
}

/** Bundles the command before the tests start, and again before they are repeated. */
export default async (project: TestProject): Promise<void> => {
  await writeBundle()
  project.onTestsRerun(writeBundle)
}
