import { truncateQuote } from "../../errorMessage.ts"
import { jsonMemberAt, unescapePointerSegment } from "../../schemas/jsonSchema.ts"
import type { SchemaViolation } from "../../schemas/SchemaViolation.ts"
import { type ParamsProblem, paramsProblem } from "../PackManifest.ts"

export interface StandardIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** Each item of a long list can cause a problem. */
const maxProblems = 100

const toLocation = (keys: ReadonlyArray<string | number>, params: unknown): ReadonlyArray<string | number> => {
  let node = params
  return keys.map((key) => {
    const place = Array.isArray(node) && /^\d+$/.test(String(key)) ? Number(key) : key
    node = jsonMemberAt(node, place)
    return place
  })
}

const isMissingAt = (keys: ReadonlyArray<string | number>, params: unknown): boolean => {
  const parent = keys.slice(0, -1).reduce(jsonMemberAt, params)
  const last = keys.at(-1)
  return last !== undefined && typeof parent === "object" && parent !== null && jsonMemberAt(parent, last) === undefined
}

const missingParamProblem = (path: ReadonlyArray<string | number>): ParamsProblem =>
  paramsProblem("Field required", path, "missing")

export const problemsFromStandardIssues = (issues: ReadonlyArray<StandardIssue>, params: unknown) =>
  issues.slice(0, maxProblems).map(({ message, path = [] }) => {
    const keys = path.map((part) => {
      const key = typeof part === "object" ? part.key : part
      return typeof key === "symbol" ? String(key) : key
    })
    return isMissingAt(keys, params)
      ? missingParamProblem(keys)
      : paramsProblem(truncateQuote(message), toLocation(keys, params))
  })

/** Codes of pydantic by expected type, or by another violated keyword. */
const errorCodes = new Map([
  ["string", "string_type"],
  ["integer", "int_type"],
  ["number", "float_type"],
  ["boolean", "bool_type"],
  ["array", "list_type"],
  ["object", "dict_type"],
  ["null", "none_required"],
  ["minimum", "greater_than_equal"],
  ["exclusiveMinimum", "greater_than"],
  ["maximum", "less_than_equal"],
  ["exclusiveMaximum", "less_than"],
  ["multipleOf", "multiple_of"],
  ["minLength", "string_too_short"],
  ["maxLength", "string_too_long"],
  ["pattern", "string_pattern_mismatch"],
  ["minItems", "too_short"],
  ["maxItems", "too_long"],
  ["enum", "literal_error"],
  ["const", "literal_error"],
  ["additionalProperties", "extra_forbidden"],
  ["unevaluatedProperties", "extra_forbidden"],
  ["required", "missing"],
  ["dependentRequired", "missing"],
  ["dependencies", "missing"]
])

export const problemsFromViolations = (violations: ReadonlyArray<SchemaViolation>, params: unknown) =>
  violations.slice(0, maxProblems).map(({ argument, instancePath, keyword, member, message }) => {
    const keys = instancePath.split("/").slice(1).map(unescapePointerSegment)
    const path = toLocation(member === undefined ? keys : [...keys, member], params)
    const code = errorCodes.get(keyword === "type" ? String(argument) : keyword) ?? "value_error"
    if (code === "missing") return missingParamProblem(path)
    return paramsProblem(code === "extra_forbidden" ? "unknown parameter" : message, path, code)
  })

const maxListedProblems = 10

/** Describes a failed call of a tool for a model, with the problems of its arguments. */
export const formatFailedCall = ({
  message,
  problems = []
}: {
  readonly message: string
  readonly problems?: ReadonlyArray<ParamsProblem>
}): string => {
  if (problems.length === 0) return message
  const lines = problems.slice(0, maxListedProblems).map(({ loc, msg }) => {
    const where = loc.filter((part) => part !== "body").join(".")
    return `\n- ${where === "" ? msg : `${where}: ${msg}`}`
  })
  const others = problems.length - lines.length
  return `The tool was not called: invalid arguments.${lines.join("")}${others === 0 ? "" : `\n- and ${others} more`}`
}
