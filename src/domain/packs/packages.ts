import { Result } from "effect"

/** A package as npm names it. */
export interface PackageSpec {
  readonly name: string
  /** A version, a range of versions, or a tag; nothing for whatever is the latest. */
  readonly range: string | undefined
  /** What was understood in a way that may surprise, in words. */
  readonly hint: string | undefined
}

/** What is to be installed. */
export interface Packages {
  /** `name` or `name@range` each, in order, without repetitions. */
  readonly specs: ReadonlyArray<string>
  readonly hints: ReadonlyArray<string>
}

/** npm's own limit, in characters. */
const longestName = 214

/** More than a range needs, in characters. */
const longestRange = 128

/** More packages of one pack are a mistake. */
const mostPackages = 256

const plainPart = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** `1.2.3`, `^1.2`, `~1`, `1.x`, `*`; with what may follow a version. */
const version = /^[~^=]?v?(\d+|[xX*])(\.(\d+|[xX*])){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/
const tag = /^[A-Za-z][A-Za-z0-9._-]*$/

const advice = "write 'name', 'name@1.2.3' or '@scope/name@^1.2.3'"

/** What no package of the registry has in its name or version, and why it is refused. */
const signs: ReadonlyArray<readonly [sign: RegExp, why: string]> = [
  [/^$/, `it is empty: ${advice}`],
  [/\s/, `it holds a space: ${advice}`],
  [/^-/, `it begins with '-', as options of npm do: ${advice}`],
  [
    /:/,
    `it holds ':'; addresses, files and aliases are not installed, only packages of the registry: ${advice}`
  ],
  [/\.\./, "it holds '..', which no name and no version does"],
  [/[<>~!]=|[<>]/, "it compares versions; write a range such as 'name@^1.2.3' or 'name@1.x'"],
  [/[[\]]/, `it holds brackets: there are no extras here; ${advice}`],
  [/[^A-Za-z0-9@/._~^*=+-]/, `it holds a character that has a meaning to shells, or none to npm: ${advice}`]
]

const readName = (name: string): string | undefined => {
  const [, scope, plain = ""] = /^(?:@([^/]*)\/)?(.*)$/.exec(name) ?? []
  if (plain.includes("/"))
    return `it holds '/' other than after a scope, as paths and repositories do: ${advice}`
  if (name.startsWith("@") && scope === undefined) return `it has a scope and no name: ${advice}`
  if (!plainPart.test(plain) || (scope !== undefined && !plainPart.test(scope))) {
    return `'${name}' is no name of a package: ${advice}`
  }
  if (name.length > longestName) return `its name is longer than ${longestName} characters`
  return /^(node_modules|favicon\.ico)$/i.test(plain) ? `no package may be called '${plain}'` : undefined
}

const readRange = (range: string): string | undefined => {
  if (range.length > longestRange) return `its version is longer than ${longestRange} characters`
  return version.test(range) || tag.test(range)
    ? undefined
    : `'${range}' is no version, range or tag: ${advice}`
}

/** Splits `name==1.2.3`, as Python writes it, or `name@1.2.3`; the scope's `@` is part of the name. */
const split = (
  text: string
): { readonly name: string; readonly range?: string; readonly isPython: boolean } => {
  const python = text.indexOf("==")
  if (python > 0) return { name: text.slice(0, python), range: text.slice(python + 2), isPython: true }
  const at = text.indexOf("@", 1)
  return at === -1
    ? { name: text, isPython: false }
    : { name: text.slice(0, at), range: text.slice(at + 1), isPython: false }
}

const spell = ({ name, range }: Pick<PackageSpec, "name" | "range">): string =>
  range === undefined ? name : `${name}@${range}`

/**
 * Reads one package that a pack depends on, or says in words why it is refused. Only what the registry has under a name
 * is accepted, and nothing that npm or a shell could take for anything else.
 */
export const readPackage = (given: string): Result.Result<PackageSpec, string> => {
  const text = given.trim()
  const sign = signs.find(([pattern]) => pattern.test(text))
  if (sign !== undefined) return Result.fail(sign[1])
  const { isPython, name, range } = split(text)
  const fault = readName(name) ?? (range === undefined ? undefined : readRange(range))
  if (fault !== undefined) return Result.fail(fault)
  const spec = spell({ name, range })
  const hint = isPython
    ? `'${text}' is read as '${spec}': packages come from npm here, not from PyPI`
    : undefined
  return Result.succeed({ name, range, hint })
}

/** So much of a package is said in a fault, in characters. */
const longestSpelling = 64

/** Reads all packages of a pack, or says in one line everything that is wrong with them. */
export const readPackages = (given: ReadonlyArray<string>): Result.Result<Packages, string> => {
  const specs = new Map<string, PackageSpec>()
  const faults: Array<string> = []
  if (given.length > mostPackages) faults.push(`there are more than ${mostPackages}`)
  for (const text of given.slice(0, mostPackages)) {
    const refuse = (why: string) => faults.push(`'${text.slice(0, longestSpelling)}': ${why}`)
    const read = readPackage(text)
    if (Result.isFailure(read)) {
      refuse(read.failure)
      continue
    }
    const before = specs.get(read.success.name)
    if (before === undefined) specs.set(read.success.name, read.success)
    else if (before.range !== read.success.range)
      refuse(`'${spell(before)}' is asked for, too: keep one of them`)
  }
  if (faults.length > 0) return Result.fail(faults.join("; "))
  const all = [...specs.values()]
  return Result.succeed({
    specs: all.map(spell).toSorted(),
    hints: all.flatMap(({ hint }) => hint ?? [])
  })
}
