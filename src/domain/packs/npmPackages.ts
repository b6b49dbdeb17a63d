import { Result } from "effect"

export interface PackageSpec {
  readonly name: string
  /** The package as its installer takes it: `name@range` for npm. */
  readonly spec: string
  readonly hint: string | undefined
}

/** Limit of npm. */
const maxNameLength = 214
const maxRangeLength = 128
const maxPackages = 256
const maxQuotedLength = 64

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** `1.2.3`, `^1.2`, `~1`, `1.x`, `*`, with a prerelease or build. */
const versionPattern = /^[~^=]?v?(\d+|[xX*])(\.(\d+|[xX*])){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/
const tagPattern = /^[A-Za-z][A-Za-z0-9._-]*$/
const usageHint = "write 'name', 'name@1.2.3' or '@scope/name@^1.2.3'"

const forbiddenPatterns: ReadonlyArray<readonly [pattern: RegExp, error: string]> = [
  [/^$/, `it is empty: ${usageHint}`],
  [/\s/, `it contains a space: ${usageHint}`],
  [/^-/, `it starts with '-', as npm options do: ${usageHint}`],
  [/:/, `it contains ':'; only packages of the registry are installed, no URLs, files or aliases: ${usageHint}`],
  [/\.\./, "it contains '..', which is invalid in names and versions"],
  [/[<>~!]=|[<>]/, "comparators are not supported; write a range such as 'name@^1.2.3' or 'name@1.x'"],
  [/[[\]]/, `it contains brackets: npm has no extras; ${usageHint}`],
  [/[^A-Za-z0-9@/._~^*=+-]/, `it contains a character that is special to shells or invalid for npm: ${usageHint}`]
]

const nameError = (name: string): string | undefined => {
  const [, scope, unscopedName = ""] = /^(?:@([^/]*)\/)?(.*)$/.exec(name) ?? []
  if (unscopedName.includes("/"))
    return `it contains '/' other than after a scope, as paths and repositories do: ${usageHint}`
  if (name.startsWith("@") && scope === undefined) return `it has a scope but no name: ${usageHint}`
  if (!namePattern.test(unscopedName) || (scope !== undefined && !namePattern.test(scope))) {
    return `'${name}' is not a valid package name: ${usageHint}`
  }
  if (name.length > maxNameLength) return `its name is longer than ${maxNameLength} characters`
  return /^(node_modules|favicon\.ico)$/i.test(unscopedName) ? `'${unscopedName}' is reserved` : undefined
}

const rangeError = (range: string): string | undefined => {
  if (range.length > maxRangeLength) return `its version is longer than ${maxRangeLength} characters`
  return versionPattern.test(range) || tagPattern.test(range)
    ? undefined
    : `'${range}' is not a version, range or tag: ${usageHint}`
}

/** Splits `name@range`, or `name==1.2.3` as in Python; the name can begin with a scope. */
export const splitSpec = (text: string): { readonly name: string; readonly range: string | undefined } => {
  const [, name = text, range] = /^(?!==)(.+?)==(.*)$/.exec(text) ?? /^(.[^@]*)@(.*)$/.exec(text) ?? []
  return { name, range }
}

/** Accepts packages of the npm registry only, and no text that npm or a shell could interpret otherwise. */
export const parsePackage = (given: string): Result.Result<PackageSpec, string> => {
  const text = given.trim()
  const forbidden = forbiddenPatterns.find(([pattern]) => pattern.test(text))
  if (forbidden !== undefined) return Result.fail(forbidden[1])
  const { name, range } = splitSpec(text)
  const error = nameError(name) ?? (range === undefined ? undefined : rangeError(range))
  if (error !== undefined) return Result.fail(error)
  const spec = range === undefined ? name : `${name}@${range}`
  const hint = text.includes("==", 1)
    ? `'${text}' is interpreted as '${spec}': packages come from npm, not from PyPI`
    : undefined
  return Result.succeed({ name, spec, hint })
}

/**
 * Parses all dependencies of a pack, of npm unless `parse` is of another registry, or lists every error in one line.
 * The specs are as the installer takes them, sorted, without duplicates.
 */
export const parsePackages = (
  given: ReadonlyArray<string>,
  parse: (text: string) => Result.Result<PackageSpec, string> = parsePackage
): Result.Result<{ readonly specs: ReadonlyArray<string>; readonly hints: ReadonlyArray<string> }, string> => {
  const specs = new Map<string, PackageSpec>()
  const errors: Array<string> = []
  if (given.length > maxPackages) errors.push(`there are more than ${maxPackages} packages`)
  for (const text of given.slice(0, maxPackages)) {
    const addError = (error: string) => errors.push(`'${text.slice(0, maxQuotedLength)}': ${error}`)
    const parsed = parse(text)
    if (Result.isFailure(parsed)) {
      addError(parsed.failure)
      continue
    }
    const before = specs.get(parsed.success.name)
    if (before === undefined) specs.set(parsed.success.name, parsed.success)
    else if (before.spec !== parsed.success.spec) addError(`it conflicts with '${before.spec}': keep one of them`)
  }
  if (errors.length > 0) return Result.fail(errors.join("; "))
  const all = [...specs.values()]
  return Result.succeed({ specs: all.map(({ spec }) => spec).toSorted(), hints: all.flatMap(({ hint }) => hint ?? []) })
}
