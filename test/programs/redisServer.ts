import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Program } from "./Program.ts"
import { writeCommand } from "./sharedLibraries.ts"

const run = promisify(execFile)

/** Timeout of one command in milliseconds. */
const timeout = 120_000

/**
 * Downloads the system's package with the libraries that the system lacks, and unpacks them into the folder. This needs
 * no root and changes nothing in the system.
 */
const installWithApt = async (folder: string): Promise<void> => {
  const state = join(folder, "apt")
  for (const name of ["state/lists/partial", "cache/archives/partial"])
    mkdirSync(join(state, name), { recursive: true })
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
  const packages = ["install", "-qq", "-y", "--no-install-recommends", "--download-only", "redis-server"]
  await run("apt-get", [...options, "update", "-qq"], { timeout })
  await run("apt-get", [...options, ...packages], { timeout })
  const archives = join(state, "cache/archives")
  for (const name of readdirSync(archives).filter((one) => one.endsWith(".deb"))) {
    await run("dpkg-deb", ["-x", join(archives, name), folder], { timeout })
  }
  rmSync(state, { recursive: true })
  writeCommand(folder, "usr/bin/redis-server")
}

/** The server of clusters. */
export const redisServer: Program = {
  name: "Redis",
  variable: "REDIS_SERVER",
  commands: ["redis-server", "valkey-server"],
  advice: "install redis-server, or set REDIS_SERVER to its path",
  installation: "Redis is missing: apt-get downloads redis-server into node_modules/.cache",
  install: installWithApt
}
