/** Compiles `src` to `dist`: JavaScript and declarations, and nothing of an earlier build. */
import { execFileSync } from "node:child_process"
import { chmodSync, rmSync } from "node:fs"

rmSync("dist", { recursive: true, force: true })
execFileSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" })
chmodSync("dist/main/cli/a2c.js", 0o755)
