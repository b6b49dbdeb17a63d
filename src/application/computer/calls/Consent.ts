import { Effect, Semaphore } from "effect"
import { matchesToolPattern } from "../../../domain/tools/toolPatterns.ts"
import type { Confirm, ConfirmRequest } from "../ComputerSettings.ts"

/** What somebody says about a call; `always` holds for the tool as long as the Computer runs. */
export type ConsentDecision = "yes" | "no" | "always"

/** Who consents to calls of tools that are not marked `auto_apply`. */
export interface ConsentOptions {
  /** Tools that may always run, as `approves` reads them. */
  readonly autoApprove: ReadonlyArray<string>
  /** Asks a person, who sees one call at a time; without it nobody is there. */
  readonly prompt?: ((request: ConfirmRequest) => Effect.Effect<ConsentDecision, unknown>) | undefined
}

/**
 * Consent by patterns first, then by what a person has allowed for good, then by asking. Nothing is given when there
 * is neither a pattern nor a person: then nobody could ever say yes.
 */
export const makeConsent = ({ autoApprove, prompt }: ConsentOptions): Effect.Effect<Confirm | undefined> =>
  Effect.gen(function* () {
    if (prompt === undefined && autoApprove.length === 0) return undefined
    const alwaysAllowed = new Set<string>()
    const promptLock = yield* Semaphore.make(1)

    const isApproved = ({ server, tool }: ConfirmRequest) =>
      matchesToolPattern(autoApprove, server, tool) || alwaysAllowed.has(JSON.stringify([server, tool]))

    return (request) =>
      Effect.gen(function* () {
        if (isApproved(request)) return true
        if (prompt === undefined) return false
        const promptUser = Effect.gen(function* () {
          // The person may have said "always" while this call was waiting.
          if (isApproved(request)) return true
          const decision = yield* prompt(request)
          if (decision === "always") alwaysAllowed.add(JSON.stringify([request.server, request.tool]))
          return decision !== "no"
        })
        return yield* promptLock.withPermit(promptUser)
      })
  })
