import { Result } from "effect"

const moduleExtensions: ReadonlyArray<string> = ["ts", "mts", "js", "mjs"]

/** What runs the code of a pack. */
export type PackLanguage = "node" | "python"

/** Marks the folder of a Python pack as a package. */
const pythonPackageFile = "__init__.py"

/** Class name and files that follow from the name of a pack. */
export interface PackName {
  /** Class that the module exports, such as `VideoGenerateTool`. */
  readonly className: string
  /** File names that can contain the class; exactly one of them must exist. */
  readonly files: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
}

/** `files` lists the files directly inside a folder. */
export interface FolderEntry {
  readonly name: string
  readonly files: ReadonlyArray<string> | undefined
}

export interface PackFiles extends Omit<PackName, "files"> {
  /** The file with the class, relative to the folder of the pack. */
  readonly file: string
  readonly language: PackLanguage
}

export interface PackCandidate {
  readonly name: string
  readonly outcome: Result.Result<PackFiles, string>
}

/** True for a tool name that every MCP host accepts. */
export const isValidToolName = (name: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(name)

const isIgnored = (name: string): boolean =>
  name === "" || name === "__pycache__" || name === "node_modules" || name.startsWith(".")

const snakeCase = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u

/** Capitalizes as Python does: the first letter upper-case, the rest lower-case. */
const capitalize = (word: string): string => {
  const [first = "", ...rest] = [...word]
  const [upper = "", ...more] = [...first.toUpperCase()]
  return upper + [...more, ...rest].join("").toLowerCase()
}

const alternatives = new Intl.ListFormat("en-GB", { type: "disjunction" })

/** Derives the class name of a pack (seed 004, naming): every word between underscores capitalized, then `Tool`. */
export const parsePackName = (name: string): Result.Result<PackName, string> => {
  if (isIgnored(name)) return Result.fail(`'${name}' is not a valid pack name: such folders are ignored`)
  const className = `${name.split("_").map(capitalize).join("")}Tool`
  if (!identifier.test(className)) {
    return Result.fail(
      `'${name}' is not a valid pack name: ${className} cannot be the name of its class. ` +
        "Use lower-case letters, digits and underscores, starting with a letter"
    )
  }
  const notSnakeCase = `the name '${name}' is not snake_case (lower-case letters, digits, single underscores)`
  return Result.succeed({
    className,
    files: [...moduleExtensions, "py"].map((extension) => `${name}_tool.${extension}`),
    warnings: snakeCase.test(name) ? [] : [`${notSnakeCase}; the class is ${className}`]
  })
}

const splitToolFile = (file: string): ReadonlyArray<string> | undefined =>
  /^(.+)_tool\.([A-Za-z]+)$/.exec(file)?.slice(1)

/** For files that look like a tool. */
const extensionAdvice: ReadonlyMap<string, string> = new Map([
  ["py", "a Python pack is a folder with this file and an '__init__.py'"],
  ["tsx", "write it without JSX, as .ts"],
  ["jsx", "write it without JSX, as .js"],
  ["cts", "only ES modules are supported: name it .ts or .mts"],
  ["cjs", "only ES modules are supported: name it .js or .mjs"]
])

const isPackIndicator = (file: string): boolean =>
  splitToolFile(file) !== undefined || /^(index\.[cm]?[jt]s|config\.ya?ml|__init__\.py)$/.test(file)

/** Names the missing file, and the file that probably has the wrong name. */
const missingFileError = (name: string, files: ReadonlyArray<string>, present: ReadonlyArray<string>): string => {
  const missing = `its folder has no ${alternatives.format(files.map((file) => `'${file}'`))}`
  for (const file of present) {
    const [owner, extension = ""] = splitToolFile(file) ?? []
    const advice = extensionAdvice.get(extension)
    if (owner === name && advice !== undefined) return `${missing}, only '${file}': ${advice}`
    if (owner !== undefined && owner !== name && [...moduleExtensions, "py"].includes(extension)) {
      return `${missing}; '${file}' belongs in a folder '${owner}': both names must match`
    }
    if (moduleExtensions.some((one) => file === `${name}.${one}`)) {
      return `${missing}; rename '${file}' to '${name}_tool${file.slice(name.length)}'`
    }
  }
  return missing
}

const packFromFolder = (name: string, present: ReadonlyArray<string>): Result.Result<PackFiles, string> =>
  Result.flatMap(parsePackName(name), ({ className, files, warnings }) => {
    const found = files.filter((file) => present.includes(file))
    const [file] = found
    if (file === undefined) return Result.fail(missingFileError(name, files, present))
    const language = file.endsWith(".py") ? "python" : "node"
    if (language === "python" && !present.includes(pythonPackageFile)) {
      return Result.fail(`its folder has no '${pythonPackageFile}', which makes it a Python package`)
    }
    const indexes = moduleExtensions.map((one) => `index.${one}`).filter((one) => present.includes(one))
    const several = [found, indexes].find(({ length }) => length > 1)
    return several === undefined
      ? Result.succeed({ className, file, language, warnings })
      : Result.fail(`its folder has ${several.map((one) => `'${one}'`).join(", ")}: keep one of them`)
  })

const packFromFile = (file: string): PackCandidate | undefined => {
  const [name = "", extension = ""] = splitToolFile(file) ?? []
  if (isIgnored(name)) return undefined
  const advice = extensionAdvice.get(extension)
  if (advice !== undefined) return { name, outcome: Result.fail(`'${file}' cannot be loaded: ${advice}`) }
  if (!moduleExtensions.includes(extension)) return undefined
  const ofFile = ({ className, warnings }: PackName) => ({ className, file, language: "node" as const, warnings })
  return { name, outcome: Result.map(parsePackName(name), ofFile) }
}

/**
 * Detects a pack: a folder `name` with a file `name_tool.ts`, or that file alone. Undefined for hidden entries, other
 * files, and folders without any sign of a pack.
 */
export const detectPack = ({ files, name }: FolderEntry): PackCandidate | undefined => {
  if (isIgnored(name)) return undefined
  if (files === undefined) return packFromFile(name)
  const present = files.toSorted()
  return present.some(isPackIndicator) || moduleExtensions.some((one) => present.includes(`${name}.${one}`))
    ? { name, outcome: packFromFolder(name, present) }
    : undefined
}
