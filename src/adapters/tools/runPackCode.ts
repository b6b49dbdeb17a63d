import { Cause, Effect, Exit, Predicate, Result } from "effect"
import { PackError } from "../../application/ports/packs/PackLoader.ts"
import { truncateQuote } from "../../domain/errorMessage.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import { type ParamsProblem, paramsProblem } from "../../domain/packs/PackManifest.ts"
import { invalidParamsSymbol } from "../packs/author/toolErrors.ts"
import { formatIssues } from "../../domain/validation.ts"

/** Enters code of a pack; the guard records the pack for uncaught errors. */
export type EnterPackCode = <A>(code: () => A) => A

export const enterDirectly: EnterPackCode = (code) => code()

const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  Predicate.hasProperty(value, "then") && typeof value.then === "function"

/** A pack must provide the requirements of its Effects itself. */
const isPackEffect = (value: unknown): value is Effect.Effect<unknown, unknown> => Effect.isEffect(value)

/** What code of a pack threw, rejected with or failed with. */
export interface Thrown {
  readonly value: unknown
}

/**
 * Runs code of a pack that returns a value, a promise or an Effect. Interruption does not wait for the pack: an Effect
 * is interrupted and cleans up in the background, a promise continues.
 */
export const runPackCode = (enter: EnterPackCode, code: () => unknown): Effect.Effect<unknown, Thrown> =>
  Effect.contextWith((context) =>
    Effect.callback((resume) => {
      try {
        const value = enter(code)
        if (isPackEffect(value)) {
          const fiber = enter(() => Effect.runForkWith(context)(value))
          const onFailure = (cause: Cause.Cause<unknown>) => Effect.fail({ value: Cause.squash(cause) })
          fiber.addObserver((exit) => resume(Exit.match(exit, { onSuccess: Effect.succeed, onFailure })))
          return Effect.sync(() => fiber.interruptUnsafe())
        }
        if (!isPromiseLike(value)) return resume(Effect.succeed(value))
        value.then(
          (result) => resume(Effect.succeed(result)),
          (value: unknown) => resume(Effect.fail({ value }))
        )
      } catch (value) {
        resume(Effect.fail({ value }))
      }
    })
  )

/** In characters: some errors contain their whole input. */
const maxMessageLength = 2000

/** Message of a thrown value, without its stack. */
export const thrownMessage = (thrown: unknown): string =>
  // Getters of foreign objects can throw.
  Result.merge(Result.try({ try: () => rawMessage(thrown), catch: () => "an error that cannot be read" }))

const rawMessage = (thrown: unknown): string => {
  if (typeof thrown === "string") return truncateQuote(thrown, maxMessageLength)
  for (const key of ["message", "_tag", "name"] as const) {
    const text = Predicate.hasProperty(thrown, key) ? thrown[key] : undefined
    if (typeof text === "string" && text !== "") return truncateQuote(text, maxMessageLength)
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
