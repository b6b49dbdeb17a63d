import { Cause, Predicate, Result } from "effect"
import { PackError } from "../../../application/ports/packs/PackLoader.ts"
import { type ParamsProblem, paramsProblem } from "../../../domain/packs/PackManifest.ts"
import { invalidParamsSymbol } from "../author/toolErrors.ts"

/** How much of what a pack says of its failure is told, in characters: some put what they worked on into it. */
const maxMessageLength = 2000

/** The code for invalid parameters of JSON-RPC, which the errors of MCP SDKs carry. */
const invalidParamsCode = -32602

const truncate = (text: string): string =>
  text.length <= maxMessageLength ? text : `${text.slice(0, maxMessageLength)}…`

/** What something that was thrown says, in words and without a stack. */
export const thrownMessage = (thrown: unknown): string =>
  Result.getOrElse(
    Result.try(() => rawMessage(thrown)),
    () => unreadableError
  )

/** Members of a stranger's object may throw when they are read. */
const unreadableError = "an error that cannot be read"

const rawMessage = (thrown: unknown): string => {
  if (typeof thrown === "string") return truncate(thrown)
  if (
    Predicate.hasProperty(thrown, "message") &&
    typeof thrown.message === "string" &&
    thrown.message !== ""
  ) {
    return truncate(thrown.message)
  }
  for (const key of ["_tag", "name"] as const) {
    const name = Predicate.hasProperty(thrown, key) ? thrown[key] : undefined
    if (typeof name === "string" && name !== "") return truncate(name)
  }
  return thrown === undefined || thrown === null
    ? "an error without a message"
    : "an error without a readable message"
}

const isPath = (value: unknown): value is ReadonlyArray<string | number> =>
  Array.isArray(value) && value.every((key) => typeof key === "string" || typeof key === "number")

/** What a pack says is wrong with its parameters, in whatever copy of our class it says so. */
const paramsProblemsOf = (thrown: unknown): ReadonlyArray<ParamsProblem> | undefined => {
  if (Predicate.hasProperty(thrown, invalidParamsSymbol) && Array.isArray(thrown[invalidParamsSymbol])) {
    return thrown[invalidParamsSymbol].map((problem: unknown) => {
      const path = Predicate.hasProperty(problem, "path") && isPath(problem.path) ? problem.path : []
      return paramsProblem(thrownMessage(problem), path)
    })
  }
  return Predicate.hasProperty(thrown, "code") && thrown.code === invalidParamsCode
    ? [paramsProblem(thrownMessage(thrown))]
    : undefined
}

/** What became of a call whose tool threw this. */
export const toPackError = (thrown: unknown): PackError => {
  const problems = Result.getOrUndefined(Result.try(() => paramsProblemsOf(thrown)))
  const message = thrownMessage(thrown)
  return problems === undefined
    ? new PackError({ reason: "failed", message })
    : new PackError({ reason: "invalid_params", message, problems })
}

/** Something that code of a pack threw, rejected with or failed with. */
export class ThrownValue {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }

  /** What an Effect of a pack ended with. */
  static fromCause(cause: Cause.Cause<unknown>): ThrownValue {
    return new ThrownValue(Cause.squash(cause))
  }
}
