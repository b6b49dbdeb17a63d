import { createHash } from "node:crypto"

/** A package that a pack depends on. */
export interface PackageRequest {
  readonly name: string
  /** What npm takes for a version: a range, a tag or an address; any version for an empty text. */
  readonly range: string
}

/** Splits `name@range`; the name may begin with a scope. */
export const parseSpec = (spec: string): PackageRequest => {
  const at = spec.indexOf("@", 1)
  return at === -1 ? { name: spec, range: "" } : { name: spec.slice(0, at), range: spec.slice(at + 1) }
}

/** The same text for the same packages, in whatever order they are named. */
export const hashPackages = (packages: ReadonlyArray<string>): string =>
  createHash("sha256")
    .update([...new Set(packages)].toSorted().join("\n"))
    .digest("hex")

/** A range that is one version. */
export const isExactVersion = (range: string): boolean => /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(range)
