/**
 * `withPackages.ts FOLDER COMMAND [ARGUMENT...]`: runs a command of the project with the packages that only this folder
 * needs. They are installed first when they are missing, or when the lock of the folder has changed.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"

const [folder, command, ...args] = process.argv.slice(2)
if (folder === undefined || command === undefined)
  throw new Error("usage: withPackages.ts FOLDER COMMAND [ARGUMENT...]")

const shell = process.platform === "win32"
const lock = readFileSync(join(folder, "package-lock.json"), "utf8")
const modules = join(folder, "node_modules")
const installed = join(modules, ".installed-lock.json")

if (!existsSync(installed) || readFileSync(installed, "utf8") !== lock) {
  const count = Object.keys((JSON.parse(lock) as { readonly packages: object }).packages).length
  process.stderr.write(`Installing ${count} packages for ${folder}\n`)
  const flags = ["--no-audit", "--no-fund", "--loglevel=error"]
  execFileSync("npm", ["install", ...flags], { cwd: folder, shell, stdio: ["ignore", "ignore", "inherit"] })
  writeFileSync(installed, readFileSync(join(folder, "package-lock.json")))
}

// Last: the packages of a folder may bring other versions of the commands of the project.
const path = [process.env["PATH"], join(process.cwd(), modules, ".bin")].join(delimiter)
const { status } = spawnSync(command, args, { stdio: "inherit", shell, env: { ...process.env, PATH: path } })
process.exitCode = status ?? 1
