import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import type { TestProject } from "vitest/node"
import { bundleCommand } from "../../scripts/bundleCommand.ts"

const root = join(import.meta.dirname, "../..")

/** Below `node_modules`, since the bundle imports packages. */
const folder = join(root, "node_modules/.cache/a2c-test-command")

/** The file of the bundled `a2c` command. */
export const bundledCommand = join(folder, "run.js")

/** Writes a file that other processes may be reading. */
const replaceFile = (path: string, contents: Uint8Array): void => {
  if (existsSync(path) && readFileSync(path).equals(contents)) return
  writeFileSync(`${path}.${process.pid}`, contents)
  renameSync(`${path}.${process.pid}`, path)
}

/** True for a file that no other run of the tests uses: none of them takes an hour. */
const isOutdated = (path: string): boolean =>
  Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > 3_600_000

const writeBundle = async (): Promise<void> => {
  const { outputFiles } = await bundleCommand("src/main/cli/run.ts", folder)
  mkdirSync(folder, { recursive: true })
  // Without it Node examines each file to find out that it is a module.
  replaceFile(join(folder, "package.json"), Buffer.from('{ "type": "module" }'))
  for (const { contents, path } of outputFiles) replaceFile(path, contents)
  const current = new Set(["package.json", ...outputFiles.map(({ path }) => basename(path))])
  for (const file of readdirSync(folder)) {
    if (!current.has(file) && isOutdated(join(folder, file))) rmSync(join(folder, file), { force: true })
  }
}

/** Bundles the command before the tests start, and again before they are repeated. */
export default async (project: TestProject): Promise<void> => {
  await writeBundle()
  project.onTestsRerun(writeBundle)
}
