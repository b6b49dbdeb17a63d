import { Result } from "effect"
import type { PackageSpec } from "./npmPackages.ts"

const maxLength = 256
const usageHint = "write 'name', 'name==1.2.3' or 'name>=1.2,<2'"

/** A name with extras. */
const namePattern = /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(\[[A-Za-z0-9._, -]*\])?/
/** A version with a comparison; `==1.*` is a range. */
const comparisonPattern = /^(===?|~=|!=|<=?|>=?)\s*v?\d+(\.\d+)*(\.\*)?([a-z0-9.+!-]*)$/i

const problemOf = (text: string, rest: string): string | undefined => {
  if (text === "") return `it is empty: ${usageHint}`
  if (text.length > maxLength) return `it is longer than ${maxLength} characters`
  if (text.startsWith("-")) return `it starts with '-', as options of pip do: ${usageHint}`
  if (/[/\\:@]/.test(text)) return `only packages of the index are installed, no URLs and no paths: ${usageHint}`
  if (text.includes(";")) return `it contains ';': markers are not supported; ${usageHint}`
  const isRange = rest === "" || rest.split(",").every((part) => comparisonPattern.test(part.trim()))
  return namePattern.test(text) && isRange ? undefined : `'${rest || text}' is no version or range: ${usageHint}`
}

/** Accepts packages of the Python index only, and no text that pip or uv could interpret otherwise. */
export const parsePythonPackage = (given: string): Result.Result<PackageSpec, string> => {
  const text = given.trim()
  const [matched = "", name = "", extras = ""] = namePattern.exec(text) ?? []
  const rest = text.slice(matched.length).trim()
  const problem = problemOf(text, rest)
  if (problem !== undefined) return Result.fail(problem)
  // Names that differ in case or separators are one package.
  const key = name.toLowerCase().replaceAll(/[._-]+/g, "-")
  return Result.succeed({ name: key, spec: key + `${extras}${rest}`.replaceAll(" ", ""), hint: undefined })
}
