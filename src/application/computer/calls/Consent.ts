import { Effect, Semaphore } from "effect"
import type { Confirm, ConfirmRequest } from "../ComputerSettings.ts"

/** A user's decision about a call; `allow_always` covers this revision of the tool until the Computer stops. */
export type ConsentDecision = "allow" | "deny" | "allow_always"

const keyOf = ({ revision, server, tool }: ConfirmRequest): string => JSON.stringify([server, tool, revision])

/** Prompts the user for consent, one call at a time, unless an earlier `allow_always` covers the call. */
export const makeConsent = (
  prompt: (request: ConfirmRequest) => Effect.Effect<ConsentDecision, unknown>
): Effect.Effect<Confirm> =>
  Effect.gen(function* () {
    const alwaysAllowed = new Set<string>()
    const promptLock = yield* Semaphore.make(1)

    const isAllowed = (request: ConfirmRequest) => alwaysAllowed.has(keyOf(request))

    return Effect.fnUntraced(function* (request) {
      if (isAllowed(request)) return true
      const promptUser = Effect.gen(function* () {
        // An `allow_always` may have arrived while this call waited for the lock.
        if (isAllowed(request)) return true
        const decision = yield* prompt(request)
        if (decision === "allow_always") alwaysAllowed.add(keyOf(request))
        return decision !== "deny"
      })
      return yield* promptLock.withPermit(promptUser)
    })
  })
