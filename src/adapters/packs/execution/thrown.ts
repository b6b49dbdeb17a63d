import { Predicate, Result } from "effect"
import { PackError } from "../../../application/ports/packs/PackLoader.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { type ParamsProblem, paramsProblem } from "../../../domain/packs/PackManifest.ts"
import { invalidParamsSymbol } from "../author/toolErrors.ts"
import { formatIssues } from "../../../domain/validation.ts"

/** In characters: some errors contain their whole input. */
const maxMessageLength = 2000

const truncate = (text: string): string =>
  text.length <= maxMessageLength ? text : `${text.slice(0, maxMessageLength)}…`

/** Message of a thrown value, without its stack. */
export const thrownMessage = (thrown: unknown): string =>
  // Getters of foreign objects can throw.
  Result.merge(Result.try({ try: () => rawMessage(thrown), catch: () => "an error that cannot be read" }))

const rawMessage = (thrown: unknown): string => {
  if (typeof thrown === "string") return truncate(thrown)
  if (Predicate.hasProperty(thrown, "message") && typeof thrown.message === "string" && thrown.message !== "") {
    return truncate(thrown.message)
  }
  for (const key of ["_tag", "name"] as const) {
    const name = Predicate.hasProperty(thrown, key) ? thrown[key] : undefined
    if (typeof name === "string" && name !== "") return truncate(name)
  }
  return thrown === undefined || thrown === null ? "an error without a message" : "an error without a readable message"
}

const isPath = (value: unknown): value is ReadonlyArray<string | number> =>
  Array.isArray(value) && value.every((key) => typeof key === "string" || typeof key === "number")

/** Problems of an `InvalidParams`, of any copy of this package, or of a JSON-RPC error, as MCP SDKs throw them. */
const paramsProblemsOf = (thrown: unknown): ReadonlyArray<ParamsProblem> | undefined => {
  if (Predicate.hasProperty(thrown, invalidParamsSymbol) && Array.isArray(thrown[invalidParamsSymbol])) {
    return thrown[invalidParamsSymbol].map((problem: unknown) => {
      const path = Predicate.hasProperty(problem, "path") && isPath(problem.path) ? problem.path : []
      return paramsProblem(thrownMessage(problem), path)
    })
  }
  return Predicate.hasProperty(thrown, "code") && thrown.code === jsonRpcCodes.invalidParams
    ? [paramsProblem(thrownMessage(thrown))]
    : undefined
}

export const invalidParamsError = (problems: ReadonlyArray<ParamsProblem>): PackError => {
  const issues = problems.map(({ loc, msg }) => ({ path: loc.slice(1), issue: msg }))
  const message = formatIssues(issues) || "the parameters are invalid"
  return new PackError({ reason: "invalid_params", message, problems })
}

export const toPackError = (thrown: unknown): PackError => {
  const problems = Result.getOrUndefined(Result.try(() => paramsProblemsOf(thrown)))
  const message = thrownMessage(thrown)
  return new PackError(problems ? { reason: "invalid_params", message, problems } : { reason: "failed", message })
}
