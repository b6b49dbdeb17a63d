import { hash, randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer, Semaphore } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { PackInstaller } from "../../../application/ports/packs/PackInstaller.ts"
import { asObject, parseJson } from "../../../domain/json.ts"
import { fileOperation, installFailed, runInstaller } from "./runInstaller.ts"
import type { NpmOptions } from "./NpmInstaller.ts"

export interface PythonOptions extends Pick<NpmOptions, "allowScripts" | "timeout"> {
  /** The interpreter, 3.10 or later; `python3` of the PATH by default. */
  readonly python?: string
  /** Installs what packs declare, by default. Without it they run with what is there. */
  readonly install?: boolean
  /** The folder of the environments, in the user's cache. */
  readonly environments: string
  /** @internal Replaces uv in tests. */
  readonly uv?: string
}

/** What every Python pack may import. */
const basePackages = ["fastapi>=0.110,<1", "loguru>=0.7,<1", "mcp>=1.9,<2", "pydantic>=2.7,<3"]

const oldestMinor = 10

const interpreterTimeout = "10 seconds"

const describeInterpreter =
  "import json, sys; print(json.dumps({'path': sys.executable, 'version': sys.version_info[:3]}))"

/** Finds the interpreter, and checks its version. */
const findInterpreter = Effect.fnUntraced(function* (command: string) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const notFound = installFailed(
    `'${command}' cannot be started: Python packs need Python 3.${oldestMinor} or later (--python)`
  )
  const output = yield* spawner
    .string(ChildProcess.make(command, ["-c", describeInterpreter], { stdin: "ignore", stderr: "ignore" }))
    .pipe(
      Effect.timeout(interpreterTimeout),
      Effect.mapError(() => notFound)
    )
  const { path, version } = asObject(parseJson(output))
  if (typeof path !== "string" || !Array.isArray(version)) return yield* notFound
  const text = version.join(".")
  const [major, minor] = version as ReadonlyArray<number>
  if (major !== 3 || (minor ?? 0) < oldestMinor) {
    return yield* installFailed(
      `'${command}' is Python ${text}: Python packs need 3.${oldestMinor} or later, which --python can name`
    )
  }
  return { path, version: text }
})

const interpreterIn = (environment: string): string => join(environment, "bin", "python")

/** The reason in the output of pip, or of uv. */
const errorStart = /^(ERROR: |error: |\s+(×|╰─▶|├─▶|cause:|Caused by:) )/

/** The last attempt of pip, which then says of an index that it cannot reach that it has no such package. */
const brokenConnection = /^WARNING: Retrying \(Retry\(total=0,.* connection broken by '(.*)': /

/** What surrounds the text of an exception: `NewConnectionError('<object at 0x7f>: Failed to establish …')`. */
const exceptionSyntax = /\w+(?:Error|Disconnected)\((?:<[^>]*>, )?(?:\d+, )?["']?|<[^>]*>: |(?<=\.)',(?= )|["']\)+$/g

const wheelsOnly = "only wheels are installed: --allow-scripts also builds packages"

const reasonOf = (errors: ReadonlyArray<string>): string => {
  const [broken] = errors.flatMap((line) => brokenConnection.exec(line)?.slice(1) ?? [])
  if (broken !== undefined) return `the index of packages cannot be reached: ${broken.replaceAll(exceptionSyntax, "")}`
  const lines = errors.map((line) => line.replace(errorStart, "").trim()).filter((line) => line !== "")
  const reason = [...new Set([...lines.slice(0, 2), ...lines.slice(-1)])].join("; ")
  return /no usable wheels|\(from versions: (?!none)/.test(reason) ? `${reason} (${wheelsOnly})` : reason
}

const fileWork = fileOperation("writing the environment failed")

type OnLine = Parameters<PackInstaller["Service"]["install"]>[1]

/** Makes an environment beside its place, so that one which is there is complete. */
const makeEnvironment = Effect.fnUntraced(function* (
  { allowScripts = false, environments, timeout = "5 minutes", uv = "uv" }: PythonOptions,
  base: string,
  environment: string,
  packages: ReadonlyArray<string>,
  onLine: OnLine
) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const lockFile = `${environment}.lock`
  const made = `${environment}.new-${randomUUID()}`
  const python = interpreterIn(made)
  yield* fileWork(() => mkdir(environments, { recursive: true, mode: 0o700 }))
  yield* Effect.addFinalizer(() => Effect.ignore(fileWork(() => rm(made, { recursive: true, force: true }))))

  const isError = (line: string) => errorStart.test(line) || brokenConnection.test(line)
  const run = (command: string, ...args: ReadonlyArray<string>) =>
    runInstaller({ command, args, folder: environments, isError, reasonOf, timeout }, onLine)
  const wheels = allowScripts ? [] : ["--only-binary", ":all:"]
  const wanted = [...wheels, ...(existsSync(lockFile) ? ["-r", lockFile] : packages)]
  const uvCode = spawner.exitCode(ChildProcess.make(uv, ["--version"]))
  const hasUv = (yield* Effect.orElseSucceed(uvCode, () => undefined)) === 0
  if (hasUv) {
    yield* run(uv, "venv", "--quiet", "--relocatable", "--python", base, made)
    yield* run(uv, "pip", "install", "--compile-bytecode", "--python", python, ...wanted)
  } else {
    yield* run(base, "-m", "venv", made)
    const quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    yield* run(python, "-m", "pip", "install", ...quiet, ...wanted)
  }
  const freeze = hasUv
    ? ChildProcess.make(uv, ["pip", "freeze", "--python", python])
    : ChildProcess.make(python, ["-m", "pip", "freeze", "--disable-pip-version-check"])
  const versions = yield* Effect.mapError(spawner.string(freeze), () => installFailed("listing the packages failed"))
  yield* fileWork(async () => {
    await writeFile(lockFile, versions)
    await rename(made, environment).catch((error: unknown) => {
      // Another process was faster.
      if (!existsSync(environment)) throw error
    })
  })
}, Effect.scoped)

const make = Effect.fnUntraced(function* (options: PythonOptions) {
  const { environments, install = true, python = "python3" } = options
  const others = yield* PackInstaller
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  // Packs with the same packages share an environment, which is made once.
  const lock = yield* Semaphore.make(1)

  const installPython = Effect.fnUntraced(
    function* (given: ReadonlyArray<string>, onLine: OnLine) {
      const { path, version } = yield* findInterpreter(python)
      const packages = [...basePackages, ...given]
      const key = hash("sha256", [path, version, ...packages].join("\n")).slice(0, 16)
      const environment = join(environments, `${version}-${key}`)
      if (!existsSync(environment) && !install) return { interpreter: path }
      const making = Effect.suspend(() =>
        existsSync(environment) ? Effect.void : makeEnvironment(options, path, environment, packages, onLine)
      )
      if (!existsSync(environment)) yield* lock.withPermits(1)(making)
      return { interpreter: interpreterIn(environment) }
    },
    Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner)
  )

  return PackInstaller.of({
    install: (pack, onLine) =>
      pack.language === "python" ? installPython(pack.packages, onLine) : others.install(pack, onLine)
  })
})

/**
 * Installs packages of Python packs, with `uv` where it is installed, with `venv` and `pip` otherwise: into one
 * environment for each set of packages, with a lock beside it, which a later installation follows. Only wheels are
 * installed unless scripts are allowed. Other packs go to the installer below.
 */
export const layer = (
  options: PythonOptions
): Layer.Layer<PackInstaller, never, PackInstaller | ChildProcessSpawner.ChildProcessSpawner> =>
  Layer.effect(PackInstaller, make(options))
