/** Compiles `src` to a clean `dist`: JavaScript and declarations, the bundled command, and the office page. */
import { execFileSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { buildPage } from "./buildPage.ts"
import { bundleCommand } from "./bundleCommand.ts"

const folder = join(import.meta.dirname, "../dist/command")

rmSync("dist", { recursive: true, force: true })
execFileSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" })
chmodSync("dist/main/cli/a2c.js", 0o755)
const { licenses, outputFiles } = await bundleCommand("dist/main/cli/run.js", folder, {
  minify: true,
  // Packs share packages with the command that runs them, so these commands run from the modules.
  leaveOut: ["dist/main/cli/tools", "dist/main/demo"]
})
mkdirSync(folder)
for (const { contents, path } of outputFiles) writeFileSync(path, contents)
writeFileSync(join(folder, "LICENSES.txt"), licenses)
const runner = "adapters/packs/python/runner"
cpSync(`src/${runner}`, `dist/${runner}`, { recursive: true, filter: (file) => !file.includes("__pycache__") })
await buildPage("dist/page")
