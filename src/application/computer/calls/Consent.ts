import { Effect, Semaphore } from "effect"
import { matchesToolPattern } from "../../../domain/wildcard.ts"
import type { Confirm, ConfirmRequest } from "../ComputerSettings.ts"

/** A user's decision about a call; `allow_always` covers this revision of the tool until the Computer stops. */
export type ConsentDecision = "allow" | "deny" | "allow_always"

/** Sources of consent to tools that are not marked `auto_apply`. */
export interface ConsentOptions {
  /** Patterns of tools that need no prompt: `SERVER/TOOL` or `TOOL`. */
  readonly autoApprove: ReadonlyArray<string>
  /** Prompts the user, one call at a time. */
  readonly prompt?: ((request: ConfirmRequest) => Effect.Effect<ConsentDecision, unknown>) | undefined
}

const keyOf = ({ revision, server, tool }: ConfirmRequest): string => JSON.stringify([server, tool, revision])

/** Consents by pattern, earlier `allow_always`, or prompt, in this order; `undefined` if no call could be confirmed. */
export const makeConsent = ({ autoApprove, prompt }: ConsentOptions): Effect.Effect<Confirm | undefined> =>
  Effect.gen(function* () {
    if (prompt === undefined && autoApprove.length === 0) return undefined
    const alwaysAllowed = new Set<string>()
    const promptLock = yield* Semaphore.make(1)

    const isApproved = (request: ConfirmRequest) =>
      [request.tool, request.shortName].some((tool) => matchesToolPattern(autoApprove, request.server, tool)) ||
      alwaysAllowed.has(keyOf(request))

    return Effect.fnUntraced(function* (request) {
      if (isApproved(request)) return true
      if (prompt === undefined) return false
      const promptUser = Effect.gen(function* () {
        // An `allow_always` may have arrived while this call waited for the lock.
        if (isApproved(request)) return true
        const decision = yield* prompt(request)
        if (decision === "allow_always") alwaysAllowed.add(keyOf(request))
        return decision !== "deny"
      })
      return yield* promptLock.withPermit(promptUser)
    })
  })
