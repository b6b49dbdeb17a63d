import { Result } from "effect"

/** Extensions of modules that can be loaded as they are. */
const moduleExtensions: ReadonlyArray<string> = ["ts", "mts", "js", "mjs"]

/** What follows from the name of a pack. */
export interface PackName {
  /** Name of the class that its module exports, as `VideoGenerateTool`. */
  readonly className: string
  /** Names that the file with that class may have; exactly one of them is to be there. */
  readonly files: ReadonlyArray<string>
  /** What is odd about the name, in words. */
  readonly warnings: ReadonlyArray<string>
}

/** What lies where packs may lie: its name, and the names of the files directly inside, if it is a folder. */
export interface FolderEntry {
  readonly name: string
  readonly files: ReadonlyArray<string> | undefined
}

/** What to load of a pack. Names of files are those in its folder; a pack of one file is its own file. */
export interface PackFiles {
  /** Name of the class that is looked for. */
  readonly className: string
  /** The file that has it. */
  readonly file: string
  readonly warnings: ReadonlyArray<string>
}

/** Something that is meant to be a pack. */
export interface PackCandidate {
  readonly name: string
  /** What to load, or in words why nothing can be loaded. */
  readonly outcome: Result.Result<PackFiles, string>
}

/** Is it a name that every MCP host takes for a tool? */
export const isValidToolName = (name: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(name)

/** Nobody means these as packs: what tools leave behind, and what is hidden. */
const isIgnored = (name: string): boolean =>
  name === "" || name === "__pycache__" || name === "node_modules" || name.startsWith(".")

const isSnakeCase = (name: string): boolean => /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)

const isIdentifier = (name: string): boolean =>
  /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(name)

/** As Python capitalises: the first letter up, all others down. */
const capitalize = (word: string): string => {
  const [first = "", ...rest] = [...word]
  const [upper = "", ...more] = [...first.toUpperCase()]
  return upper + [...more, ...rest].join("").toLowerCase()
}

const formatQuotedList = (names: ReadonlyArray<string>): string => names.map((name) => `'${name}'`).join(", ")

/** `a, b or c`. */
const formatAlternatives = (names: ReadonlyArray<string>): string =>
  [formatQuotedList(names.slice(0, -1)), formatQuotedList(names.slice(-1))]
    .filter((part) => part !== "")
    .join(" or ")

/**
 * What follows from the name of a pack (seed 004, naming): the words between underscores, each with a capital, and
 * `Tool` make the class. Fails for names that make no class.
 */
export const parsePackName = (name: string): Result.Result<PackName, string> => {
  if (isIgnored(name)) return Result.fail(`'${name}' is not a valid pack name: such folders are ignored`)
  const className = `${name.split("_").map(capitalize).join("")}Tool`
  if (!isIdentifier(className)) {
    return Result.fail(
      `'${name}' is not a valid pack name: ${className} cannot be the name of its class. ` +
        "Use lower-case letters, digits and underscores, starting with a letter"
    )
  }
  return Result.succeed({
    className,
    files: moduleExtensions.map((extension) => `${name}_tool.${extension}`),
    warnings: isSnakeCase(name)
      ? []
      : [
          `the name '${name}' is not snake_case (lower-case letters, digits, single underscores); the class is ${className}`
        ]
  })
}

/** Splits `text_counter_tool.ts` into the name of its pack and the extension. */
const splitToolFile = (file: string): readonly [name: string, extension: string] | undefined => {
  const [, name, extension] = /^(.+)_tool\.([A-Za-z]+)$/.exec(file) ?? []
  return name === undefined || extension === undefined ? undefined : [name, extension]
}

/** A file with such an extension was meant to be loaded, and cannot be. */
const unsupportedExtensions: { readonly [extension: string]: string } = {
  py: "Python is not supported; port it to TypeScript or JavaScript",
  tsx: "write it without JSX, as .ts",
  jsx: "write it without JSX, as .js",
  cts: "only ES modules are supported: name it .ts or .mts",
  cjs: "only ES modules are supported: name it .js or .mjs"
}

const unsupportedExtensionHint = (extension: string): string | undefined =>
  Object.hasOwn(unsupportedExtensions, extension) ? unsupportedExtensions[extension] : undefined

/** What makes a folder without the right file look as if it were meant to be a pack. */
const isPackIndicator = (file: string): boolean =>
  splitToolFile(file) !== undefined || /^(index\.[cm]?[jt]s|config\.ya?ml|__init__\.py)$/.test(file)

/** Says which file is missing, and what may have been meant to be it. */
const missingFileError = (
  name: string,
  files: ReadonlyArray<string>,
  present: ReadonlyArray<string>
): string => {
  const missing = `its folder has no ${formatAlternatives(files)}`
  for (const file of present) {
    const [owner, extension = ""] = splitToolFile(file) ?? []
    const advice = unsupportedExtensionHint(extension)
    if (owner === name && advice !== undefined) return `${missing}, only '${file}': ${advice}`
    if (owner !== undefined && owner !== name && moduleExtensions.includes(extension)) {
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
    const indexes = moduleExtensions.map((one) => `index.${one}`).filter((one) => present.includes(one))
    if (file === undefined) return Result.fail(missingFileError(name, files, present))
    for (const several of [found, indexes]) {
      if (several.length > 1) {
        return Result.fail(`its folder has ${formatQuotedList(several)}: keep one of them`)
      }
    }
    return Result.succeed({ className, file, warnings })
  })

const packFromFile = (file: string): PackCandidate | undefined => {
  const [name = "", extension = ""] = splitToolFile(file) ?? []
  if (isIgnored(name)) return undefined
  const advice = unsupportedExtensionHint(extension)
  if (advice !== undefined) return { name, outcome: Result.fail(`'${file}' cannot be loaded: ${advice}`) }
  if (!moduleExtensions.includes(extension)) return undefined
  return {
    name,
    outcome: Result.map(parsePackName(name), ({ className, warnings }) => ({ className, file, warnings }))
  }
}

/**
 * Reads what lies in a folder with packs: a folder `name` with a file `name_tool.ts`, or that file alone. Nothing for
 * what nobody can have meant as a pack: hidden things, other files, folders without a trace of one.
 */
export const detectPack = ({ files, name }: FolderEntry): PackCandidate | undefined => {
  if (isIgnored(name)) return undefined
  if (files === undefined) return packFromFile(name)
  const present = files.toSorted()
  return present.some(isPackIndicator) || moduleExtensions.some((one) => present.includes(`${name}.${one}`))
    ? { name, outcome: packFromFolder(name, present) }
    : undefined
}
