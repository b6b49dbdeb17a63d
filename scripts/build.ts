/** Compiles `src` to a clean `dist`: JavaScript and declarations, the office page, and the package of the command. */
import { execFileSync } from "node:child_process"
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { buildPage } from "./buildPage.ts"
import { buildCommand } from "./command/buildCommand.ts"
import { importDirectly } from "./importDirectly.ts"
import { makeRemovable } from "./removableValues.ts"

rmSync("dist", { recursive: true, force: true })
execFileSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" })
for (const name of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
  const file = join("dist", name)
  if (name.endsWith(".js")) writeFileSync(file, makeRemovable(importDirectly(readFileSync(file, "utf8"))))
}
const runner = "adapters/packs/python/runner"
cpSync(`src/${runner}`, `dist/${runner}`, { recursive: true, filter: (file) => !file.includes("__pycache__") })
await buildPage("dist/page")
await buildCommand()
