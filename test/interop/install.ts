import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Data, Effect } from "effect"
import type { Peer } from "./peers.ts"
import type { InstalledPeer } from "./runPairing.ts"

/** A peer cannot be installed here: a program or a registry is missing. */
class NotInstallable extends Data.TaggedError("NotInstallable")<{ readonly message: string }> {}

/** Installed packages and programs; a run reuses them. */
export const cacheFolder = join(import.meta.dirname, "../../node_modules/.cache/interop")

/** Milliseconds for one command. Cargo compiles some hundred crates. */
const commandTimeout = { python: 10 * 60_000, rust: 45 * 60_000 }

/** Characters of the end of an output that explain a failure. */
const shownOutput = 1500

const run = (
  file: string,
  args: ReadonlyArray<string>,
  timeout: number,
  variables: { readonly [name: string]: string } = {}
): Effect.Effect<string, NotInstallable> =>
  Effect.callback((resume) => {
    const child = execFile(
      file,
      [...args],
      { timeout, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, ...variables } },
      (error, stdout, stderr) => {
        if (error === null) return resume(Effect.succeed(stdout))
        const reason =
          "code" in error && error.code === "ENOENT" ? "not found" : `${stdout}${stderr}`.slice(-shownOutput)
        const message = `${file} ${args.slice(0, 3).join(" ")}: ${reason.trim() || error.message}`
        resume(Effect.fail(new NotInstallable({ message })))
      }
    )
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

/** What every version needs besides the package: some forget to require it, or have no dependency for a Server. */
const requirementsOf = (version: string): ReadonlyArray<string> => [
  `a2c-smcp[cli]==${version}`,
  "pyyaml>=6,<7",
  "uvicorn>=0.38,<1"
]

/** Oldest Python of the packages. */
const minPython = [3, 11] as const

const findPython = Effect.gen(function* () {
  const program = process.env["PYTHON"] ?? "python3"
  const version = yield* run(program, ["--version"], 10_000)
  const [, major, minor] = /(\d+)\.(\d+)/.exec(version) ?? []
  if (Number(major) === minPython[0] && Number(minor) >= minPython[1]) return program
  return yield* new NotInstallable({
    message: `${program} is ${version.trim()}: Python ${minPython.join(".")} is needed`
  })
})

/** True when the folder has the result of the same request. */
const isCurrent = (marker: string, request: string): boolean =>
  existsSync(marker) && readFileSync(marker, "utf8") === request

const installPython = Effect.fnUntraced(function* (peer: Peer): Effect.fn.Return<InstalledPeer, NotInstallable> {
  const folder = join(cacheFolder, peer.name)
  const program = join(folder, "bin/python")
  const marker = join(folder, "installed.json")
  const requirements = requirementsOf(peer.version)
  if (!isCurrent(marker, JSON.stringify(requirements))) {
    const python = yield* findPython
    rmSync(folder, { recursive: true, force: true })
    yield* run(python, ["-m", "venv", folder], commandTimeout.python)
    const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...requirements]
    yield* run(program, args, commandTimeout.python)
    writeFileSync(marker, JSON.stringify(requirements))
  }
  const scripts = join(import.meta.dirname, "python")
  return {
    peer,
    canCancel: true,
    launch: (role) => ({
      command: program,
      args: [join(scripts, `${role}.py`)],
      variables: { PYTHONDONTWRITEBYTECODE: "1", PYTHONUNBUFFERED: "1" }
    })
  }
})

const installRust = Effect.fnUntraced(function* (peer: Peer): Effect.fn.Return<InstalledPeer, NotInstallable> {
  const target = join(cacheFolder, peer.name)
  mkdirSync(target, { recursive: true })
  const manifest = join(import.meta.dirname, "rust/Cargo.toml")
  const args = ["build", "--locked", "--manifest-path", manifest, "--target-dir", target]
  yield* run(process.env["CARGO"] ?? "cargo", args, commandTimeout.rust)
  const command = join(target, "debug/interop-driver")
  return { peer, canCancel: false, launch: (role) => ({ command, args: [role], variables: { RUST_LOG: "info" } }) }
})

/** Installs a peer below {@link cacheFolder}, unless it is there. */
export const install = (peer: Peer): Effect.Effect<InstalledPeer, NotInstallable> =>
  peer.language === "python" ? installPython(peer) : installRust(peer)
