import { Effect, Semaphore } from "effect"
import { approves } from "../../domain/tools/approval.ts"
import type { Confirm, ConfirmRequest } from "./ComputerSettings.ts"

/** What somebody says about a call; `always` holds for the tool as long as the Computer runs. */
export type Verdict = "yes" | "no" | "always"

/** Who consents to calls of tools that are not marked `auto_apply`. */
export interface ConsentOptions {
  /** Tools that may always run, as `approves` reads them. */
  readonly approve: ReadonlyArray<string>
  /** Asks a person, who sees one call at a time; without it nobody is there. */
  readonly decide?: ((request: ConfirmRequest) => Effect.Effect<Verdict, unknown>) | undefined
}

/**
 * Consent by patterns first, then by what a person has allowed for good, then by asking. Nothing is given when there
 * is neither a pattern nor a person: then nobody could ever say yes.
 */
export const makeConsent = ({ approve, decide }: ConsentOptions): Effect.Effect<Confirm | undefined> =>
  Effect.gen(function* () {
    if (decide === undefined && approve.length === 0) return undefined
    const allowed = new Set<string>()
    const asking = yield* Semaphore.make(1)

    const granted = ({ server, tool }: ConfirmRequest) =>
      approves(approve, server, tool) || allowed.has(JSON.stringify([server, tool]))

    return (request) =>
      Effect.gen(function* () {
        if (granted(request)) return true
        if (decide === undefined) return false
        const ask = Effect.gen(function* () {
          // The person may have said "always" while this call was waiting.
          if (granted(request)) return true
          const verdict = yield* decide(request)
          if (verdict === "always") allowed.add(JSON.stringify([request.server, request.tool]))
          return verdict !== "no"
        })
        return yield* asking.withPermit(ask)
      })
  })
