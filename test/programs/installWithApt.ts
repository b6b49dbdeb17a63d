import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { writeCommand } from "./sharedLibraries.ts"

const run = promisify(execFile)

/** Timeout of one command in milliseconds. */
const timeout = 120_000

/**
 * Downloads a package of the system with the libraries that the system lacks, and unpacks them into the folder. This needs
 * no root and changes nothing in the system. `program` is the path of the command in the package.
 */
export const installWithApt = async (name: string, program: string, folder: string): Promise<void> => {
  const state = join(folder, "apt")
  for (const path of ["state/lists/partial", "cache/archives/partial"])
    mkdirSync(join(state, path), { recursive: true })
  const options = [
    `Dir::State=${join(state, "state")}`,
    "Dir::State::status=/var/lib/dpkg/status",
    `Dir::Cache=${join(state, "cache")}`,
    `Dir::Log=${state}`,
    "Debug::NoLocking=1",
    "APT::Sandbox::User=",
    "Acquire::Retries=1",
    "Acquire::http::Timeout=10",
    "Acquire::https::Timeout=10"
  ].flatMap((option) => ["-o", option])
  const packages = ["install", "-qq", "-y", "--no-install-recommends", "--download-only", name]
  await run("apt-get", [...options, "update", "-qq"], { timeout })
  await run("apt-get", [...options, ...packages], { timeout })
  const archives = join(state, "cache/archives")
  for (const archive of readdirSync(archives).filter((one) => one.endsWith(".deb"))) {
    await run("dpkg-deb", ["-x", join(archives, archive), folder], { timeout })
  }
  rmSync(state, { recursive: true })
  writeCommand(folder, program)
}
