/** Compiles `src` to a clean `dist`: JavaScript and declarations, the office page, and the package of the command. */
import { execFileSync } from "node:child_process"
import { cpSync, rmSync } from "node:fs"
import { buildPage } from "./buildPage.ts"
import { buildCommand } from "./command/buildCommand.ts"

rmSync("dist", { recursive: true, force: true })
execFileSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" })
const runner = "adapters/packs/python/runner"
cpSync(`src/${runner}`, `dist/${runner}`, { recursive: true, filter: (file) => !file.includes("__pycache__") })
await buildPage("dist/page")
await buildCommand()
