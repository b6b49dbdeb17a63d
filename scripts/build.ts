/** Compiles `src` to a clean `dist`: JavaScript and declarations, and the office page. */
import { execFileSync } from "node:child_process"
import { chmodSync, rmSync } from "node:fs"
import { buildPage } from "./buildPage.ts"

rmSync("dist", { recursive: true, force: true })
execFileSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" })
chmodSync("dist/main/cli/a2c.js", 0o755)
await buildPage("dist/page")
