import { Cause, Predicate, Result } from "effect"
import { PackFailure } from "../../application/ports/PackLoader.ts"
import type { ParamsProblem } from "../../domain/packs/offer.ts"
import { wrongParams } from "./author/failures.ts"

/** How much of what a pack says of its failure is told, in characters: some put what they worked on into it. */
const maxCharacters = 2000

/** The code for invalid parameters of JSON-RPC, which the errors of MCP SDKs carry. */
const invalidParams = -32602

const shorten = (text: string): string =>
  text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}…`

/** What something that was thrown says, in words and without a stack. */
export const wordsOf = (thrown: unknown): string =>
  Result.getOrElse(
    Result.try(() => saidBy(thrown)),
    () => unreadable
  )

/** Members of a stranger's object may throw when they are read. */
const unreadable = "an error that cannot be read"

const saidBy = (thrown: unknown): string => {
  if (typeof thrown === "string") return shorten(thrown)
  if (
    Predicate.hasProperty(thrown, "message") &&
    typeof thrown.message === "string" &&
    thrown.message !== ""
  ) {
    return shorten(thrown.message)
  }
  for (const key of ["_tag", "name"] as const) {
    const name = Predicate.hasProperty(thrown, key) ? thrown[key] : undefined
    if (typeof name === "string" && name !== "") return shorten(name)
  }
  return thrown === undefined || thrown === null ? "an error without a message" : "an error that says nothing"
}

const isPath = (value: unknown): value is ReadonlyArray<string | number> =>
  Array.isArray(value) && value.every((key) => typeof key === "string" || typeof key === "number")

/** What a pack says is wrong with its parameters, in whatever copy of our class it says so. */
const problemsIn = (thrown: unknown): ReadonlyArray<ParamsProblem> | undefined => {
  if (Predicate.hasProperty(thrown, wrongParams) && Array.isArray(thrown[wrongParams])) {
    return thrown[wrongParams].map((problem: unknown): ParamsProblem => {
      const path = Predicate.hasProperty(problem, "path") && isPath(problem.path) ? problem.path : []
      return { loc: ["body", ...path], msg: wordsOf(problem), type: "value_error" }
    })
  }
  return Predicate.hasProperty(thrown, "code") && thrown.code === invalidParams
    ? [{ loc: ["body"], msg: wordsOf(thrown), type: "value_error" }]
    : undefined
}

/** What became of a call whose tool threw this. */
export const failureOf = (thrown: unknown): PackFailure => {
  const problems = Result.getOrUndefined(Result.try(() => problemsIn(thrown)))
  const message = wordsOf(thrown)
  return problems === undefined
    ? new PackFailure({ kind: "failed", message })
    : new PackFailure({ kind: "params", message, problems })
}

/** Something that code of a pack threw, rejected with or failed with. */
export class Thrown {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }

  /** What an Effect of a pack ended with. */
  static of(cause: Cause.Cause<unknown>): Thrown {
    return new Thrown(Cause.squash(cause))
  }
}
