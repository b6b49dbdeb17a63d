import { hash } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { asObject, type JsonObject, parseJson } from "../../../domain/json.ts"

/** Member of a generated `package.json`; the installer never overwrites other manifests. */
const generatedMarker = { generatedBy: "a2c-smcp" } as const

export const isGeneratedManifest = (text: string): boolean =>
  asObject(parseJson(text))["generatedBy"] === generatedMarker.generatedBy

/** Splits `name@range`, where the name can begin with a scope; the range is empty when absent. */
const splitSpec = (spec: string): { readonly name: string; readonly range: string } => {
  const at = spec.indexOf("@", 1)
  return at === -1 ? { name: spec, range: "" } : { name: spec.slice(0, at), range: spec.slice(at + 1) }
}

const isExactVersion = (range: string): boolean => /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(range)

/** Hashes a set of packages; order and duplicates do not matter. */
const hashPackages = (packages: ReadonlyArray<string>): string =>
  hash("sha256", [...new Set(packages)].toSorted().join("\n"))

/** The record of installed packages lies in `node_modules`, so it disappears together with them. */
const markerPath = (folder: string): string => join(folder, "node_modules", ".a2c-packages.json")

const readText = (file: string): Promise<string | undefined> => readFile(file, "utf8").catch(() => undefined)

const readJsonObject = async (file: string): Promise<JsonObject> => asObject(parseJson((await readText(file)) ?? ""))

export const isInstalled = async (folder: string, packages: ReadonlyArray<string>): Promise<boolean> =>
  (await readJsonObject(markerPath(folder)))["packages"] === hashPackages(packages)

/** True when the packages exist, installed by any tool. Ranges are not checked, only exact versions. */
export const arePresent = async (folder: string, packages: ReadonlyArray<string>): Promise<boolean> => {
  for (const { name, range } of packages.map(splitSpec)) {
    const { version } = await readJsonObject(join(folder, "node_modules", name, "package.json"))
    if (version === undefined || (isExactVersion(range) && version !== range)) return false
  }
  return true
}

export const markInstalled = async (folder: string, packages: ReadonlyArray<string>): Promise<void> => {
  await mkdir(join(folder, "node_modules"), { recursive: true })
  await writeFile(markerPath(folder), JSON.stringify({ packages: hashPackages(packages), names: packages }))
}

export const clearInstalled = (folder: string): Promise<void> => rm(markerPath(folder), { force: true })

/** CommonJS files need a manifest without `"type": "module"`; ES modules need it, or Node warns. */
const hasCommonJs = async (folder: string): Promise<boolean> => {
  for (const name of await readdir(folder)) {
    const text = name.endsWith(".js") ? await readText(join(folder, name)) : undefined
    if (text !== undefined && !/^\s*(?:import|export)\b/m.test(text)) return true
  }
  return false
}

export interface InstallTarget {
  /** The author's `package.json`, which stays unchanged. */
  readonly hasOwnManifest: boolean
  readonly hasNodeModules: boolean
}

/** Writes the `package.json` of a pack without one. */
export const prepareManifest = async (folder: string, packages: ReadonlyArray<string>): Promise<InstallTarget> => {
  const file = join(folder, "package.json")
  const hasNodeModules = existsSync(join(folder, "node_modules"))
  const existing = await readText(file)
  if (existing !== undefined && !isGeneratedManifest(existing)) return { hasOwnManifest: true, hasNodeModules }
  const specs = packages.map(splitSpec).toSorted((one, other) => (one.name < other.name ? -1 : 1))
  const dependencies = Object.fromEntries(specs.map(({ name, range }) => [name, range === "" ? "*" : range]))
  const type = (await hasCommonJs(folder)) ? {} : { type: "module" }
  const content = { private: true, ...generatedMarker, ...type, dependencies }
  await writeFile(file, `${JSON.stringify(content, undefined, 2)}\n`)
  return { hasOwnManifest: false, hasNodeModules }
}
