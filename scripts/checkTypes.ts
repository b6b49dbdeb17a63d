/**
 * Checks the types of the whole project with the compiler of `@effect/tsgo`, which also applies the rules of Effect. The
 * declarations of the build and the parts that run in other environments follow. With a folder as the argument, checks only its own project.
 */
import { spawnSync } from "node:child_process"
import { stripVTControlCharacters } from "node:util"

// The commands of packages are scripts of the shell on Windows.
const shell = process.platform === "win32"
const located = spawnSync("effect-tsgo", ["get-exe-path"], { encoding: "utf8", shell })
const effectCompiler = stripVTControlCharacters(located.stdout).trim()

const [folder] = process.argv.slice(2)
const compilations =
  folder === undefined
    ? [
        [effectCompiler, "tsconfig.json"],
        ["tsc", "tsconfig.build.json"],
        ["tsc", "tsconfig.domain.json"],
        ["tsc", "tsconfig.page.json"]
      ]
    : [[effectCompiler, `${folder}/tsconfig.json`]]

const passed = compilations.map(([compiler = "", project = ""]) => {
  const { status } = spawnSync(compiler, ["--project", project, "--noEmit"], { stdio: "inherit", shell })
  return status === 0
})
process.exitCode = passed.every(Boolean) ? 0 : 1
