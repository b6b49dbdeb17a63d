import { hash } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Duration, Effect, Layer } from "effect"
import { ChildProcessSpawner } from "effect/process"
import { PackInstaller } from "../../../application/ports/packs/PackInstaller.ts"
import { asObject, type JsonObject, parseJson } from "../../../domain/json.ts"
import { splitSpec } from "../../../domain/packs/npmPackages.ts"
import { fileOperation, installFailed, runInstaller } from "./runInstaller.ts"

/** Member of a generated `package.json`; the installer never overwrites other manifests. */
const generatedMarker = { generatedBy: "a2c-smcp" } as const

export const isGeneratedManifest = (text: string): boolean =>
  asObject(parseJson(text))["generatedBy"] === generatedMarker.generatedBy

const isExactVersion = (range = ""): boolean => /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(range)

/** Hashes a set of packages; order and duplicates do not matter. */
const hashPackages = (packages: ReadonlyArray<string>) => hash("sha256", [...new Set(packages)].toSorted().join("\n"))

/** The record of installed packages lies in `node_modules`, so it disappears together with them. */
const markerPath = (folder: string): string => join(folder, "node_modules", ".a2c-packages.json")

const readText = (file: string): Promise<string | undefined> => readFile(file, "utf8").catch(() => undefined)

const readJsonObject = async (file: string): Promise<JsonObject> => asObject(parseJson((await readText(file)) ?? ""))

const isInstalled = async (folder: string, packages: ReadonlyArray<string>): Promise<boolean> =>
  (await readJsonObject(markerPath(folder)))["packages"] === hashPackages(packages)

/** True when the packages exist, installed by any tool. Ranges are not checked, only exact versions. */
const arePresent = async (folder: string, packages: ReadonlyArray<string>): Promise<boolean> => {
  for (const { name, range } of packages.map(splitSpec)) {
    const { version } = await readJsonObject(join(folder, "node_modules", name, "package.json"))
    if (version === undefined || (isExactVersion(range) && version !== range)) return false
  }
  return true
}

const markInstalled = async (folder: string, packages: ReadonlyArray<string>): Promise<void> => {
  await mkdir(join(folder, "node_modules"), { recursive: true })
  await writeFile(markerPath(folder), JSON.stringify({ packages: hashPackages(packages), names: packages }))
}

/** CommonJS files need a manifest without `"type": "module"`; ES modules need it, or Node warns. */
const hasCommonJs = async (folder: string): Promise<boolean> => {
  for (const name of await readdir(folder)) {
    const text = name.endsWith(".js") ? await readText(join(folder, name)) : undefined
    if (text !== undefined && !/^\s*(?:import|export)\b/m.test(text)) return true
  }
  return false
}

/** Writes the `package.json` of a pack without one. True for one of the author, which stays unchanged. */
const prepareManifest = async (folder: string, packages: ReadonlyArray<string>): Promise<boolean> => {
  const file = join(folder, "package.json")
  const existing = await readText(file)
  if (existing !== undefined && !isGeneratedManifest(existing)) return true
  const specs = packages.map(splitSpec).toSorted((one, other) => (one.name < other.name ? -1 : 1))
  const dependencies = Object.fromEntries(specs.map(({ name, range }) => [name, range || "*"]))
  const type = (await hasCommonJs(folder)) ? {} : { type: "module" }
  const content = { private: true, ...generatedMarker, ...type, dependencies }
  await writeFile(file, `${JSON.stringify(content, undefined, 2)}\n`)
  return false
}

export interface NpmOptions {
  /** Allows install scripts of packages, which run their code; off by default. */
  readonly allowScripts?: boolean
  /** Timeout per pack; 5 minutes by default. */
  readonly timeout?: Duration.Input
  /** @internal Replaces npm in tests. */
  readonly command?: string
}

const maxReasonLines = 2

const readFolder = fileOperation("reading the installed packages failed")
const writeFolder = fileOperation("writing to the folder of the pack failed")

const quietArguments = "--no-audit --no-fund --no-update-notifier --progress=false --color=false --loglevel=http".split(
  " "
)

const npmArguments = (
  folder: string,
  packages: ReadonlyArray<string>,
  hasOwnManifest: boolean,
  allowScripts: boolean
): ReadonlyArray<string> => [
  "install",
  // Workspaces and prefixes of parent folders must not apply.
  `--prefix=${folder}`,
  "--workspaces=false",
  "--global=false",
  `--ignore-scripts=${!allowScripts}`,
  ...quietArguments,
  // `--omit=dev` would remove the author's development dependencies.
  ...(hasOwnManifest && existsSync(join(folder, "node_modules")) ? [] : ["--omit=dev"]),
  // A manifest of the author and its lock stay unchanged.
  ...(hasOwnManifest ? ["--no-save", "--no-package-lock", "--", ...packages] : ["--save=true", "--package-lock=true"])
]

/** npm output other than the reason: error codes, and the path of the log. */
const metadataLine = /^(?:code|errno|syscall|path|dest|type|A complete log)\b/

/** Advice of npm, after the error name that starts all lines. */
const adviceLine = /^(?:Note that|tarball, folder|This is related to|In most cases|or one of)/

/** Extracts the reason from npm's error output. All lines start with the name of the error. */
const extractReason = (errors: ReadonlyArray<string>): string => {
  const lines = errors
    .map((line) => line.replace(/^npm (?:error|ERR!)\s*/, ""))
    .filter((line) => line !== "" && !metadataLine.test(line))
  const [word = ""] = lines[0]?.split(" ") ?? []
  const isName = lines.length > 1 && lines.every((line) => line === word || line.startsWith(`${word} `))
  return lines
    .map((line) => (isName ? line.slice(word.length) : line).trim())
    .filter((line) => line !== "" && !adviceLine.test(line))
    .slice(0, maxReasonLines)
    .join("; ")
}

/**
 * Installs with `npm` into `node_modules` of the pack. Without a `package.json`, it generates one, and npm writes a
 * lock, so later installs get the same versions. A manifest of the author stays unchanged: its dependencies are
 * installed too, and the additional packages are not locked. Interruption kills npm and its child processes.
 */
export const layer = (
  options: NpmOptions = {}
): Layer.Layer<PackInstaller, never, ChildProcessSpawner.ChildProcessSpawner> => {
  // Not in the signature, which would name the internal option in the declarations of the package.
  const { allowScripts = false, command = "npm", timeout = "5 minutes" } = options
  return Layer.effect(
    PackInstaller,
    Effect.map(ChildProcessSpawner.ChildProcessSpawner, (spawner) => ({
      install: Effect.fnUntraced(
        function* ({ folder, packages }, onLine) {
          if (packages.length === 0 || (yield* readFolder(() => isInstalled(folder, packages)))) return {}
          const hasOwnManifest = yield* writeFolder(async () => {
            await rm(markerPath(folder), { force: true })
            return prepareManifest(folder, packages)
          })
          const args = npmArguments(folder, packages, hasOwnManifest, allowScripts)
          const isError = (line: string) => /^npm (?:error|ERR!)/.test(line)
          yield* runInstaller({ command, args, folder, isError, reasonOf: extractReason, timeout }, (line) =>
            onLine(line.replace(/^npm http /, ""))
          )
          yield* writeFolder(() => markInstalled(folder, packages))
          return {}
        },
        Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, spawner)
      )
    }))
  )
}

/** Installs nothing; fails when packages are missing. */
export const layerWithoutInstall: Layer.Layer<PackInstaller> = Layer.succeed(PackInstaller, {
  install: Effect.fnUntraced(function* ({ folder, packages }) {
    if (yield* readFolder(() => arePresent(folder, packages))) return {}
    const missing = packages.join(", ")
    return yield* installFailed(
      `missing packages: ${missing}. Installation is disabled: install them in ${folder}, or enable it`
    )
  })
})
