/**
 * Publishes the built package of the command in this version, unless npm has it: a release that ended halfway runs again.
 * changesets then publishes the package of this folder, and makes the tag.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { commandFolder, commandManifest } from "./command/buildCommand.ts"

const { name, version } = commandManifest()
const { stdout } = spawnSync("npm", ["view", `${name}@${version}`, "version"], { encoding: "utf8" })
if (stdout.trim() === version) process.stdout.write(`npm has ${name} ${version}\n`)
else execFileSync("npm", ["publish"], { cwd: commandFolder, stdio: "inherit" })
