import { basename, join } from "node:path"
import type { TestProject } from "vitest/node"
import { bundleCommand } from "../../scripts/bundleCommand.ts"
import { replaceFiles } from "../../scripts/replaceFiles.ts"

const root = join(import.meta.dirname, "../..")

/** Below `node_modules`, since the bundle imports packages. */
const folder = join(root, "node_modules/.cache/a2c-test-command")

/** In milliseconds: for longer no run of the tests uses a file of an earlier bundle. */
const hour = 3_600_000

/** The file of the bundled `a2c` command. */
export const bundledCommand = join(folder, "run.js")

const writeBundle = async (): Promise<void> => {
  const { outputFiles } = await bundleCommand("src/main/cli/run.ts", folder)
  // Without it Node examines each file to find out that it is a module.
  const manifest = ["package.json", '{ "type": "module" }'] as const
  const files = outputFiles.map(({ contents, path }) => [basename(path), contents] as const)
  replaceFiles(folder, [manifest, ...files], hour)
}

/** Bundles the command before the tests start, and again before they are repeated. */
export default async (project: TestProject): Promise<void> => {
  await writeBundle()
  project.onTestsRerun(writeBundle)
}
