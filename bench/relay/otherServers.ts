import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"
import { findBinary } from "../../scripts/runtimes/binaries.ts"
import { install } from "../../test/interop/install.ts"
import { compareReleases, peers } from "../../test/interop/peers.ts"
import { runningChild, type ServerKind } from "./kinds.ts"
import { maxMessageBytes, path } from "./limits.ts"
import { defaultDialect, type Dialect } from "./peers/Dialect.ts"
import { type Program, startProgram } from "./Program.ts"

/** A server of another runtime or package, which runs on request only. */
export interface OtherServer {
  /** Its name on the command line and in results. */
  readonly name: string
  readonly about: string
  /** Builds or installs its program, if necessary. Rejects when that fails. */
  readonly prepare: () => Promise<ServerKind>
}

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const kindOf = (program: Program, dialect: Dialect = defaultDialect): ServerKind => ({
  name: program.name,
  wire: "socketIo",
  dialect,
  start: async () => runningChild(await startProgram(program))
})

/** Milliseconds for a build: Cargo compiles some two hundred crates. */
const buildTimeout = 45 * 60_000

const rustTarget = fileOf("../../node_modules/.cache/bench/rust")

/** The error of a failed command: its first message, or its own text. */
const buildError = (command: string, error: Error & { readonly code?: unknown; readonly stderr?: string }) => {
  const reason = error.code === "ENOENT" ? "not found" : /^error.*$/m.exec(error.stderr ?? "")?.[0]
  return new Error(`${command}: ${reason ?? error.message}`)
}

/** Builds a program of the Rust project, and returns its file. */
const buildRust = async (name: string): Promise<string> => {
  const cargo = process.env["CARGO"] ?? "cargo"
  const project = ["--manifest-path", fileOf("rust/Cargo.toml"), "--target-dir", rustTarget]
  await promisify(execFile)(cargo, ["build", "--release", "--locked", "--quiet", ...project, "--bin", name], {
    timeout: buildTimeout
  }).catch((error: Error) => Promise.reject(buildError(cargo, error)))
  return `${rustTarget}/release/${name}`
}

const [newestPython] = peers
  .filter(({ language }) => language === "python")
  .toSorted((one, other) => compareReleases(other.version, one.version))

/** Objects of Rust's `serde_json` sort their keys by default. */
const rustDialect: Dialect = { ...defaultDialect, sortsKeys: true }

/** All of them. */
export const otherServers: ReadonlyArray<OtherServer> = [
  {
    name: "oxide",
    about: "plain Socket.IO on the crate socketioxide",
    prepare: async () => {
      const program = { name: "oxide", file: await buildRust("oxide"), args: [path, String(maxMessageBytes)] }
      return kindOf(program, rustDialect)
    }
  },
  {
    name: "bun",
    about: "plain Socket.IO as in sio, but run by Bun",
    prepare: async () => {
      const file = findBinary("bun")
      if (file === undefined) throw new Error("the package bun has no program for this machine")
      return kindOf({ name: "bun", file, args: [fileOf("servers/bun.ts")] })
    }
  },
  {
    name: "python",
    about: "the Server of the published Python package a2c-smcp",
    prepare: async () => {
      if (newestPython === undefined) throw new Error("no version is known")
      const file = (await Effect.runPromise(install(newestPython))).launch("server").command
      const args = [fileOf("servers/python.py"), path, String(maxMessageBytes)]
      // Its log goes to stdout.
      const environment = { A2C_SMCP_LOG_LEVEL: "warning", PYTHONDONTWRITEBYTECODE: "1" }
      const version = `${newestPython.line}.0`
      // It admits a name once in all offices together.
      return kindOf({ name: "python", file, args, environment }, { ...defaultDialect, version, needsUniqueNames: true })
    }
  },
  {
    name: "hyper",
    about: "the Server of the published Rust crate smcp-server-hyper",
    prepare: async () => {
      const program = { name: "hyper", file: await buildRust("hyper"), args: [] }
      // Its builder has no setting for the path, and it checks the version.
      return kindOf(program, { ...rustDialect, path: "/socket.io", version: "0.4.0" })
    }
  }
]
